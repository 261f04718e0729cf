// assign: gives every QP of a demand a route, so that no channel between switches carries more than it must.
// Pure and deterministic: the same input and seed give the same assignment.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "balancer/assign/bounds.hpp"
#include "balancer/assign/instance.hpp"

namespace weft::assign {

inline constexpr std::uint32_t kMaxQps = 1024;  // of one flow

struct AssignOptions {
  std::uint32_t qps = 1;           // K: QPs of every flow, 1 to kMaxQps
  bool weighted = false;           // QPs of a flow may carry different shares
  std::vector<Avoided> avoid;      // channels to avoid or to load less
  const PathMap* paths = nullptr;  // restricts every pair to paths with known labels
  bool reverse = false;            // steer the receivers' ACKs and CTS too, with labels of their own
  /// Solve the linear programme for the fractional bound where the cuts may be below it and it has no more
  /// than this many variables (routes of pairs of leaves); 0: the cuts alone.
  std::size_t lp_variables = 0;
  std::uint64_t seed = 1;
};

/// A route between the leaves and, where a path map tells, a label that takes it.
struct Way {
  SwitchRoute route;
  std::optional<PathLabel> label;
};

/// One QP of one flow.
struct SteeredQp {
  std::uint32_t flow = 0;  // index into the phase's flows
  std::uint32_t qp = 0;    // 0 to K - 1
  double bytes = 0;
  SwitchRoute route;
  std::optional<PathLabel> label;
  std::optional<Way> reverse;  // what the receiver sends back (ACKs, CTS), when asked for
};

/// How the loads came out; bytes on channels between switches, scaled to the reference rate.
struct LoadReport {
  double busiest = 0;
  std::optional<ChannelId> channel;  // the busiest
  /// busiest / integral bound (with weighted QPs: fractional bound); 1 where nothing crosses leaves.
  double ratio = 1;
  std::uint32_t leaves_over_own_bound = 0;
};

/// A QP as it was steered before a change.
struct KeptQp {
  PortId src;
  PortId dst;
  std::uint32_t qp = 0;
  SwitchRoute route;
  std::optional<PathLabel> label;
  std::optional<Way> reverse;
};

/// Where a path map restricts the routes: what that costs.
struct LabelReport {
  double bound = 0;               // bytes: no assignment over the known paths does with less
  std::uint32_t pairs = 0;        // of NICs
  std::uint32_t pairs_short = 0;  // of these: not all paths known
  std::uint32_t paths = 0;        // that a pair has, at most
};

struct PhaseAssignment {
  std::string name;
  std::vector<SteeredQp> qps;  // by flow, then QP
  std::vector<Unassigned> unassigned;
  Bounds bounds;
  LoadReport load;
  std::optional<LabelReport> labels;
  std::optional<LoadReport> reverse_load;  // the same for the way back, as if it carried as much
  std::uint32_t moves = 0;  // after a change: QPs that were steered before and now take another route
};

struct Assignment {
  Bandwidth reference;  // the rate that loads and bounds are scaled to
  std::vector<PhaseAssignment> phases;
  /// Phases follow one another: sums of the bounds and of the busiest channels.
  double bound() const;
  double fractional_bound() const;
  double busiest() const;
  double ratio() const;
  /// The bound over the paths whose labels are known; absent without a path map.
  std::optional<double> label_bound() const;
};

PhaseAssignment assign(const Fabric& fabric, const demand::Phase& phase, const AssignOptions& options);
Assignment assign(const Fabric& fabric, const demand::Demand& demand, const AssignOptions& options);

/// What `answer` holds, in the form that reassign() starts from.
std::vector<KeptQp> kept(const demand::Phase& phase, const PhaseAssignment& answer);

/// The assignment after a change of fabric, demand or both: QPs with the same ends and number as in `before`
/// keep route and label where they can, few move, and the bound is met again.
PhaseAssignment reassign(const Fabric& fabric, const demand::Phase& phase, const AssignOptions& options,
                         std::span<const KeptQp> before);
/// The same for all phases; before[i]: phase i as it was, absent phases count as empty.
Assignment reassign(const Fabric& fabric, const demand::Demand& demand, const AssignOptions& options,
                    const std::vector<std::vector<KeptQp>>& before);

/// Loads of routes given per QP, against `bounds` of the same flows.
LoadReport load_report(const Fabric& fabric, const Capacities& capacities, const Routes& routes,
                       std::span<const SteeredQp> qps, const Bounds& bounds);

}  // namespace weft::assign
