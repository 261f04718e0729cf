#include "balancer/assign/phase_solver.hpp"

#include <cmath>
#include <vector>

#include <algorithm>

#include "balancer/assign/assign.hpp"
#include "balancer/assign/bounds.hpp"
#include "balancer/assign/known_paths.hpp"
#include "balancer/assign/label_bound.hpp"
#include "balancer/assign/lp_bound.hpp"
#include "balancer/assign/rooms.hpp"
#include "topology/base/check.hpp"
#include "topology/model/fabric.hpp"

namespace weft::assign {
namespace {

// Weighing: QPs of one flow need not carry the same. Given the routes of a flow's QPs, their shares are set
// so that the busiest channel carries as little as it can: a convex problem, solved by descent on a soft
// maximum. That goes below what equal QPs can do, down to the fractional optimum where the routes allow it.

constexpr double kCloseEnough = 1.001;
constexpr double kFirstSharpness = 20;   // of the soft maximum, per bound
constexpr double kLastSharpness = 6000;  // within ln(channels) / 6000 of the true maximum
constexpr int kSweepsEach = 12;

class Weighing {
 public:
  Weighing(const Instance& instance, const std::vector<SwitchRoute>& taken, double bound)
      : instance_(instance),
        taken_(taken),
        bound_(bound),
        load_(instance.weight.size()),
        bytes_(taken.size()) {
    for (ItemId item = 0; item < taken.size(); ++item) {
      bytes_[item] = instance.bytes_of(item);
      add(item, bytes_[item]);
    }
    best_ = bytes_;
    least_ = busiest();
  }

  std::vector<double> solve() && {
    for (double sharpness = kFirstSharpness; sharpness < kLastSharpness; sharpness *= 2)
      for (int sweep = 0; sweep < kSweepsEach; ++sweep) {
        if (least_ <= bound_ * kCloseEnough) return std::move(best_);
        sweep_flows(sharpness / bound_);
        remember();
      }
    return std::move(best_);
  }

 private:
  void add(ItemId item, double bytes) {
    for (const ChannelId c : taken_[item].channels()) load_[c.value()] += bytes / instance_.weight[c.value()];
  }

  double busiest() const { return *std::ranges::max_element(load_); }

  void remember() {
    if (const double now = busiest(); now < least_) {
      least_ = now;
      best_ = bytes_;
    }
  }

  /// How much one more byte on this route raises the soft maximum.
  double price(ItemId item, double sharpness) const {
    double sum = 0;
    for (const ChannelId c : taken_[item].channels())
      sum += std::exp(sharpness * (load_[c.value()] - bound_)) / instance_.weight[c.value()];
    return sum;
  }

  /// Moves bytes from each flow's dearest route to its cheapest, as far as evens their prices.
  void sweep_flows(double sharpness) {
    const std::uint32_t qps = instance_.qps;
    for (ItemId first = 0; first < taken_.size(); first += qps) {
      ItemId dear = first, cheap = first;
      double dearest = -1, cheapest = INFINITY;
      for (ItemId item = first; item < first + qps; ++item) {
        const double each = price(item, sharpness);
        if (each < cheapest) cheapest = each, cheap = item;
        if (each > dearest && bytes_[item] > 0) dearest = each, dear = item;
      }
      if (dearest <= cheapest) continue;
      const double log_ratio = std::min(std::log(dearest / std::max(cheapest, 1e-300)), 50.0);
      const double moved = std::min(bytes_[dear], log_ratio / (2 * sharpness) * least_weight(dear, cheap));
      add(dear, -moved);
      add(cheap, moved);
      bytes_[dear] -= moved;
      bytes_[cheap] += moved;
    }
  }

  double least_weight(ItemId a, ItemId b) const {
    double least = INFINITY;
    for (const ItemId item : {a, b})
      for (const ChannelId c : taken_[item].channels()) least = std::min(least, instance_.weight[c.value()]);
    return least;
  }

