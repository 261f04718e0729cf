// Which labels to trace between which pairs, and how fast, so that every path is seen with a stated
// confidence and no switch is asked for more answers than it gives.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probes/datapath/probe_engine.hpp"
#include "probes/plan/pairs.hpp"
#include "topology/base/units.hpp"
#include "topology/routing/shortest_paths.hpp"

namespace weft::plan {

/// The smallest number of random labels that show each of `paths` equally likely paths at least once with
/// probability `confidence` (0 < confidence < 1). Exact, by the Markov chain over the number of paths seen.
std::uint32_t labels_to_see_all(std::uint32_t paths, Fraction confidence);

/// How many equal paths lead from one NIC to the other, as the fabric is designed; 65,535 at most.
std::uint32_t equal_paths(const Fabric& fabric, routing::ShortestPathCache& ways, const NicPair& pair);

/// Hops of a trace, from 1; `to_peer`: the last of them is the peer.
struct HopRange {
  std::uint8_t first = 1;
  std::uint8_t last = 1;
  bool to_peer = false;
  friend auto operator<=>(const HopRange&, const HopRange&) = default;
};

struct TracePlan {
  NicPair pair;
  std::vector<PathLabel> labels;                // distinct, random
  std::optional<HopRange> hops = std::nullopt;  // asked; absent: all, the peer too
};

struct TraceOptions {
  Fraction confidence{0.99};
  std::uint64_t seed = 1;
};

/// Labels of RoCE: the dynamic ports, of 49152 and above (ibv_flow_label_to_udp_sport).
inline constexpr std::uint32_t kRoceLabels = 16384;
inline constexpr std::uint32_t kFirstRoceLabel = 49152;

/// `count` labels (at most kRoceLabels) spread evenly over the range, ascending.
std::vector<PathLabel> spread_labels(std::uint32_t count);

/// In a small fabric every pair gets the labels that show all its paths; in a large one the NICs of an edge
/// switch share them. Labels are of the dynamic port range that RoCE uses (49152 to 65535).
std::vector<TracePlan> plan_traces(const Fabric& fabric, routing::ShortestPathCache& ways,
                                   const std::vector<NicPair>& pairs, const TraceOptions& options);

/// How long the traces must take at least, so that no switch answers more than `answers_per_second` of the
/// hops asked.
Nanoseconds least_trace_time(const Fabric& fabric, routing::ShortestPathCache& ways,
                             const std::vector<TracePlan>& plan, double answers_per_second);

}  // namespace weft::plan
