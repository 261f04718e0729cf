#include "probes/discover/cabling.hpp"

#include "topology/base/readable.hpp"

#include <algorithm>
#include <map>

#include "topology/model/fabric.hpp"

namespace weft::discover {
namespace {

constexpr std::size_t kMaxNamed = 3;  // nodes in one line

/// A node of the file, or one that was found and is none of them.
struct End {
  bool is_expected = true;
  NodeId node;
  friend bool operator==(const End&, const End&) = default;
};

struct Cable {
  End ends[2];  // in the order of the link's ports
  PortId ports[2];
};

std::string shape_of(const IbPort& port) {
  return port.width && port.speed ? fmt::format("{}{}", to_string(*port.width), to_string(*port.speed))
                                  : std::string("no known width and speed");
}

/// "host1", "host1, host2, host3 and 40 more".
std::string few_of(const std::vector<std::string>& names) {
  const auto shown = std::min(names.size(), kMaxNamed);
  const auto few =
      fmt::format("{}", fmt::join(names.begin(), names.begin() + static_cast<long>(shown), ", "));
  return names.size() > shown ? fmt::format("{} and {} more", few, names.size() - shown) : few;
}

class Comparison {
 public:
  Comparison(const Fabric& expected, const InfinibandFabric& found)
      : expected_(expected), found_(found), match_(match_fabrics(expected, found.fabric)) {}

  CablingReport run() && {
    compare_nodes();
    compare_cables();
    compare_models();
    return {std::move(faults_), links_right_, std::move(match_.remarks)};
  }

 private:
  void compare_nodes() {
    for (std::uint32_t n = 0; n < expected_.node_count(); ++n)
      if (!match_.is_there[n])
        faults_.push_back({CablingKind::missing_node, expected_.name_of(NodeId(n)), "a node of this name",
                           "nothing that answers"});
    for (std::uint32_t n = 0; n < found_.fabric.node_count(); ++n) {
      const auto ports = found_.fabric.ports_of(NodeId(n));
      const auto is_known = [&](PortId port) { return match_.node_of_port[port.value()].has_value(); };
      const bool by_name = ports.empty() && expected_.find_node(found_.fabric.name_of(NodeId(n)));
      if (!by_name && std::ranges::none_of(ports, is_known))
        faults_.push_back(
            {CablingKind::extra_node, found_.fabric.name_of(NodeId(n)), "", "a node of this name"});
    }
  }

  End expected_end(PortId port) const { return {true, expected_.port(port).node}; }
  End found_end(PortId port) const {
    const auto& known = match_.node_of_port[port.value()];
    return known ? End{true, *known} : End{false, found_.fabric.port(port).node};
  }
  const std::string& name_of(const End& end) const {
    return (end.is_expected ? expected_ : found_.fabric).name_of(end.node);
  }
  /// As the file calls its node.
  std::string found_port_name(PortId port) const {
    return fmt::format("{}/p{}", name_of(found_end(port)), found_.fabric.port(port).number.value());
  }

  void compare_cables() {
    for (std::uint32_t l = 0; l < expected_.link_count(); ++l) {
      const Link& link = expected_.link(LinkId(l));
      if (const auto there = match_.found[Fabric::a_to_b(LinkId(l)).value()])
        compare_rates(LinkId(l), Fabric::link_of(*there));
      else
        missing_.push_back({{expected_end(link.a), expected_end(link.b)}, {link.a, link.b}});
    }
    for (std::uint32_t l = 0; l < found_.fabric.link_count(); ++l) {
      const Link& link = found_.fabric.link(LinkId(l));
      if (!match_.expected[Fabric::a_to_b(LinkId(l)).value()])
        extra_.push_back({{found_end(link.a), found_end(link.b)}, {link.a, link.b}});
    }
    pair_up();
    for (const Cable& cable : missing_)
      faults_.push_back({CablingKind::missing_cable, expected_.name_of(cable.ports[0]),
                         fmt::format("a cable to {}", expected_.name_of(cable.ports[1])), "no link"});
    for (const Cable& cable : extra_)
      faults_.push_back({CablingKind::extra_cable, found_port_name(cable.ports[0]), "",
                         fmt::format("a cable to {}", found_port_name(cable.ports[1]))});
  }

  void compare_rates(LinkId wanted, LinkId there) {
    const auto should = expected_.link(wanted).rate;
    const Link& link = found_.fabric.link(there);
    if (link.rate >= should * 0.99)
      ++links_right_;
    else
      faults_.push_back(
          {CablingKind::wrong_rate, expected_.name_of(wanted), readable(should),
           fmt::format("{} ({})", readable(link.rate), shape_of(found_.inventory.ports[link.a.value()]))});
  }

