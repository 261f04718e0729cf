#include "collectors/report/crossed_fabric.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "topology/model/fabric_builder.hpp"

namespace weft::report {
namespace {

constexpr std::uint32_t kMaxPorts = 0xFFFF;  // of a node: what a PortNumber holds

/// The two ends of a channel's name, with the ports of a cable that has parallel ones; absent: it has none.
std::optional<std::pair<std::string, std::string>> ends_of(std::string_view channel) {
  const auto arrow = channel.find("->");
  if (arrow == std::string_view::npos) return std::nullopt;
  return std::pair(std::string(channel.substr(0, arrow)), std::string(channel.substr(arrow + 2)));
}

std::string node_of(std::string_view end) { return std::string(end.substr(0, end.find('/'))); }

struct Crossed {
  std::map<std::string, std::size_t> levels;            // of nodes above the hosts
  std::set<std::pair<std::string, std::string>> links;  // of ends

  void take(std::span<const std::string> channels, std::span<const std::uint32_t> path) {
    for (std::size_t i = 0; i < path.size(); ++i) {
      const auto ends = ends_of(channels[path[i]]);
      if (!ends || node_of(ends->first) == node_of(ends->second)) continue;
      note(node_of(ends->first), std::min(i, path.size() - i));
      note(node_of(ends->second), std::min(i + 1, path.size() - i - 1));
      links.insert(std::minmax(ends->first, ends->second));
    }
  }
  void note(const std::string& node, std::size_t level) {
    const auto [at, is_new] = levels.try_emplace(node, level);
    if (!is_new) at->second = std::min(at->second, level);
  }
};

/// The cables of a fabric whose nodes are there. Ends with a number come first: what has none gets the next.
class Cabling {
 public:
  explicit Cabling(FabricBuilder& builder) : builder_(&builder) {}

  /// Whether it could be: no name of a port, or one of two cables, makes no fabric.
  bool connect(const std::set<std::pair<std::string, std::string>>& links) {
    for (const bool is_numbered : {true, false})
      for (const auto& [a, b] : links)
        for (const std::string& end : {a, b})
          if (is_numbered == has_number(end) && !add(end, a + "--" + b)) return false;
    return std::ranges::all_of(links, [&](const auto& link) {
      const std::string name = link.first + "--" + link.second;
      return builder_->add_link(ports_.at({link.first, name}), ports_.at({link.second, name}), kAnyRate)
          .has_value();
    });
  }

 private:
  static constexpr Bandwidth kAnyRate = Bandwidth::gbit(1);
  static bool has_number(std::string_view end) {
    const auto parts = split_port(end);
    return parts && parts->port;
  }

  /// The port of this end; one without a port in its name is another on each cable.
  bool add(const std::string& end, const std::string& cable) {
    const auto parts = split_port(end);
    const auto node = parts ? builder_->find_node(parts->node) : std::nullopt;
    if (!node) return false;
    std::uint32_t& highest = highest_[node->value()];
    if (parts->port) {
      const auto port = builder_->add_port(*node, *parts->port);
      if (port) ports_.emplace(std::pair(end, cable), *port);
      highest = std::max<std::uint32_t>(highest, parts->port->value());
      return port.has_value();
    }
    if (++highest > kMaxPorts) return false;
    const PortId port = builder_->add_next_port(*node);
    ports_.emplace(std::pair(end, cable), port);
    return parts->name.empty() || builder_->name_port(port, std::string(parts->name)).has_value();
  }

  FabricBuilder* builder_;
  std::map<std::uint32_t, std::uint32_t> highest_;               // number of a port, by node
  std::map<std::pair<std::string, std::string>, PortId> ports_;  // by end and cable
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
    for (const compare::ProbedPath& probed : run.probed)
      crossed.take(run.channels, std::span(probed.path).first(std::min(probed.hops, probed.path.size())));
    if (crossed.links.size() > most) return std::nullopt;
  }
  if (crossed.links.empty()) return std::nullopt;
  FabricBuilder builder{std::string(name), FabricKind::roce};
  for (const auto& [node, level] : crossed.levels) {
    const auto added = builder.add_node({.name = node,
                                         .kind = level == 0 ? NodeKind::host : NodeKind::switch_,
                                         .tier = tier_of_level(level)});
    if (!added) return std::nullopt;  // no name of a node: there is no such fabric
  }
  if (!Cabling(builder).connect(crossed.links)) return std::nullopt;
  return std::move(builder).build();
}

}  // namespace weft::report
