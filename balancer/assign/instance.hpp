// Instance: one phase of a demand made ready for assignment. Flows that cross leaves are cut into K queue
// pairs (items), each with the routes it may take; what cannot be assigned is told apart, with the reason.
// Loads are counted in bytes on a channel of the reference rate: a channel of weight w carries w of them in
// the same time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "balancer/assign/routes.hpp"
#include "balancer/demand/demand.hpp"
#include "topology/model/path.hpp"

namespace weft::assign {

struct Unassigned {
  std::string flow;  // "host1 -> host2"
  std::string why;
};

/// Flows whose QPs share one set of routes: those between two leaves, or, where labels are known by pair,
/// those between two NICs.
struct FlowGroup {
  LeafId from;
  LeafId to;
  std::uint32_t flows = 0;
  double bytes = 0;
  std::vector<SwitchRoute> routes;  // filled by Instance::fill_routes, or from a path map
};

/// A flow that crosses leaves.
struct CrossingFlow {
  std::uint32_t flow = 0;   // index into the phase's flows
  std::uint32_t group = 0;  // index into groups
  double bytes = 0;         // of one QP
};

/// Item i is QP i % qps of crossing i / qps.
using ItemId = std::uint32_t;

struct Instance {
  std::uint32_t qps = 1;
  std::vector<double> weight;  // per channel: its capacity over the reference rate
  std::vector<FlowGroup> groups;
  std::vector<CrossingFlow> crossings;
  std::vector<std::uint32_t> local;  // flows within one leaf: a path, but no choice
  std::vector<Unassigned> unassigned;
  bool equal = true;   // all items have the same size
  double quantum = 0;  // the size of the greatest item, in bytes
  bool labelled = false;

  std::size_t item_count() const { return crossings.size() * qps; }
  const CrossingFlow& crossing_of(ItemId item) const { return crossings[item / qps]; }
  const std::vector<SwitchRoute>& routes_of(ItemId item) const {
    return groups[crossing_of(item).group].routes;
  }
  double bytes_of(ItemId item) const { return crossing_of(item).bytes; }
  /// Routes for every group that has none yet. Not needed where an exact construction names them itself.
  void fill_routes(const Routes& routes);
};

/// `paths`: restricts every pair to the paths whose labels are known; may be null. A flow is unassigned where
/// its ends are one NIC, its cable is to be avoided, the fabric is cut between its ends, or `paths` knows no
/// usable path for it.
Instance make_instance(const Fabric& fabric, const Capacities& capacities, const Routes& routes,
                       const std::vector<demand::Flow>& flows, std::uint32_t qps, const PathMap* paths);

}  // namespace weft::assign