  /// A cable missing at a node and another too many at the same node are one cable in the wrong place.
  void pair_up() {
    for (auto missing = missing_.begin(); missing != missing_.end();) {
      const auto joined = [&](const Cable& extra, int end) {
        return extra.ends[0] == missing->ends[end] || extra.ends[1] == missing->ends[end];
      };
      // The lower end first: a host's cable is looked for at the host.
      auto extra = std::find_if(extra_.begin(), extra_.end(), [&](const Cable& e) { return joined(e, 0); });
      const int kept = extra != extra_.end() ? 0 : 1;
      if (kept == 1)
        extra = std::find_if(extra_.begin(), extra_.end(), [&](const Cable& e) { return joined(e, 1); });
      if (extra == extra_.end()) {
        ++missing;
        continue;
      }
      const int near = extra->ends[0] == missing->ends[kept] ? 0 : 1;
      faults_.push_back({CablingKind::miswired, found_port_name(extra->ports[near]),
                         fmt::format("a cable to {}", name_of(missing->ends[1 - kept])),
                         fmt::format("a cable to {}", found_port_name(extra->ports[1 - near]))});
      extra_.erase(extra);
      missing = missing_.erase(missing);
    }
  }

  using Model = std::tuple<std::uint32_t, std::uint16_t, std::uint32_t>;  // vendor, device, revision

  /// One line a model, however many have it. Of nodes that only their neighbours tell no model is known.
  void compare_models() {
    std::map<Tier, std::map<Model, std::vector<std::string>>> models;
    for (std::uint32_t n = 0; n < found_.fabric.node_count(); ++n) {
      const IbNode& about = found_.inventory.nodes[n];
      if (about.vendor == 0 && about.device == 0) continue;
      const Node& node = found_.fabric.node(NodeId(n));
      models[node.tier][{about.vendor, about.device, about.revision}].push_back(node.name);
    }
    const auto name = [](const Model& model) {
      return fmt::format("vendor 0x{:x} device 0x{:x} revision 0x{:x}", std::get<0>(model),
                         std::get<1>(model), std::get<2>(model));
    };
    for (auto& [tier, kinds] : models) {
      const auto most = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      for (auto& [model, nodes] : kinds)
        if (model != most->first)
          faults_.push_back({CablingKind::mixed_model, few_of(nodes),
                             fmt::format("as most of its tier: {}", name(most->first)), name(model),
                             std::move(nodes)});
    }
  }

  const Fabric& expected_;
  const InfinibandFabric& found_;
  FabricMatch match_;
  std::size_t links_right_ = 0;
  std::vector<CablingFault> faults_;
  std::vector<Cable> missing_;
  std::vector<Cable> extra_;
};

}  // namespace

std::string_view to_string(CablingKind kind) {
  switch (kind) {
    case CablingKind::missing_node:
      return "missing node";
    case CablingKind::extra_node:
      return "extra node";
    case CablingKind::missing_cable:
      return "missing cable";
    case CablingKind::extra_cable:
      return "extra cable";
    case CablingKind::miswired:
      return "miswired";
    case CablingKind::wrong_rate:
      return "wrong rate";
    case CablingKind::mixed_model:
      return "mixed model";
    case CablingKind::mixed_firmware:
      return "mixed firmware";
  }
  return "";
}

CablingReport check_cabling(const Fabric& expected, const InfinibandFabric& found) {
  return Comparison(expected, found).run();
}

std::vector<CablingFault> check_firmware(const Fabric& found, const std::vector<DeviceFirmware>& devices) {
  std::map<std::uint16_t, std::map<FirmwareVersion, std::size_t>> counts;  // by model
  std::map<NodeId, std::size_t> of_node;
  for (const auto& device : devices) {
    ++counts[device.device][device.version];
    ++of_node[device.node];
  }
  std::map<std::pair<std::uint16_t, FirmwareVersion>, std::vector<std::string>> others;
  const auto most_of = [&](std::uint16_t model) {
    const auto& versions = counts.at(model);
    return std::ranges::max_element(versions,
                                    [](const auto& a, const auto& b) {
                                      return a.second != b.second ? a.second < b.second : a.first < b.first;
                                    })
        ->first;
  };
  for (const auto& device : devices) {
    if (device.version == most_of(device.device)) continue;
    auto name = found.name_of(device.node);
    if (of_node.at(device.node) > 1) name += fmt::format(" (0x{:x})", device.guid.value());
    others[{device.device, device.version}].push_back(std::move(name));
  }
  std::vector<CablingFault> faults;
  for (auto& [what, names] : others)
    faults.push_back({CablingKind::mixed_firmware, few_of(names),
                      fmt::format("as most of its model: {}", to_string(most_of(what.first))),
                      to_string(what.second), std::move(names)});
  return faults;
}

}  // namespace weft::discover
