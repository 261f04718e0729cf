#include "topology/model/ib_subnet.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "topology/model/fabric_builder.hpp"
#include "topology/model/ib_names.hpp"
#include "topology/model/tree_levels.hpp"

namespace weft {
namespace {

class Assembly {
 public:
  Assembly(const IbSubnet& subnet, std::string name, const IbNodeNames& names)
      : subnet_(subnet), builder_(std::move(name), FabricKind::infiniband), remarks_(subnet.remarks) {
    names_ = name_nodes(subnet, names);
    for (std::size_t i = 0; i < subnet.nodes.size(); ++i)
      if (!index_.emplace(subnet.nodes[i].guid, i).second)
        remarks_.push_back(fmt::format("GUID 0x{:x} stands twice: its second node is left out",
                                       subnet.nodes[i].guid.value()));
  }

  InfinibandFabric run() && {
    find_tiers();
    add_nodes();
    for (const std::size_t i : order_) add_links(i);
    return {std::move(builder_).build(), std::move(inventory_), std::move(remarks_)};
  }

 private:
  const IbSubnetNode& node(std::size_t i) const { return subnet_.nodes[i]; }
  bool is_aggregation(std::size_t i) const {
    return !node(i).is_switch && read_description(node(i).about.description).is_aggregation_node;
  }
  bool is_host(std::size_t i) const { return !node(i).is_switch && !node(i).is_router && !is_aggregation(i); }
  bool is_second(std::size_t i) const { return index_.at(node(i).guid) != i; }

  /// The other end of a cable, where that node is known.
  std::optional<std::size_t> neighbour(const IbSubnetPort& port) const {
    if (!port.peer) return std::nullopt;
    const auto found = index_.find(port.peer->node);
    return found == index_.end() ? std::nullopt : std::optional(found->second);
  }

  void find_tiers() {
    CabledNodes nodes{std::vector<bool>(subnet_.nodes.size()),
                      std::vector<std::vector<std::uint32_t>>(subnet_.nodes.size())};
    for (std::size_t i = 0; i < subnet_.nodes.size(); ++i) {
      nodes.is_host[i] = is_host(i);
      for (const auto& [number, port] : node(i).ports)
        if (const auto next = neighbour(port); next && (is_host(*next) || node(*next).is_switch))
          nodes.neighbours[i].push_back(static_cast<std::uint32_t>(*next));
    }
    levels_ = tree_levels(nodes);
  }

  Tier tier(std::size_t i) const {
    return node(i).is_switch ? tier_of_level(std::max(levels_[i], 1U)) : Tier::host;
  }

