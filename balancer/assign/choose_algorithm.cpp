#include "balancer/assign/choose_algorithm.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "balancer/assign/phase_solver.hpp"

namespace weft::assign {
namespace {

constexpr std::array kAllReduce{demand::Collective::ring, demand::Collective::tree,
                                demand::Collective::recursive_doubling, demand::Collective::halving_doubling};

/// Latencies one after another in one phase: a ring's is passed on n - 1 times twice, a tree's goes up and
/// down.
std::size_t steps_in_phase(demand::Collective collective, std::size_t ranks) {
  if (collective == demand::Collective::ring) return 2 * (ranks - 1);
  if (collective == demand::Collective::tree) return 2 * static_cast<std::size_t>(std::bit_width(ranks - 1));
  return 1;
}

class PhaseTimes {
 public:
  PhaseTimes(const Ground& ground, const MeasuredCost& cost) : ground_(ground), cost_(cost) {}

  Nanoseconds phase(const demand::Phase& phase, std::size_t steps) const {
    const auto bounds = assign_phase(ground_, phase, {}, [](Instance& instance, const Bounds&) {
                          return std::vector<SwitchRoute>(instance.item_count());
                        }).bounds;
    const double bytes = std::max(bounds.integral, bounds.nic);
    const double seconds = bytes * 8 / cost_.link.value_or(ground_.capacities.reference()).bits_per_second();
    return Nanoseconds(std::llround(seconds * 1e9)) + latency(phase) * static_cast<std::int64_t>(steps);
  }

 private:
  Nanoseconds latency(const demand::Phase& phase) const {
    const bool crosses = std::ranges::any_of(phase.flows, [&](const demand::Flow& flow) {
      return ground_.routes.leaf_of(flow.src) != ground_.routes.leaf_of(flow.dst);
    });
    return crosses ? cost_.latency_across : cost_.latency_in_leaf;
  }

  const Ground& ground_;
  const MeasuredCost& cost_;
};

}  // namespace

std::vector<AlgorithmTime> all_reduce_times(const Fabric& fabric, const std::vector<Avoided>& avoid,
                                            std::span<const PortId> ranks, Bytes size,
                                            const MeasuredCost& cost) {
  AssignOptions options{.avoid = avoid};
  const Ground ground(fabric, options);
  const PhaseTimes estimate(ground, cost);
  std::vector<AlgorithmTime> times;
  for (const demand::Collective collective : kAllReduce) {
    AlgorithmTime& each = times.emplace_back(AlgorithmTime{collective, {}});
    for (const demand::Phase& phase : make_collective(collective, ranks, size).phases)
      each.time += estimate.phase(phase, steps_in_phase(collective, ranks.size()));
  }
  std::ranges::stable_sort(times, {}, &AlgorithmTime::time);
  return times;
}

}  // namespace weft::assign
