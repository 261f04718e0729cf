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

/// The file's fabric and the one that is there, with what of them is the same.
struct ComparedFabrics {
  const Fabric& expected;
  const InfinibandFabric& found;
  FabricMatch match;

  End expected_end(PortId port) const { return {true, expected.port(port).node}; }
  End found_end(PortId port) const {
    const auto& known = match.node_of_port[port.value()];
    return known ? End{true, *known} : End{false, found.fabric.port(port).node};
  }
  const std::string& name_of(const End& end) const {
    return (end.is_expected ? expected : found.fabric).name_of(end.node);
  }
  /// As the file calls its node.
  std::string found_port_name(PortId port) const {
    return fmt::format("{}/p{}", name_of(found_end(port)), found.fabric.port(port).number.value());
  }
};

void compare_nodes(const ComparedFabrics& sides, std::vector<CablingFault>& faults) {
  const auto& [expected, found, match] = sides;
  for (std::uint32_t n = 0; n < expected.node_count(); ++n)
    if (!match.is_there[n])
      faults.push_back({CablingKind::missing_node, expected.name_of(NodeId(n)), "a node of this name",
                        "nothing that answers"});
  for (std::uint32_t n = 0; n < found.fabric.node_count(); ++n) {
    const auto ports = found.fabric.ports_of(NodeId(n));
    const auto is_known = [&](PortId port) { return sides.match.node_of_port[port.value()].has_value(); };
    const bool by_name = ports.empty() && expected.find_node(found.fabric.name_of(NodeId(n)));
    if (!by_name && std::ranges::none_of(ports, is_known))
      faults.push_back({CablingKind::extra_node, found.fabric.name_of(NodeId(n)), "", "a node of this name"});
  }
}

/// A cable missing at a node and another too many at the same node are one cable in the wrong place: both are
/// taken from the lists.
void pair_up(const ComparedFabrics& sides, std::vector<Cable>& all_missing, std::vector<Cable>& all_extra,
             std::vector<CablingFault>& faults) {
  for (auto missing = all_missing.begin(); missing != all_missing.end();) {
    const auto joined = [&](const Cable& extra, int end) {
      return extra.ends[0] == missing->ends[end] || extra.ends[1] == missing->ends[end];
    };
    // The lower end first: a host's cable is looked for at the host.
    auto extra = std::ranges::find_if(all_extra, [&](const Cable& e) { return joined(e, 0); });
    const int kept = extra != all_extra.end() ? 0 : 1;
    if (kept == 1) extra = std::ranges::find_if(all_extra, [&](const Cable& e) { return joined(e, 1); });
    if (extra == all_extra.end()) {
      ++missing;
      continue;
    }
    const int near = extra->ends[0] == missing->ends[kept] ? 0 : 1;
    faults.push_back({CablingKind::miswired, sides.found_port_name(extra->ports[near]),
                      fmt::format("a cable to {}", sides.name_of(missing->ends[1 - kept])),
                      fmt::format("a cable to {}", sides.found_port_name(extra->ports[1 - near]))});
    all_extra.erase(extra);
    missing = all_missing.erase(missing);
  }
}

/// Nothing: it has the rate that it should.
std::optional<CablingFault> wrong_rate(const ComparedFabrics& sides, LinkId wanted, LinkId there) {
  const auto should = sides.expected.link(wanted).rate;
  const Link& link = sides.found.fabric.link(there);
  if (link.rate >= should * 0.99) return std::nullopt;
  const IbPort& port = sides.found.inventory.ports[link.a.value()];
  return CablingFault{CablingKind::wrong_rate, sides.expected.name_of(wanted), readable(should),
                      fmt::format("{} ({})", readable(link.rate), shape_of(port))};
}

/// Returns how many are right.
std::size_t compare_cables(const ComparedFabrics& sides, std::vector<CablingFault>& faults) {
  const Fabric &expected = sides.expected, &found = sides.found.fabric;
  std::vector<Cable> missing, extra;
  std::size_t right = 0;
  for (std::uint32_t l = 0; l < expected.link_count(); ++l) {
    const Link& link = expected.link(LinkId(l));
    const auto there = sides.match.found[Fabric::a_to_b(LinkId(l)).value()];
    if (!there)
      missing.push_back({{sides.expected_end(link.a), sides.expected_end(link.b)}, {link.a, link.b}});
    else if (auto fault = wrong_rate(sides, LinkId(l), Fabric::link_of(*there)))
      faults.push_back(std::move(*fault));
    else
      ++right;
  }
  for (std::uint32_t l = 0; l < found.link_count(); ++l) {
    const Link& link = found.link(LinkId(l));
    if (!sides.match.expected[Fabric::a_to_b(LinkId(l)).value()])
      extra.push_back({{sides.found_end(link.a), sides.found_end(link.b)}, {link.a, link.b}});
  }
  pair_up(sides, missing, extra, faults);
  for (const Cable& cable : missing)
    faults.push_back({CablingKind::missing_cable, expected.name_of(cable.ports[0]),
                      fmt::format("a cable to {}", expected.name_of(cable.ports[1])), "no link"});
  for (const Cable& cable : extra)
    faults.push_back({CablingKind::extra_cable, sides.found_port_name(cable.ports[0]), "",
                      fmt::format("a cable to {}", sides.found_port_name(cable.ports[1]))});
  return right;
}

/// One line a model, however many have it. Of nodes that only their neighbours tell no model is known.
void compare_models(const InfinibandFabric& found, std::vector<CablingFault>& faults) {
  using Model = std::tuple<std::uint32_t, std::uint16_t, std::uint32_t>;  // vendor, device, revision
  std::map<Tier, std::map<Model, std::vector<std::string>>> models;
  for (std::uint32_t n = 0; n < found.fabric.node_count(); ++n) {
    const IbNode& about = found.inventory.nodes[n];
    if (about.vendor == 0 && about.device == 0) continue;
    const Node& node = found.fabric.node(NodeId(n));
    models[node.tier][{about.vendor, about.device, about.revision}].push_back(node.name);
  }
  const auto name = [](const Model& model) {
    return fmt::format("vendor 0x{:x} device 0x{:x} revision 0x{:x}", std::get<0>(model), std::get<1>(model),
                       std::get<2>(model));
  };
  for (auto& [tier, kinds] : models) {
    const auto most = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    for (auto& [model, nodes] : kinds)
      if (model != most->first)
        faults.push_back({CablingKind::mixed_model, few_of(nodes),
                          fmt::format("as most of its tier: {}", name(most->first)), name(model),
                          std::move(nodes)});
  }
}

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
  ComparedFabrics sides{expected, found, match_fabrics(expected, found.fabric)};
  CablingReport report;
  compare_nodes(sides, report.faults);
  report.links_right = compare_cables(sides, report.faults);
  compare_models(found, report.faults);
  report.remarks = std::move(sides.match.remarks);
  return report;
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
