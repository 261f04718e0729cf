#include "balancer/assign/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::assign {
namespace {

constexpr double kTiny = 1e-9;  // relative: what the rounding of doubles may cost
constexpr double kInfinite = std::numeric_limits<double>::infinity();

double whole(double quanta) { return std::floor(quanta * (1 + kTiny) + kTiny); }

double sum_whole(const std::vector<double>& weights, double t) {
  double sum = 0;
  for (const double w : weights) sum += whole(t * w);
  return sum;
}

double sum_of(const std::vector<double>& weights) {
  double sum = 0;
  for (const double w : weights) sum += w;
  return sum;
}

/// The next time after t at which one of the channels holds one more quantum.
double next_step(const std::vector<double>& weights, double t) {
  double next = kInfinite;
  for (const double w : weights)
    if (w > 0) next = std::min(next, (whole(t * w) + 1) / w);
  return next;
}

/// Capacity between two leaves, cut at every stage of the routes over each of the near leaf's spines.
class PairCut {
 public:
  PairCut(const std::vector<SwitchRoute>& routes, const std::vector<double>& weight) {
    std::vector<std::pair<std::uint32_t, const SwitchRoute*>> sorted;
    for (const SwitchRoute& route : routes) sorted.emplace_back(route.channels()[0].value(), &route);
    std::ranges::stable_sort(sorted, {}, &std::pair<std::uint32_t, const SwitchRoute*>::first);
    for (std::size_t i = 0; i < sorted.size();) {
      std::size_t end = i;
      while (end < sorted.size() && sorted[end].first == sorted[i].first) ++end;
      add_group(std::span(sorted).subspan(i, end - i), weight);
      i = end;
    }
  }

  double least_time(double n) const {
    double t = n / std::max(capacity(), kTiny);
    while (quanta(t) < n) {
      double next = kInfinite;
      for (const auto& group : groups_)
        for (const auto& stage : group) next = std::min(next, next_step(stage, t));
      if (next == kInfinite) return kInfinite;
      t = next;
    }
    return t;
  }
  double capacity() const {
    return total([](const std::vector<double>& stage) { return sum_of(stage); });
  }

 private:
  using Stages = std::vector<std::vector<double>>;

  void add_group(std::span<const std::pair<std::uint32_t, const SwitchRoute*>> routes,
                 const std::vector<double>& weight) {
    Stages stages(routes.front().second->size());
    for (std::size_t k = 0; k < stages.size(); ++k) {
      std::vector<std::uint32_t> channels;
      for (const auto& [first, route] : routes)
        if (k < route->size()) channels.push_back(route->channels()[k].value());
      std::ranges::sort(channels);
      channels.erase(std::ranges::unique(channels).begin(), channels.end());
      for (const std::uint32_t c : channels) stages[k].push_back(weight[c]);
    }
    groups_.push_back(std::move(stages));
  }

  double quanta(double t) const {
    return total([t](const std::vector<double>& stage) { return sum_whole(stage, t); });
  }

  template <class Of>
  double total(Of of) const {
    double sum = 0;
    for (const Stages& group : groups_) {
      double least = kInfinite;
      for (const auto& stage : group) least = std::min(least, of(stage));
      sum += least;
    }
    return sum;
  }

  std::vector<Stages> groups_;  // by first channel
};

class BoundsMaker {
 public:
  BoundsMaker(const Instance& instance, const Routes& routes) : in_(instance), routes_(routes) {}

  Bounds make(bool regular) && {
    count();
    bounds_.leaf_out.resize(routes_.leaf_count());
    bounds_.leaf_in.resize(routes_.leaf_count());
    for (std::uint32_t l = 0; l < routes_.leaf_count(); ++l) {
      bounds_.leaf_out[l] = channels_hold(routes_.uplinks(LeafId(l)), leaf_out_[l]);
      bounds_.leaf_in[l] = channels_hold(routes_.downlinks(LeafId(l)), leaf_in_[l]);
    }
    for (std::uint32_t p = 0; p < routes_.pod_count(); ++p) {
      raise(channels_hold(routes_.core_uplinks(p), pod_out_[p]));
      raise(channels_hold(routes_.core_downlinks(p), pod_in_[p]));
    }
    if (!regular) bound_pairs();
    for (const double own : bounds_.leaf_out) raise(own);
    for (const double own : bounds_.leaf_in) raise(own);
    if (!in_.equal) raise_to_greatest_item();
    return std::move(bounds_);
  }