  void add_nodes() {
    order_.resize(subnet_.nodes.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::erase_if(order_, [this](std::size_t i) { return is_second(i) || leave_out(i); });
    std::sort(order_.begin(), order_.end(), [this](std::size_t a, std::size_t b) {
      if (tier(a) != tier(b)) return tier(a) < tier(b);
      if (names_[a] != names_[b]) return natural_less(names_[a], names_[b]);
      const auto da = read_description(node(a).about.description).device;
      const auto db = read_description(node(b).about.description).device;
      return da != db ? da < db : node(a).guid < node(b).guid;
    });
    id_of_.resize(subnet_.nodes.size());
    first_port_.resize(subnet_.nodes.size());
    for (const std::size_t i : order_) add_node(i);
  }

  bool leave_out(std::size_t i) {
    if (node(i).is_router) {
      remarks_.push_back(fmt::format("0x{:x} '{}' is a router to another subnet: left out",
                                     node(i).guid.value(), node(i).about.description));
      return true;
    }
    if (!is_aggregation(i)) return false;
    AggregationNode found{.guid = node(i).guid, .description = node(i).about.description};
    for (const auto& [number, port] : node(i).ports)
      if (port.peer) found.at_switch = port.peer->node;
    inventory_.aggregation_nodes.push_back(std::move(found));
    return true;
  }

  /// Adapters of one host come one after the other: its ports count on.
  void add_node(std::size_t i) {
    if (const auto same = builder_.find_node(names_[i])) {
      id_of_[i] = same;
      first_port_[i] = last_port_of_host_;
    } else {
      id_of_[i] = builder_
                      .add_node({.name = names_[i],
                                 .kind = node(i).is_switch ? NodeKind::switch_ : NodeKind::host,
                                 .tier = tier(i),
                                 .guid = node(i).guid})
                      .value();
      inventory_.nodes.push_back(node(i).about);
    }
    const auto& ports = node(i).ports;
    const auto highest = ports.empty() ? std::uint8_t{0} : ports.rbegin()->first;
    last_port_of_host_ = static_cast<std::uint16_t>(first_port_[i] + highest);
  }

  /// Each link once: from the end that comes first in order.
  void add_links(std::size_t i) {
    for (const auto& [number, port] : node(i).ports) {
      const auto far = neighbour(port);
      if (!far || !id_of_[*far]) continue;
      const auto back = node(*far).ports.find(port.peer->port);
      const bool known = back != node(*far).ports.end() && back->second.peer.has_value();
      if (known && *back->second.peer != IbSubnetPort::Peer{node(i).guid, number})
        remark(i, number, "and its other end disagree on where their cable goes: left out");
      else if (!builder_.find_port(*id_of_[i], port_number(i, number)))
        add_link(i, number, *far, port.peer->port);
    }
  }

  void add_link(std::size_t a, std::uint8_t a_port, std::size_t b, std::uint8_t b_port) {
    if (id_of_[a] == id_of_[b]) return remark(a, a_port, "is cabled to its own node: left out");
    const auto near = add_port(a, a_port);
    const auto far = add_port(b, b_port);
    if (!near || !far) return remark(a, a_port, "stands at two cables: left out");
    const auto link = builder_.add_link(*near, *far, rate(*near, *far, a, a_port));
    if (!link) remark(a, a_port, link.error().message);
  }

  PortNumber port_number(std::size_t i, std::uint8_t number) const {
    return PortNumber(static_cast<std::uint16_t>(first_port_[i] + number));
  }

  std::optional<PortId> add_port(std::size_t i, std::uint8_t number) {
    if (builder_.find_port(*id_of_[i], port_number(i, number))) return std::nullopt;
    const auto found = node(i).ports.find(number);
    bool has_guid = !node(i).is_switch && found != node(i).ports.end() && found->second.guid != Guid();
    if (has_guid && !port_guids_.insert(found->second.guid).second) {
      remark(i, number, fmt::format("has the GUID 0x{:x} of another port", found->second.guid.value()));
      has_guid = false;
    }
    const auto id = builder_.add_port(*id_of_[i], port_number(i, number),
                                      has_guid ? std::optional(found->second.guid) : std::nullopt);
    if (!id) return std::nullopt;
    IbPort about{.node_guid = node(i).guid, .hardware_port = number};
    if (found != node(i).ports.end()) {
      const IbSubnetPort& port = found->second;
      about.port_guid = port.guid;
      about.lids = port.lids;
      about.width = port.width;
      about.speed = port.speed;
      about.state = port.state;
    }
    inventory_.ports.push_back(about);
    return *id;
  }

  /// The slower of what the two ends say.
  Bandwidth rate(PortId a, PortId b, std::size_t i, std::uint8_t number) {
    std::optional<Bandwidth> slowest;
    for (const PortId end : {a, b}) {
      const IbPort& port = inventory_.ports[end.value()];
      if (!port.width || !port.speed) continue;
      const auto own = link_rate(*port.width, *port.speed);
      if (slowest && own != *slowest) remark(i, number, "and its other end disagree on width or speed");
      slowest = slowest ? std::min(*slowest, own) : own;
    }
    if (!slowest) remark(i, number, "does not say its width and speed: taken as 4xSDR");
    return slowest.value_or(link_rate(LinkWidth::x4, LinkSpeed::sdr));
  }

  void remark(std::size_t i, std::uint8_t number, std::string_view what) {
    remarks_.push_back(fmt::format("{}/p{} {}", names_[i], port_number(i, number).value(), what));
  }

  const IbSubnet& subnet_;
  FabricBuilder builder_;
  InfinibandInventory inventory_;
  std::vector<std::string> remarks_;
  std::vector<std::string> names_;
  std::unordered_map<Guid, std::size_t> index_;
  std::unordered_set<Guid> port_guids_;  // of adapters, as far as they were added
  std::vector<unsigned> levels_;
  std::vector<std::size_t> order_;
  std::vector<std::optional<NodeId>> id_of_;
  std::vector<std::uint16_t> first_port_;
  std::uint16_t last_port_of_host_ = 0;
};

}  // namespace

Result<InfinibandFabric> build_infiniband_fabric(const IbSubnet& subnet, std::string name,
                                                 const IbNodeNames& names) {
  if (subnet.nodes.empty()) return fail(ErrorKind::invalid_input, "the subnet has no node");
  return Assembly(subnet, std::move(name), names).run();
}

}  // namespace weft
