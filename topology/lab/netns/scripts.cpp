#include "topology/lab/netns/scripts.hpp"

#include <algorithm>
#include <map>

#include "topology/base/check.hpp"
#include "topology/lab/netns/names.hpp"
#include "topology/model/fabric.hpp"

namespace weft::lab {
namespace {

// Table and rule numbers of a host's NICs: one table per NIC, by its port number.
constexpr int kNicTable = 1000;
constexpr int kNicRule = 1000;
// A port's nexthop has the number of the port, so groups start above all port numbers.
constexpr std::uint32_t kFirstGroup = 100'000;

// TBF: two to four frames at once, and what a shallow switch buffer holds: 20 ms at the lab's rate, at least
// 14 frames of 4 KB.
constexpr std::int64_t kBurst = 16'384;
constexpr std::int64_t kMinQueue = 60'000;
constexpr double kQueueSeconds = 0.020;

/// A seed of its own for every device: with equal seeds all would choose alike (polarisation). Never 0, which
/// means "none".
std::uint32_t hash_seed(NodeId node) {
  std::uint32_t x = node.value() + 1;
  for (int i = 0; i < 2; ++i) x = (x ^ x >> 16U) * 0x45D9F3BU;
  return (x ^ x >> 16U) | 1U;
}

}  // namespace

Result<LabScripts> LabScripts::make(const Fabric& fabric, const LabSettings& settings,
                                    const AddressPlan& plan) {
  WEFT_TRY(auto routes, host_routes(fabric));
  return LabScripts(fabric, settings, plan, std::move(routes));
}

PortId LabScripts::other_end(PortId port) const {
  const auto leaving = fabric_->channel_from(port);
  WEFT_CHECK(leaving.has_value());
  return fabric_->target(*leaving);
}

std::string LabScripts::address_text(PortId port) const {
  return to_string(plan_->book.address_of(port).value());
}

std::vector<Sysctl> LabScripts::management_sysctls() const {
  return {{"net/ipv6/conf/all/disable_ipv6", "1", true}, {"net/ipv6/conf/default/disable_ipv6", "1", true}};
}

std::vector<Sysctl> LabScripts::sysctls(NodeId node) const {
  std::vector<Sysctl> all = {{"net/ipv4/conf/all/rp_filter", "0"}, {"net/ipv4/conf/default/rp_filter", "0"}};
  const bool v6 = plan_->family == IpFamily::v6;
  if (v6) {
    // With automatic flow labels a socket hashes by a value of its own, and every device on the way with it.
    all.push_back({"net/ipv6/auto_flowlabels", "0"});
    all.push_back({"net/ipv6/conf/default/accept_dad", "0"});
    all.push_back({"net/ipv6/conf/default/accept_ra", "0"});
    all.push_back({"net/ipv6/conf/default/addr_gen_mode", "1"});  // no link-local addresses
  } else {
    std::ranges::copy(management_sysctls(), std::back_inserter(all));
  }
  if (fabric_->is_host(node)) return all;
  all.push_back({"net/ipv4/ip_forward", "1"});
  all.push_back({"net/ipv4/fib_multipath_hash_policy", "1"});  // the 5-tuple
  all.push_back({"net/ipv4/fib_multipath_hash_seed", std::to_string(hash_seed(node)), true});
  // Every probe is answered, by the address of the interface that it came in by.
  all.push_back({"net/ipv4/icmp_ratelimit", "0"});
  all.push_back({"net/ipv4/icmp_ratemask", "0"});
  all.push_back({"net/ipv4/icmp_errors_use_inbound_ifaddr", "1"});
  if (v6) {
    all.push_back({"net/ipv6/conf/all/forwarding", "1"});
    all.push_back({"net/ipv6/fib_multipath_hash_policy", "1"});
    all.push_back({"net/ipv6/icmp/ratelimit", "0"});
    all.push_back({"net/ipv6/icmp/ratemask", "\n"});  // the empty set
  }
  return all;
}

std::string LabScripts::cables(const NamespacePath& path) const {
  const auto end = [&](PortId id) {
    const Port& port = fabric_->port(id);
    return fmt::format("name {} address {} mtu {} numtxqueues 1 numrxqueues 1 netns {}",
                       interface_name(port.number), is_guest(port.node) ? bridged_mac_of(id) : mac_of(id),
                       settings_.mtu.count(), path(port.node));
  };
  std::string lines;
  for (const Link& link : fabric_->links())
    lines += fmt::format("link add {} type veth peer {}\n", end(link.a), end(link.b));
  for (std::size_t i = 0; i < fabric_->hosts().size(); ++i)
    lines += fmt::format("link add name {} netns {} type veth peer name m{} netns {}\n", kManagementInterface,
                         path(fabric_->hosts()[i]), i, path(std::nullopt));
  return lines;
}

std::string LabScripts::management() const {
  std::string lines = fmt::format(
      "link set lo up\n"
      "link add name {0} type bridge\n"
      "address add {1}/{2} dev {0}\n"
      "link set {0} up\n",
      kManagementBridge, to_string(coordinator_management_address()), kManagementPrefixLength);
  for (std::size_t i = 0; i < fabric_->hosts().size(); ++i)
    lines += fmt::format("link set m{} master {} up\n", i, kManagementBridge);
  return lines;
}

bool LabScripts::is_guest(NodeId node) const {
  return std::ranges::find(settings_.guests, fabric_->name_of(node)) != settings_.guests.end();
}

std::string LabScripts::management_end(NodeId host) const {
  if (is_guest(host)) return fmt::format("link set {} up\n", kManagementInterface);
  const auto hosts = fabric_->hosts();
  const auto index = static_cast<std::size_t>(std::ranges::find(hosts, host) - hosts.begin());
  return fmt::format("address add {}/{} dev {}\nlink set {} up\n", to_string(host_management_address(index)),
                     kManagementPrefixLength, kManagementInterface, kManagementInterface);
}

std::string LabScripts::node(NodeId node) const {
  std::string lines = "link set lo up\n";
  if (!fabric_->is_host(node)) return lines;
  if (is_guest(node)) return lines + guest_bridges(node);
  // UDP 4791 belongs to the RDMA NIC: the host's own stack neither takes it nor answers port-unreachable. The
  // local table has to come after the rules that say so.
  lines += "rule add pref 20 lookup local\n";
  for (const PortId id : fabric_->ports_of(node)) {
    const Port& port = fabric_->port(id);
    if (!port.link) continue;
    lines += fmt::format("rule add pref 10 iif {} ipproto udp dport 4791 blackhole\n",
                         interface_name(port.number));
    lines += fmt::format("rule add pref {} from {} lookup {}\n", kNicRule + port.number.value(),
                         address_text(id), kNicTable + port.number.value());
  }
  return lines + "rule del pref 0\n";
}

/// The guest itself has the addresses; its host's namespace joins each cable to a tap that the guest's NIC
/// is.
std::string LabScripts::guest_bridges(NodeId host) const {
  const auto bridge = [](const std::string& interface, std::int64_t mtu) {
    return fmt::format(
        "link add name {bridge} type bridge mcast_snooping 0\n"
        "tuntap add dev {tap} mode tap\n"
        "link set {tap} mtu {mtu} master {bridge} up\n"
        "link set {interface} master {bridge}\n"
        "link set {bridge} up\n",
        fmt::arg("bridge", guest_bridge_name(interface)), fmt::arg("tap", guest_tap_name(interface)),
        fmt::arg("interface", interface), fmt::arg("mtu", mtu));
  };
  constexpr std::int64_t kManagementMtu = 1500;
  std::string lines = bridge(std::string(kManagementInterface), kManagementMtu);
  for (const PortId id : fabric_->ports_of(host))
    if (fabric_->port(id).link)
      lines += bridge(interface_name(fabric_->port(id).number), settings_.mtu.count());
  return lines;
}

std::string LabScripts::port(PortId id) const {
  const Port& port = fabric_->port(id);
  if (is_guest(port.node)) return fmt::format("link set {} up\n", interface_name(port.number));
  const PortId other = other_end(id);
  const std::string interface = interface_name(port.number);
  // A neighbour that is known for good: no resolution that a fault could disturb.
  std::string lines = fmt::format(
      "address replace {address}/{length} dev {interface}{nodad}\n"
      "link set {interface} up\n"
      "neighbour replace {gateway} lladdr {mac} dev {interface} nud permanent\n",
      fmt::arg("address", address_text(id)), fmt::arg("length", plan_->link_prefix_length()),
      fmt::arg("interface", interface), fmt::arg("nodad", plan_->family == IpFamily::v6 ? " nodad" : ""),
      fmt::arg("gateway", address_text(other)), fmt::arg("mac", mac_of(other)));
  return fabric_->is_host(port.node) ? lines + host_port_routes(id) : lines;
}

/// Each NIC sends what comes from its own address by its own cable; the first also what names no address.
std::string LabScripts::host_port_routes(PortId id) const {
  const Port& port = fabric_->port(id);
  const std::string way =
      fmt::format("default via {} dev {}", address_text(other_end(id)), interface_name(port.number));
  std::string lines = fmt::format("route replace {} table {}\n", way, kNicTable + port.number.value());
  const auto ports = fabric_->ports_of(port.node);
  const auto first = std::ranges::find_if(ports, [&](PortId p) { return fabric_->port(p).link.has_value(); });
  if (*first == id) lines += fmt::format("route replace {} src {}\n", way, address_text(id));
  return lines;
}

std::string LabScripts::routes(NodeId node, const std::set<LinkId>& down) const {
  const auto is_live = [&](PortId port) { return !down.contains(*fabric_->port(port).link); };
  const auto nexthop = [&](PortId port) -> std::uint32_t { return fabric_->port(port).number.value(); };
  std::set<PortId> used;
  std::map<std::vector<PortId>, std::uint32_t> group_ids;
  for (const HostRoute& route : routes_[node.value()]) {
    std::ranges::copy_if(route.ports, std::inserter(used, used.end()), is_live);
    if (route.ports.size() > 1)
      group_ids.emplace(route.ports, kFirstGroup + static_cast<std::uint32_t>(group_ids.size()));
  }
  std::string lines;
  for (const PortId port : used)
    lines += fmt::format("nexthop replace id {} via {} dev {}\n", nexthop(port),
                         address_text(other_end(port)), interface_name(fabric_->port(port).number));
  const auto any_live = [&](const std::vector<PortId>& ports) { return std::ranges::any_of(ports, is_live); };
  for (const auto& [ports, id] : group_ids) {
    std::vector<std::uint32_t> members;
    for (const PortId port : ports)
      if (is_live(port)) members.push_back(nexthop(port));
    if (!members.empty())
      lines += fmt::format("nexthop replace id {} group {}\n", id, fmt::join(members, "/"));
  }
  for (const HostRoute& route : routes_[node.value()])
    if (any_live(route.ports))
      lines += fmt::format("route replace {} nhid {}\n", to_string(*plan_->host_block[route.to.value()]),
                           route.ports.size() > 1 ? group_ids.at(route.ports) : nexthop(route.ports[0]));
  return lines;
}

Bytes LabScripts::queue(Bandwidth rate) {
  return Bytes(std::max(kMinQueue, static_cast<std::int64_t>(rate.bits_per_second() / 8 * kQueueSeconds)));
}

std::string LabScripts::shape(const std::string& interface, std::optional<Bandwidth> rate) {
  if (!rate) return fmt::format("qdisc del dev {} root\n", interface);
  return fmt::format("qdisc replace dev {} root tbf rate {:.0f}bit burst {} limit {}\n", interface,
                     rate->bits_per_second(), kBurst, queue(*rate).count());
}

std::string LabScripts::shaping(NodeId node) const {
  std::string lines;
  for (const PortId id : fabric_->ports_of(node)) {
    const Port& port = fabric_->port(id);
    if (!port.link) continue;
    if (const auto rate = lab_rate(*fabric_, settings_, *port.link))
      lines += shape(interface_name(port.number), rate);
  }
  return lines;
}

}  // namespace weft::lab