 private:
  struct Demanded {
    double flows = 0;
    double bytes = 0;
    void add(const FlowGroup& group) {
      flows += group.flows;
      bytes += group.bytes;
    }
  };

  void count() {
    leaf_out_.resize(routes_.leaf_count());
    leaf_in_.resize(routes_.leaf_count());
    pod_out_.resize(routes_.pod_count());
    pod_in_.resize(routes_.pod_count());
    for (const FlowGroup& group : in_.groups) {
      leaf_out_[group.from.value()].add(group);
      leaf_in_[group.to.value()].add(group);
      if (routes_.pod_of(group.from) == routes_.pod_of(group.to)) continue;
      pod_out_[routes_.pod_of(group.from)].add(group);
      pod_in_[routes_.pod_of(group.to)].add(group);
    }
  }

  void raise(double own) {
    if (std::isfinite(own)) bounds_.integral = std::max(bounds_.integral, own);
  }

  double quanta(const Demanded& demanded) const { return demanded.flows * in_.qps; }

  /// The integral bound of `demanded` over parallel channels, in bytes; raises the fractional bound.
  double channels_hold(std::span<const ChannelId> channels, const Demanded& demanded) {
    if (demanded.bytes <= 0) return 0;
    std::vector<double> weights;
    for (const ChannelId channel : channels) weights.push_back(in_.weight[channel.value()]);
    const double capacity = sum_of(weights);
    if (capacity <= 0) return 0;
    const double fractional = demanded.bytes / capacity;
    bounds_.fractional = std::max(bounds_.fractional, fractional);
    return in_.equal ? least_time(weights, quanta(demanded)) * in_.quantum : fractional;
  }

  void bound_pairs() {
    stamp_.assign(in_.weight.size(), 0);
    for (const FlowGroup& group : in_.groups) {
      if (group.flows == 0) continue;
      double& out = bounds_.leaf_out[group.from.value()];
      double& in = bounds_.leaf_in[group.to.value()];
      if (disjoint_routes_hold(group, std::min(out, in))) continue;
      const PairCut cut(group.routes, in_.weight);
      const double fractional = group.bytes / cut.capacity();
      bounds_.fractional = std::max(bounds_.fractional, fractional);
      const double own =
          in_.equal ? cut.least_time(static_cast<double>(group.flows) * in_.qps) * in_.quantum : fractional;
      out = std::max(out, own);
      in = std::max(in, own);
    }
  }

  /// Whether routes that share no channel carry the whole group within `bytes`: most pairs, quickly told.
  bool disjoint_routes_hold(const FlowGroup& group, double bytes) {
    ++epoch_;
    double quanta_held = 0;
    double bytes_held = 0;
    for (const SwitchRoute& route : group.routes) {
      double least = kInfinite;
      bool fresh = true;
      for (const ChannelId channel : route.channels()) {
        fresh = fresh && stamp_[channel.value()] != epoch_;
        least = std::min(least, in_.weight[channel.value()]);
      }
      if (!fresh) continue;
      for (const ChannelId channel : route.channels()) stamp_[channel.value()] = epoch_;
      bytes_held += bytes * least;
      if (in_.equal) quanta_held += whole(bytes / in_.quantum * least);
      if (bytes_held >= group.bytes && (!in_.equal || quanta_held >= group.flows * double{1} * in_.qps))
        return true;
    }
    return false;
  }

  void raise_to_greatest_item() {
    double fastest = 0;
    for (const FlowGroup& group : in_.groups)
      for (const SwitchRoute& route : group.routes)
        for (const ChannelId channel : route.channels())
          fastest = std::max(fastest, in_.weight[channel.value()]);
    raise(in_.quantum / (fastest > 0 ? fastest : 1.0));
  }

  const Instance& in_;
  const Routes& routes_;
  Bounds bounds_;
  std::vector<Demanded> leaf_out_, leaf_in_, pod_out_, pod_in_;
  std::vector<std::uint32_t> stamp_;  // per channel: the epoch that used it
  std::uint32_t epoch_ = 0;
};

}  // namespace

double least_time(const std::vector<double>& weights, double n) {
  if (n <= 0) return 0;
  const double capacity = sum_of(weights);
  if (capacity <= 0) return kInfinite;
  double t = n / capacity;
  while (sum_whole(weights, t) < n) t = next_step(weights, t);
  return t;
}

Bounds bounds_of(const Instance& instance, const Routes& routes, bool regular) {
  return BoundsMaker(instance, routes).make(regular);
}

}  // namespace weft::assign
