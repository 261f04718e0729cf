#include "collectors/report/crossed_fabric.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "topology/model/fabric_builder.hpp"

namespace weft::report {
namespace {

std::string node_of(std::string_view end) { return std::string(end.substr(0, end.find('/'))); }

/// The two ends of a channel's name; absent: it has none.
std::optional<std::pair<std::string, std::string>> ends_of(std::string_view channel) {
  const auto arrow = channel.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  return std::pair(node_of(channel.substr(0, arrow)), node_of(channel.substr(arrow + 2)));
}

struct Crossed {
  std::map<std::string, std::size_t> levels;  // of nodes above the hosts
  std::set<std::pair<std::string, std::string>> links;

  void take(std::span<const std::string> channels, std::span<const std::uint32_t> path) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto ends = ends_of(channels[path[i]]);
      if (!ends || ends->first == ends->second) continue;
      note(ends->first, std::min(i, path.size() - i));
      note(ends->second, std::min(i + 1, path.size() - i - 1));
      links.insert(std::minmax(ends->first, ends->second));
    }
  }
  void note(const std::string& node, std::size_t level) {
    const auto [at, is_new] = levels.try_emplace(node, level);
    if (!is_new) at->second = std::min(at->second, level);
  }
};

}  // namespace

std::optional<Fabric> crossed_fabric(std::string_view name, std::span<const compare::MeasuredRun> runs,
                                     std::size_t most) {
  Crossed crossed;
  for (const compare::MeasuredRun& run : runs) {
    for (const compare::MeasuredFlow& flow : run.flows) crossed.take(run.channels, flow.path);
    // There and back are two paths in one.
    for (const compare::RoundTrip& trip : run.trips)
      crossed.take(run.channels, std::span(trip.path).first(std::min(trip.hops, trip.path.size())));
    if (crossed.links.size() > most) return std::nullopt;
  }
  if (crossed.links.empty()) return std::nullopt;
  FabricBuilder builder{std::string(name), FabricKind::roce};
  std::map<std::string, NodeId> nodes;
  for (const auto& [node, level] : crossed.levels) {
    const auto added = builder.add_node({.name = node,
                                         .kind = level == 0 ? NodeKind::host : NodeKind::switch_,
                                         .tier = tier_of_level(level)});
    if (!added) return std::nullopt;  // no name of a node: there is no such fabric
    nodes.emplace(node, *added);
  }
  for (const auto& [a, b] : crossed.links) builder.connect(nodes.at(a), nodes.at(b), Bandwidth::gbit(1));
  return std::move(builder).build();
}

}  // namespace weft::report
