#include "balancer/assign/assign.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "balancer/assign/bounds.hpp"
#include "balancer/assign/construct.hpp"
#include "balancer/assign/even_out.hpp"
#include "balancer/assign/greedy.hpp"
#include "balancer/assign/mend.hpp"
#include "balancer/assign/phase_solver.hpp"
#include "balancer/assign/placement.hpp"
#include "balancer/assign/skeleton.hpp"
#include "balancer/assign/solve_equal.hpp"
#include "balancer/assign/squeeze.hpp"
#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

/// The start: coloured in order of size where the fabric has the shape for it, the rest as it fits best.
void start(Placement& placement, const Routes& routes, const std::optional<Skeleton>& skeleton) {
  auto loose = by_size(placement.instance());
  if (skeleton)
    loose = put_wanted(placement, loose, construct(placement.instance(), routes, *skeleton, loose));
  for (const ItemId item : loose) place_least_loaded(placement, item);
}

/// A route for every item; the instance's routes are filled.
std::vector<SwitchRoute> solve_unequal(Instance& instance, const Routes& routes,
                                       const std::optional<Skeleton>& skeleton, const Bounds& bounds,
                                       std::uint64_t seed) {
  instance.fill_routes(routes);
  Placement placement(instance);
  start(placement, routes, skeleton);
  squeeze(placement, bounds.integral, seed);
  even_out(placement, routes,
           std::vector<double>(instance.weight.size(), std::numeric_limits<double>::infinity()), seed);
  return placement.routes();
}

PhaseAssignment assign_on(const Ground& ground, const demand::Phase& phase, const AssignOptions& options) {
  const auto solve = [&](Instance& instance, const Bounds& bounds) {
    const auto solver = instance.equal ? solve_equal : solve_unequal;
    return solver(instance, ground.routes, ground.skeleton, bounds, options.seed);
  };
  PhaseAssignment answer = assign_phase(ground, phase, options, solve);
  if (options.reverse) join_reverse(answer, assign_phase(ground, reversed(phase), options, solve));
  return answer;
}

constexpr double kTiny = 1e-9;

double greatest(const std::vector<double>& load, std::span<const ChannelId> channels) {
  double most = 0;
  for (const ChannelId channel : channels) most = std::max(most, load[channel.value()]);
  return most;
}

}  // namespace

PhaseAssignment assign(const Fabric& fabric, const demand::Phase& phase, const AssignOptions& options) {
  WEFT_CHECK(options.qps >= 1 && options.qps <= kMaxQps);
  return assign_on(Ground(fabric, options), phase, options);
}

Assignment assign(const Fabric& fabric, const demand::Demand& demand, const AssignOptions& options) {
  WEFT_CHECK(options.qps >= 1 && options.qps <= kMaxQps);
  const Ground ground(fabric, options);
  Assignment all;
  all.reference = ground.capacities.reference();
  for (const demand::Phase& phase : demand.phases) all.phases.push_back(assign_on(ground, phase, options));
  return all;
}

double Assignment::bound() const {
  double sum = 0;
  for (const auto& phase : phases) sum += phase.bounds.integral;
  return sum;
}

double Assignment::fractional_bound() const {
  double sum = 0;
  for (const auto& phase : phases) sum += phase.bounds.fractional;
  return sum;
}

double Assignment::busiest() const {
  double sum = 0;
  for (const auto& phase : phases) sum += phase.load.busiest;
  return sum;
}

std::optional<double> Assignment::label_bound() const {
  std::optional<double> sum;
  for (const auto& phase : phases)
    if (phase.labels) sum = sum.value_or(0) + phase.labels->bound;
  return sum;
}

double Assignment::ratio() const { return bound() > 0 ? busiest() / bound() : 1.0; }

LoadReport load_report(const Fabric& fabric, const Capacities& capacities, const Routes& routes,
                       std::span<const SteeredQp> qps, const Bounds& bounds) {
  std::vector<double> load(fabric.channel_count());
  for (const SteeredQp& qp : qps)
    for (const ChannelId channel : qp.route.channels()) load[channel.value()] += qp.bytes;
  LoadReport report;
  for (std::uint32_t c = 0; c < load.size(); ++c) {
    if (load[c] <= 0) continue;
    load[c] *= capacities.reference().bits_per_second() / capacities[ChannelId(c)];
    if (load[c] <= report.busiest) continue;
    report.busiest = load[c];
    report.channel = ChannelId(c);
  }
  if (bounds.integral > 0) report.ratio = report.busiest / bounds.integral;
  for (std::uint32_t l = 0; l < routes.leaf_count() && l < bounds.leaf_out.size(); ++l)
    if (greatest(load, routes.uplinks(LeafId(l))) > bounds.leaf_out[l] * (1 + kTiny) ||
        greatest(load, routes.downlinks(LeafId(l))) > bounds.leaf_in[l] * (1 + kTiny))
      ++report.leaves_over_own_bound;
  return report;
}

}  // namespace weft::assign
