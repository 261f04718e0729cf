#include "probes/discover/cabling.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace weft {
namespace {

using Pair = std::pair<std::string, std::string>;  // two node names, as in `expected` where they stand there

Pair ordered(std::string a, std::string b) {
  return a < b ? Pair{std::move(a), std::move(b)} : Pair{std::move(b), std::move(a)};
}

struct Cable {
  LinkId link;
  std::string ends[2];  // the node names, in the order of the link's ports
  PortId ports[2];
};

Cable cable_of(const Fabric& fabric, LinkId id) {
  const Link& link = fabric.link(id);
  return {id,
          {fabric.name_of(fabric.port(link.a).node), fabric.name_of(fabric.port(link.b).node)},
          {link.a, link.b}};
}

std::map<Pair, std::vector<Cable>> cables_by_pair(const Fabric& fabric) {
  std::map<Pair, std::vector<Cable>> result;
  for (std::uint32_t l = 0; l < fabric.link_count(); ++l) {
    auto cable = cable_of(fabric, LinkId(l));
    auto key = ordered(cable.ends[0], cable.ends[1]);
    result[std::move(key)].push_back(std::move(cable));
  }
  return result;
}

std::string port_name(const Fabric& fabric, PortId port) {
  return fmt::format("{}/p{}", fabric.name_of(fabric.port(port).node), fabric.port(port).number.value());
}

std::string shape_of(const IbPort& port) {
  return port.width && port.speed ? fmt::format("{}{}", to_string(*port.width), to_string(*port.speed))
                                  : std::string("no known width and speed");
}

class Comparison {
 public:
  Comparison(const Fabric& expected, const InfinibandFabric& found) : expected_(expected), found_(found) {}

  std::vector<CablingFault> run() {
    compare_nodes();
    compare_cables();
    compare_models();
    return std::move(faults_);
  }

 private:
  bool stands_in(const Fabric& fabric, const std::string& node) const {
    return fabric.find_node(node).has_value();
  }

  void compare_nodes() {
    for (const Node& node : expected_.nodes())
      if (!stands_in(found_.fabric, node.name))
        faults_.push_back(
            {CablingKind::missing_node, node.name, "a node of this name", "nothing that answers"});
    for (const Node& node : found_.fabric.nodes())
      if (!stands_in(expected_, node.name))
        faults_.push_back({CablingKind::extra_node, node.name, "", "a node of this name"});
  }

  void compare_cables() {
    auto should = cables_by_pair(expected_);
    auto is = cables_by_pair(found_.fabric);
    for (auto& [pair, wanted] : should) {
      auto& there = is[pair];
      const std::size_t common = std::min(wanted.size(), there.size());
      compare_rates(wanted, there, common);
      for (std::size_t i = common; i < wanted.size(); ++i) missing_.push_back(wanted[i]);
      there.erase(there.begin(), there.begin() + static_cast<std::ptrdiff_t>(common));
    }
    for (auto& [pair, there] : is)
      for (auto& cable : there) extra_.push_back(std::move(cable));
    pair_up();
    for (const Cable& cable : missing_)
      faults_.push_back({CablingKind::missing_cable, port_name(expected_, cable.ports[0]),
                         fmt::format("a cable to {}", port_name(expected_, cable.ports[1])), "no link"});
    for (const Cable& cable : extra_)
      faults_.push_back({CablingKind::extra_cable, port_name(found_.fabric, cable.ports[0]), "",
                         fmt::format("a cable to {}", port_name(found_.fabric, cable.ports[1]))});
  }

  void compare_rates(const std::vector<Cable>& wanted, const std::vector<Cable>& there, std::size_t common) {
    std::vector<Bandwidth> rates;
    for (const Cable& cable : wanted) rates.push_back(expected_.link(cable.link).rate);
    std::sort(rates.begin(), rates.end());
    std::vector<Cable> slow = there;
    std::sort(slow.begin(), slow.end(), [this](const Cable& a, const Cable& b) {
      return found_.fabric.link(a.link).rate < found_.fabric.link(b.link).rate;
    });
    for (std::size_t i = 0; i < common; ++i)
      if (found_.fabric.link(slow[i].link).rate < rates[i] * 0.99)
        faults_.push_back({CablingKind::wrong_rate, found_.fabric.name_of(slow[i].link), to_string(rates[i]),
                           fmt::format("{} ({})", to_string(found_.fabric.link(slow[i].link).rate),
                                       shape_of(found_.inventory.ports[slow[i].ports[0].value()]))});
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
      faults_.push_back({CablingKind::miswired, port_name(found_.fabric, extra->ports[near]),
                         fmt::format("a cable to {}", missing->ends[1 - kept]),
                         fmt::format("a cable to {}", port_name(found_.fabric, extra->ports[1 - near]))});
      extra_.erase(extra);
      missing = missing_.erase(missing);
    }
  }

  void compare_models() {
    std::map<Tier, std::map<std::tuple<std::uint32_t, std::uint16_t, std::uint32_t>, std::vector<NodeId>>>
        models;
    for (std::uint32_t n = 0; n < found_.fabric.node_count(); ++n) {
      const IbNode& about = found_.inventory.nodes[n];
      models[found_.fabric.node(NodeId(n)).tier][{about.vendor, about.device, about.revision}].push_back(
          NodeId(n));
    }
    const auto name = [](const auto& model) {
      return fmt::format("vendor 0x{:x} device 0x{:x} revision 0x{:x}", std::get<0>(model),
                         std::get<1>(model), std::get<2>(model));
    };
    for (const auto& [tier, kinds] : models) {
      const auto most = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      for (const auto& [model, nodes] : kinds)
        for (const NodeId node : nodes)
          if (model != most->first)
            faults_.push_back({CablingKind::mixed_model, found_.fabric.name_of(node),
                               fmt::format("as most of its tier: {}", name(most->first)), name(model)});
    }
  }

  const Fabric& expected_;
  const InfinibandFabric& found_;
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

std::vector<CablingFault> check_cabling(const Fabric& expected, const InfinibandFabric& found) {
  return Comparison(expected, found).run();
}

std::vector<CablingFault> check_firmware(const Fabric& found, const std::vector<DeviceFirmware>& devices) {
  std::map<std::uint16_t, std::map<FirmwareVersion, std::size_t>> counts;  // by model
  std::map<NodeId, std::size_t> of_node;
  for (const auto& device : devices) {
    ++counts[device.device][device.version];
    ++of_node[device.node];
  }
  std::vector<CablingFault> faults;
  for (const auto& device : devices) {
    const auto& versions = counts.at(device.device);
    const auto most = std::ranges::max_element(versions, [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second < b.second : a.first < b.first;
    });
    if (device.version == most->first) continue;
    auto where = found.name_of(device.node);
    if (of_node.at(device.node) > 1) where += fmt::format(" (0x{:x})", device.guid.value());
    faults.push_back({CablingKind::mixed_firmware, std::move(where),
                      fmt::format("as most of its model: {}", to_string(most->first)),
                      to_string(device.version)});
  }
  return faults;
}

}  // namespace weft
