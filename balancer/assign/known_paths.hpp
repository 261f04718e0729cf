// KnownPaths: a path map as the balancer sees it: for a pair of NICs, the routes that some label takes, and
// the labels of each. Paths that do not fit the fabric, use channels to avoid or have no label are left out,
// and so are labels that take several paths, as where a fabric sprays: they choose nothing.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "balancer/assign/routes.hpp"
#include "topology/model/path.hpp"

namespace weft::assign {

/// The switch part of a path; absent when the channels do not lead from src to dst in this fabric, or are
/// more than a SwitchRoute holds.
std::optional<SwitchRoute> route_between(const Fabric& fabric, PortId src, PortId dst,
                                         std::span<const ChannelId> channels);

class KnownPaths {
 public:
  /// Reads all pairs of the map; holds a reference to the fabric alone.
  KnownPaths(const Fabric& fabric, const Capacities& capacities, const PathMap& map);

  /// The usable routes between two NICs for which a label is known; an Error that says what is missing.
  Result<std::vector<SwitchRoute>> routes(PortId src, PortId dst) const;
  /// The labels known to take `route`, ascending; empty: none.
  std::span<const PathLabel> labels(PortId src, PortId dst, const SwitchRoute& route) const;

 private:
  struct Choice {
    SwitchRoute route;
    std::vector<PathLabel> labels;
  };
  struct Pair {
    std::vector<Choice> choices;
    std::size_t misfits = 0;  // paths that do not lead from src to dst in this fabric
    bool sprays = false;      // some label takes several paths
  };

  Pair read(const Capacities& capacities, const PathMap& map, const PairPaths& pair) const;

  const Fabric& fabric_;
  std::unordered_map<std::uint64_t, Pair> pairs_;
};

}  // namespace weft::assign
