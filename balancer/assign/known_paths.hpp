// KnownPaths: a path map as the balancer sees it: for a pair of NICs, the routes that some label takes, and
// the labels of each. Paths that do not fit the fabric, use channels to avoid or have no label are left out.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "balancer/assign/routes.hpp"
#include "topology/model/path_map.hpp"

namespace weft {

class KnownPaths {
 public:
  /// Holds references to all three.
  KnownPaths(const Fabric& fabric, const Capacities& capacities, const PathMap& map);

  /// The usable routes between two NICs for which a label is known; an Error that says what is missing.
  Result<std::vector<Route>> routes(PortId src, PortId dst) const;
  /// The labels known to take `route`, ascending; empty: none.
  std::span<const PathLabel> labels(PortId src, PortId dst, const Route& route) const;

 private:
  /// The switch part of a path; absent when it does not lead from src to dst.
  std::optional<Route> route_of(const PairPaths& pair, PathId path) const;
  const PairPaths* find(PortId src, PortId dst) const;

  const Fabric& fabric_;
  const Capacities& capacities_;
  const PathMap& map_;
  std::unordered_map<std::uint64_t, std::size_t> pair_;
};

}  // namespace weft