  const Instance& instance_;
  const std::vector<SwitchRoute>& taken_;
  double bound_;
  std::vector<double> load_;   // per channel: bytes over weight
  std::vector<double> bytes_;  // per item
  std::vector<double> best_;
  double least_ = 0;
};

/// The bytes of every item, those of a flow's items adding up to the flow; taken[item]: its route. `bound` is
/// the least the busiest channel can carry (fractional): the search ends when it comes within a thousandth.
std::vector<double> weigh(const Instance& instance, const std::vector<SwitchRoute>& taken, double bound) {
  std::vector<double> bytes;
  if (instance.qps > 1 && bound > 0 && !taken.empty()) return Weighing(instance, taken, bound).solve();
  for (ItemId item = 0; item < taken.size(); ++item) bytes.push_back(instance.bytes_of(item));
  return bytes;
}

/// Gives every QP that crosses leaves a label known to take its route; QPs of one flow on one route get
/// different labels as far as there are. `flows` are those the QPs index. Precondition: every route is one of
/// known.routes() for its flow.
void choose_labels(std::vector<SteeredQp>& qps, const std::vector<demand::Flow>& flows,
                   const KnownPaths& known) {
  std::size_t first = 0;  // of the QPs of this flow
  for (std::size_t i = 0; i < qps.size(); ++i) {
    if (qps[i].flow != qps[first].flow) first = i;
    const demand::Flow& flow = flows[qps[i].flow];
    if (qps[i].route.size() == 0) continue;  // within a leaf any label goes the same way
    const auto labels = known.labels(flow.src, flow.dst, qps[i].route);
    WEFT_CHECK(!labels.empty());
    std::size_t same = 0;
    for (std::size_t j = first; j < i; ++j) same += qps[j].route == qps[i].route;
    qps[i].label = labels[same % labels.size()];
  }
}

constexpr double kTiny = 1e-7;  // relative: the precision of the linear programme

/// Beside the cuts the optimum of the linear programme; where that is above the integral bound, the next load
/// that whole items can make is the bound.
Bounds with_optimum(Bounds bounds, const Instance& instance, std::size_t lp_variables) {
  const auto optimum = lp_optimum(instance, lp_variables);
  if (!optimum || *optimum <= bounds.fractional) return bounds;
  bounds.fractional = *optimum;
  if (*optimum > bounds.integral * (1 + kTiny))
    bounds.integral = instance.equal ? next_rooms(instance, *optimum * (1 - kTiny)) : *optimum;
  return bounds;
}

/// Bounds are of the fabric, not of the labels that happen to be known: made without them.
Bounds bounds_for(const Ground& ground, const demand::Phase& phase, const AssignOptions& options,
                  Instance& instance) {
  if (!instance.labelled) {
    if (!ground.regular()) instance.fill_routes(ground.routes);
    return with_optimum(bounds_of(instance, ground.routes, ground.regular()), instance, options.lp_variables);
  }
  Instance free =
      make_instance(ground.fabric, ground.capacities, ground.routes, phase.flows, options.qps, nullptr);
  if (!ground.regular()) free.fill_routes(ground.routes);
  return with_optimum(bounds_of(free, ground.routes, ground.regular()), free, options.lp_variables);
}

double nic_bound(const Ground& ground, const demand::Phase& phase) {
  std::vector<double> load(ground.fabric.channel_count());
  double most = 0;
  for (const demand::Flow& flow : phase.flows)
    for (const ChannelId channel :
         {*ground.fabric.channel_from(flow.src), *ground.fabric.channel_into(flow.dst)}) {
      load[channel.value()] += static_cast<double>(flow.bytes.count());
      most = std::max(most,
                      load[channel.value()] * (ground.capacities.reference() / ground.fabric.rate(channel)));
    }
  return most;
}

std::vector<SteeredQp> steer(const demand::Phase& phase, const Instance& instance,
                             const std::vector<SwitchRoute>& taken, const std::vector<double>& bytes) {
  std::vector<SteeredQp> qps;
  qps.reserve(taken.size() + instance.local.size() * instance.qps);
  const auto add_local = [&](std::uint32_t flow) {
    const double share =
        static_cast<double>(phase.flows[flow].bytes.count()) / static_cast<double>(instance.qps);
    for (std::uint32_t qp = 0; qp < instance.qps; ++qp)
      qps.push_back({flow, qp, share, SwitchRoute(), std::nullopt, std::nullopt});
  };
  auto local = instance.local.begin();
  for (ItemId item = 0; item < taken.size(); ++item) {
    const CrossingFlow& crossing = instance.crossing_of(item);
    while (local != instance.local.end() && *local < crossing.flow) add_local(*local++);
    qps.push_back({crossing.flow, item % instance.qps, bytes[item], taken[item], std::nullopt, std::nullopt});
  }
  while (local != instance.local.end()) add_local(*local++);
  return qps;
}

std::vector<double> shares(const Instance& instance, const std::vector<SwitchRoute>& taken,
                           const Bounds& bounds, bool weighted) {
  if (weighted) return weigh(instance, taken, bounds.fractional);
  std::vector<double> bytes;
  bytes.reserve(taken.size());
  for (ItemId item = 0; item < taken.size(); ++item) bytes.push_back(instance.bytes_of(item));
  return bytes;
}

double busiest_of(const Instance& instance, const std::vector<SwitchRoute>& taken,
                  const std::vector<double>& bytes) {
  std::vector<double> level(instance.weight.size());
  double most = 0;
  for (ItemId item = 0; item < taken.size(); ++item)
    for (const ChannelId c : taken[item].channels())
      most = std::max(most, level[c.value()] += bytes[item] / instance.weight[c.value()]);
  return most;
}

LabelReport label_report(const Ground& ground, const Instance& instance, double bound) {
  LabelReport report{.bound = bound};
  for (const FlowGroup& group : instance.groups) {
    const auto paths = static_cast<std::uint32_t>(ground.routes.between(group.from, group.to).size());
    ++report.pairs;
    report.pairs_short += group.routes.size() < paths ? 1 : 0;
    report.paths = std::max(report.paths, paths);
  }
  return report;
}

}  // namespace

Ground::Ground(const Fabric& on, const AssignOptions& options)
    : fabric(on),
      capacities(on, options.avoid),
      routes(on, capacities),
      skeleton(Skeleton::find(on, capacities, routes)) {}

PhaseAssignment assign_phase(const Ground& ground, const demand::Phase& phase, const AssignOptions& options,
                             const Solve& solve, bool settled) {
  Instance instance =
      make_instance(ground.fabric, ground.capacities, ground.routes, phase.flows, options.qps, options.paths);
  PhaseAssignment answer;
  answer.name = phase.name;
  answer.bounds = bounds_for(ground, phase, options, instance);
  answer.bounds.nic = nic_bound(ground, phase);
  answer.unassigned = instance.unassigned;
  auto taken = solve(instance, answer.bounds);
  auto bytes = shares(instance, taken, answer.bounds, options.weighted);
  if (instance.labelled) {
    const double low = options.weighted ? answer.bounds.fractional : answer.bounds.integral;
    auto bound = bound_by_labels(instance, low, busiest_of(instance, taken, bytes), options.weighted,
                                 options.lp_variables);
    answer.labels = label_report(ground, instance, bound.bytes);
    if (!bound.better.empty() && !settled) taken = std::move(bound.better);
  }
  answer.qps = steer(phase, instance, taken, bytes);
  if (options.paths)
    choose_labels(answer.qps, phase.flows, KnownPaths(ground.fabric, ground.capacities, *options.paths));
  answer.load = load_report(ground.fabric, ground.capacities, ground.routes, answer.qps, answer.bounds);
  if (options.weighted && answer.bounds.fractional > 0)
    answer.load.ratio = answer.load.busiest / answer.bounds.fractional;
  return answer;
}

demand::Phase reversed(const demand::Phase& phase) {
  demand::Phase back{phase.name, {}};
  for (const demand::Flow& flow : phase.flows) back.flows.push_back({flow.dst, flow.src, flow.bytes});
  return back;
}

void join_reverse(PhaseAssignment& answer, const PhaseAssignment& back) {
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

}  // namespace weft::assign
