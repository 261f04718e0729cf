#include "balancer/assign/assign.hpp"

#include <algorithm>

#include "balancer/assign/known_paths.hpp"
#include "balancer/assign/labels.hpp"
#include "balancer/assign/solve_equal.hpp"
#include "balancer/assign/solve_unequal.hpp"
#include "topology/base/check.hpp"

namespace weft {
namespace {

/// What all phases of a demand share.
struct Ground {
  Ground(const Fabric& on, const AssignOptions& options)
      : fabric(on),
        capacities(on, options.avoid),
        routes(on, capacities),
        skeleton(Skeleton::find(on, capacities, routes)) {}
  bool regular() const { return skeleton && skeleton->whole(); }

  const Fabric& fabric;
  Capacities capacities;
  Routes routes;
  std::optional<Skeleton> skeleton;
};

/// Bounds are of the fabric, not of the labels that happen to be known: made without them.
Bounds bounds_for(const Ground& ground, const Phase& phase, const AssignOptions& options,
                  Instance& instance) {
  if (!instance.labelled) {
    if (!ground.regular()) instance.fill_routes(ground.routes);
    return bounds_of(instance, ground.routes, ground.regular());
  }
  Instance free =
      make_instance(ground.fabric, ground.capacities, ground.routes, phase.flows, options.qps, nullptr);
  if (!ground.regular()) free.fill_routes(ground.routes);
  return bounds_of(free, ground.routes, ground.regular());
}

double nic_bound(const Ground& ground, const Phase& phase) {
  std::vector<double> load(ground.fabric.channel_count());
  double most = 0;
  for (const Flow& flow : phase.flows)
    for (const ChannelId channel :
         {*ground.fabric.channel_from(flow.src), *ground.fabric.channel_into(flow.dst)}) {
      load[channel.value()] += static_cast<double>(flow.bytes.count());
      most = std::max(most,
                      load[channel.value()] * (ground.capacities.reference() / ground.fabric.rate(channel)));
    }
  return most;
}

std::vector<SteeredQp> steer(const Phase& phase, const Instance& instance, const std::vector<Route>& taken) {
  std::vector<SteeredQp> qps;
  qps.reserve(taken.size() + instance.local.size() * instance.qps);
  const auto add_local = [&](std::uint32_t flow) {
    const double bytes =
        static_cast<double>(phase.flows[flow].bytes.count()) / static_cast<double>(instance.qps);
    for (std::uint32_t qp = 0; qp < instance.qps; ++qp)
      qps.push_back({flow, qp, bytes, Route(), std::nullopt, std::nullopt});
  };
  auto local = instance.local.begin();
  for (ItemId item = 0; item < taken.size(); ++item) {
    const Crossing& crossing = instance.crossing_of(item);
    while (local != instance.local.end() && *local < crossing.flow) add_local(*local++);
    qps.push_back(
        {crossing.flow, item % instance.qps, crossing.bytes, taken[item], std::nullopt, std::nullopt});
  }
  while (local != instance.local.end()) add_local(*local++);
  return qps;
}

PhaseAssignment assign_forward(const Ground& ground, const Phase& phase, const AssignOptions& options) {
  Instance instance =
      make_instance(ground.fabric, ground.capacities, ground.routes, phase.flows, options.qps, options.paths);
  PhaseAssignment answer;
  answer.name = phase.name;
  answer.bounds = bounds_for(ground, phase, options, instance);
  answer.bounds.nic = nic_bound(ground, phase);
  answer.unassigned = instance.unassigned;
  const auto solve = instance.equal ? solve_equal : solve_unequal;
  const auto taken = solve(instance, ground.routes, ground.skeleton, answer.bounds, options.seed);
  answer.qps = steer(phase, instance, taken);
  if (options.paths)
    choose_labels(answer.qps, phase.flows, KnownPaths(ground.fabric, ground.capacities, *options.paths));
  answer.load = load_report(ground.fabric, ground.capacities, ground.routes, answer.qps, answer.bounds);
  return answer;
}

Phase reversed(const Phase& phase) {
  Phase back{phase.name, {}};
  for (const Flow& flow : phase.flows) back.flows.push_back({flow.dst, flow.src, flow.bytes});
  return back;
}

/// What the receivers send back, flow by flow and QP by QP, joined to the QPs it belongs to.
void join_reverse(PhaseAssignment& answer, PhaseAssignment back) {
  answer.reverse_load = back.load;
  for (const Unassigned& item : back.unassigned)
    answer.unassigned.push_back({item.flow, "the way back: " + item.why});
  auto at = back.qps.begin();
  for (SteeredQp& qp : answer.qps) {
    while (at != back.qps.end() && std::pair(at->flow, at->qp) < std::pair(qp.flow, qp.qp)) ++at;
    if (at != back.qps.end() && at->flow == qp.flow && at->qp == qp.qp)
      qp.reverse = Way{at->route, at->label};
  }
}

PhaseAssignment assign_on(const Ground& ground, const Phase& phase, const AssignOptions& options) {
  PhaseAssignment answer = assign_forward(ground, phase, options);
  if (options.reverse) join_reverse(answer, assign_forward(ground, reversed(phase), options));
  return answer;
}

}  // namespace

PhaseAssignment assign(const Fabric& fabric, const Phase& phase, const AssignOptions& options) {
  WEFT_CHECK(options.qps >= 1 && options.qps <= kMostQps);
  return assign_on(Ground(fabric, options), phase, options);
}

Assignment assign(const Fabric& fabric, const Demand& demand, const AssignOptions& options) {
  WEFT_CHECK(options.qps >= 1 && options.qps <= kMostQps);
  const Ground ground(fabric, options);
  Assignment all;
  all.reference = ground.capacities.reference();
  for (const Phase& phase : demand.phases) all.phases.push_back(assign_on(ground, phase, options));
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

double Assignment::ratio() const { return bound() > 0 ? busiest() / bound() : 1.0; }

}  // namespace weft
