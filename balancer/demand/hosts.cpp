#include <charconv>

#include "balancer/demand/collectives.hpp"

namespace weft {

std::vector<std::vector<PortId>> rails_of(const Fabric& fabric, std::span<const NodeId> hosts) {
  std::vector<std::vector<PortId>> rails;
  for (const NodeId host : hosts) {
    std::size_t rail = 0;
    for (const PortId port : fabric.ports_of(host)) {
      if (!fabric.port(port).link) continue;
      if (rail == rails.size()) rails.emplace_back();
      rails[rail++].push_back(port);
    }
  }
  return rails;
}

Result<std::vector<NodeId>> first_hosts(const Fabric& fabric, std::size_t count) {
  const auto all = fabric.hosts();
  if (count < 2 || count > all.size())
    return fail(ErrorKind::usage, "{} hosts asked for: expected 2 to {}, the hosts of fabric {}", count,
                all.size(), fabric.name());
  return std::vector<NodeId>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
}

Result<std::vector<NodeId>> parse_hosts(const Fabric& fabric, std::string_view text) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc{} && end == text.data() + text.size()) return first_hosts(fabric, count);
  std::vector<NodeId> hosts;
  std::vector<bool> seen(fabric.node_count());
  while (true) {
    const auto comma = text.find(',');
    const auto name = text.substr(0, comma);
    const auto node = fabric.find_node(name);
    if (!node) return pass_on(node, "hosts");
    if (!fabric.is_host(*node))
      return fail(ErrorKind::usage, "hosts: '{}' is a switch: expected a host", name);
    if (seen[node->value()]) return fail(ErrorKind::usage, "hosts: '{}' stands twice", name);
    seen[node->value()] = true;
    hosts.push_back(*node);
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace weft
