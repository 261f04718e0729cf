#include "topology/lab/netns/lab.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <string>

#include "topology/base/check.hpp"
#include "topology/lab/guests/guests.hpp"
#include "topology/lab/netns/holder.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/lab/netns/state.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft::lab {
namespace {

Result<void> check_complete(const LabState& state, const std::filesystem::path& state_root) {
  const LabPhase phase = phase_of(state, state_root);
  if (phase == LabPhase::up) return {};
  return fail(ErrorKind::conflict,
              "lab '{0}' is {1}: run `weft lab down --name {0}`, then `weft lab up` again", state.name,
              to_string(phase));
}

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

Result<Lab> LabAccess::describe(const LabState& state, const std::filesystem::path& state_root) {
  WEFT_TRY(auto addresses, plan_addresses(state.fabric, state.settings.family));
  return Lab(state.name, state.owner, namespace_directory(state_root, state), state.fabric, state.settings,
             std::move(addresses));
}

Result<Lab> Lab::open(std::string_view name, const std::filesystem::path& state_root) {
  WEFT_TRY(const auto state, read_lab_state(state_root, name));
  WEFT_TRY_VOID(check_complete(state, state_root));
  if (state.holder) WEFT_TRY_VOID(join_holder(*state.holder));
  return LabAccess::describe(state, state_root);
}

std::filesystem::path Lab::namespace_of(NodeId node) const {
  return namespaces_ / namespace_name(name_, fabric_.name_of(node));
}

std::filesystem::path Lab::management_namespace() const {
  return namespaces_ / management_namespace_name(name_);
}

LabNic Lab::nic(PortId port) const {
  const auto leaving = fabric_.channel_from(port);
  WEFT_CHECK(leaving.has_value());
  const PortId other = fabric_.target(*leaving);
  return {.port = port,
          .interface = interface_name(fabric_.port(port).number),
          .address = addresses_.book.address_of(port).value(),
          .gateway = addresses_.book.address_of(other).value(),
          .mac = mac_of(port),
          .gateway_mac = mac_of(other),
          .mtu = settings_.mtu};
}

std::vector<LabNic> Lab::nics_of(NodeId host) const {
  std::vector<LabNic> nics;
  for (const PortId port : fabric_.ports_of(host))
    if (fabric_.port(port).link) nics.push_back(nic(port));
  return nics;
}

IpAddress Lab::coordinator_address() const { return coordinator_management_address(); }

IpAddress Lab::management_address(NodeId host) const {
  const auto hosts = fabric_.hosts();
  const auto found = std::ranges::find(hosts, host);
  WEFT_CHECK(found != hosts.end());
  return host_management_address(static_cast<std::size_t>(found - hosts.begin()));
}

Result<void> Lab::enter_management() const { return os::enter_for_good(management_namespace()); }

bool Lab::is_guest(NodeId node) const {
  return std::ranges::find(settings_.guests, fabric_.name_of(node)) != settings_.guests.end();
}

Result<os::ChildProcess> spawn_in(const Lab& lab, NodeId node, os::ChildSpec spec) {
  if (lab.is_guest(node)) {
    spec = in_guest(lab, node, std::move(spec));
  } else {
    spec.network_namespace = lab.namespace_of(node);
  }
  auto child = os::ChildProcess::start(spec);
  if (!child) return pass_on(child, fmt::format("in {}", lab.fabric().name_of(node)));
  return child;
}

Result<std::vector<std::uint64_t>> carried_bytes(const Lab& lab) {
  const Fabric& fabric = lab.fabric();
  std::map<NodeId, std::vector<ChannelId>> into;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
    into[fabric.target_node(ChannelId(c))].emplace_back(c);
  std::vector<std::uint64_t> carried(fabric.channel_count());
  for (const auto& [node, channels] : into) {
    const auto visit = os::NamespaceVisit::enter(lab.namespace_of(node));
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

}  // namespace weft::lab
