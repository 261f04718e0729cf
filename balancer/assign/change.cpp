#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <vector>

#include "balancer/assign/bounds.hpp"
#include "balancer/assign/known_paths.hpp"
#include "balancer/assign/mend.hpp"
#include "balancer/assign/phase_solver.hpp"
#include "balancer/assign/rooms.hpp"
#include "balancer/assign/squeeze.hpp"
#include "topology/base/check.hpp"

namespace weft::assign {
namespace {

/// Of the bound, where sizes differ and it cannot be met exactly: what the solver for those reaches.
constexpr double kGoalWhereItemsDiffer = 1.015;

/// A route for every item, the fabric's bound restored; before[item]: the route it had, absent for a new one.
/// The instance's routes are filled.
std::vector<SwitchRoute> solve_again(Instance& instance, const Routes& routes, const Bounds& bounds,
                                     const std::vector<std::optional<SwitchRoute>>& before,
                                     std::uint64_t seed) {
  instance.fill_routes(routes);
  Placement placement(instance);
  const double goal = instance.equal ? bounds.integral : bounds.integral * kGoalWhereItemsDiffer;
  placement.set_room(rooms_of(instance, goal));
  std::vector<ItemId> loose(instance.item_count());
  std::iota(loose.begin(), loose.end(), 0U);
  std::vector<SwitchRoute> wanted;
  for (const auto& route : before) wanted.push_back(route.value_or(SwitchRoute()));
  loose = put_wanted(placement, loose, wanted);
  const auto over = shed(placement);
  loose.insert(loose.end(), over.begin(), over.end());
  place_all(placement, std::move(loose), goal, seed);
  return placement.routes();
}

/// Finds, for the QPs of a phase in order, what they were before; of several flows with the same ends the
/// first takes the first.
class Memory {
 public:
  explicit Memory(std::span<const KeptQp> before) : before_(before), used_(before.size()) {
    for (std::size_t i = 0; i < before.size(); ++i) by_ends_[key(before[i].src, before[i].dst)].push_back(i);
  }

  const KeptQp* take(const demand::Flow& flow, std::uint32_t qp) {
    const auto at = by_ends_.find(key(flow.src, flow.dst));
    if (at == by_ends_.end()) return nullptr;
    for (const std::size_t i : at->second)
      if (!used_[i] && before_[i].qp == qp) {
        used_[i] = true;
        return &before_[i];
      }
    return nullptr;
  }

 private:
  static std::uint64_t key(PortId src, PortId dst) { return std::uint64_t{src.value()} << 32 | dst.value(); }

  std::span<const KeptQp> before_;
  std::vector<bool> used_;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> by_ends_;
};

/// Counts who moved; those that stayed keep their label where it still takes their route.
void compare(PhaseAssignment& answer, const Ground& ground, const demand::Phase& phase,
             const AssignOptions& options, std::span<const KeptQp> before) {
  Memory memory(before);
  std::optional<KnownPaths> known;
  if (options.paths) known.emplace(ground.fabric, ground.capacities, *options.paths);
  for (SteeredQp& qp : answer.qps) {
    const demand::Flow& flow = phase.flows[qp.flow];
    const KeptQp* was = memory.take(flow, qp.qp);
    if (!was) continue;
    if (!(was->route == qp.route)) {
      ++answer.moves;
    } else if (known && was->label) {
      const auto labels = known->labels(flow.src, flow.dst, qp.route);
      if (std::ranges::find(labels, *was->label) != labels.end()) qp.label = was->label;
    }
  }
}

PhaseAssignment reassign_one_way(const Ground& ground, const demand::Phase& phase,
                                 const AssignOptions& options, std::span<const KeptQp> before) {
  const auto solve = [&](Instance& instance, const Bounds& bounds) {
    Memory memory(before);
    std::vector<std::optional<SwitchRoute>> routes(instance.item_count());
    for (ItemId item = 0; item < routes.size(); ++item)
      if (const KeptQp* was = memory.take(phase.flows[instance.crossing_of(item).flow], item % instance.qps))
        routes[item] = was->route;
    return solve_again(instance, ground.routes, bounds, routes, options.seed);
  };
  PhaseAssignment answer = assign_phase(ground, phase, options, solve, true);
  compare(answer, ground, phase, options, before);
  return answer;
}

std::vector<KeptQp> ways_back(std::span<const KeptQp> before) {
  std::vector<KeptQp> back;
  for (const KeptQp& qp : before)
    if (qp.reverse)
      back.push_back({qp.dst, qp.src, qp.qp, qp.reverse->route, qp.reverse->label, std::nullopt});
  return back;
}

PhaseAssignment reassign_on(const Ground& ground, const demand::Phase& phase, const AssignOptions& options,
                            std::span<const KeptQp> before) {
  PhaseAssignment answer = reassign_one_way(ground, phase, options, before);
  if (!options.reverse) return answer;
  const auto back = reassign_one_way(ground, reversed(phase), options, ways_back(before));
  join_reverse(answer, back);
  answer.moves += back.moves;
  return answer;
}

}  // namespace

std::vector<KeptQp> kept(const demand::Phase& phase, const PhaseAssignment& answer) {
  std::vector<KeptQp> all;
  all.reserve(answer.qps.size());
  for (const SteeredQp& qp : answer.qps)
    all.push_back(
        {phase.flows[qp.flow].src, phase.flows[qp.flow].dst, qp.qp, qp.route, qp.label, qp.reverse});
  return all;
}

PhaseAssignment reassign(const Fabric& fabric, const demand::Phase& phase, const AssignOptions& options,
                         std::span<const KeptQp> before) {
  WEFT_CHECK(options.qps >= 1 && options.qps <= kMaxQps);
  return reassign_on(Ground(fabric, options), phase, options, before);
}

Assignment reassign(const Fabric& fabric, const demand::Demand& demand, const AssignOptions& options,
                    const std::vector<std::vector<KeptQp>>& before) {
  WEFT_CHECK(options.qps >= 1 && options.qps <= kMaxQps);
  const Ground ground(fabric, options);
  Assignment all;
  all.reference = ground.capacities.reference();
  for (std::size_t p = 0; p < demand.phases.size(); ++p)
    all.phases.push_back(reassign_on(ground, demand.phases[p], options,
                                     p < before.size() ? before[p] : std::vector<KeptQp>()));
  return all;
}

}  // namespace weft::assign
