#include "topology/lab/netns/lab_counters.hpp"

#include <charconv>
#include <fstream>
#include <map>
#include <string>

#include "topology/lab/netns/names.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft {
namespace {

/// Received bytes by interface, of the calling thread's namespace (Documentation/filesystems/proc.rst,
/// net/dev: "  eth0: RX-BYTES RX-PACKETS ...").
Result<std::map<std::string, std::uint64_t>> received_by_interface() {
  std::ifstream file("/proc/thread-self/net/dev");
  if (!file) return fail(ErrorKind::absent, "cannot read /proc/thread-self/net/dev");
  std::map<std::string, std::uint64_t> received;
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto name = line.find_first_not_of(' ');
    const auto digits = line.find_first_not_of(' ', colon + 1);
    if (digits == std::string::npos) continue;
    std::uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(line.data() + digits, line.data() + line.size(), bytes);
    if (error == std::errc{}) received[line.substr(name, colon - name)] = bytes;
  }
  return received;
}

}  // namespace

Result<std::vector<std::uint64_t>> carried_bytes(const Lab& lab) {
  const Fabric& fabric = lab.fabric();
  std::map<NodeId, std::vector<ChannelId>> into;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
    into[fabric.target_node(ChannelId(c))].emplace_back(c);
  std::vector<std::uint64_t> carried(fabric.channel_count());
  for (const auto& [node, channels] : into) {
    const auto visit = NamespaceVisit::enter(lab.namespace_of(node));
    if (!visit) return pass_on(visit, fabric.name_of(node));
    const auto received = received_by_interface();
    if (!received) return pass_on(received, fabric.name_of(node));
    for (const ChannelId channel : channels) {
      const auto at = received->find(interface_name(fabric.port(fabric.target(channel)).number));
      if (at == received->end())
        return fail(ErrorKind::absent, "{}: no counter for {}", fabric.name_of(node),
                    fabric.name_of(channel));
      carried[channel.value()] = at->second;
    }
  }
  return carried;
}

}  // namespace weft
