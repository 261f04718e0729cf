#include "probes/session/probes_beside.hpp"

#include <algorithm>

#include "probes/datapath/flow_trips.hpp"

namespace weft::session {
namespace {

constexpr double kMaxOfBytes = 0.01;  // of a flow: less than its rate scatters by

/// A label by which the echo takes these ways, or, absent, any known one.
const plan::Route* route_by(const plan::PairRoutes* routes, std::optional<PathSetId> ways) {
  if (routes == nullptr) return nullptr;
  const auto fits = [&](const plan::Route& route) {
    return route.reached && (!ways || route.paths == *ways);
  };
  const auto found = std::ranges::find_if(routes->routes, fits);
  return found == routes->routes.end() ? nullptr : &*found;
}

}  // namespace

void ProbesBeside::learn() {
  const auto& probes = results_->observations.probes;
  for (; learned_ < probes.size(); ++learned_) {
    const Observation& probe = probes[learned_];
    if (probe.rtt && probe.pair && probe.size == datapath::kTripProbe)
      idle_.try_emplace({probe.pair->src, probe.pair->dst, probe.path},
                        Idle{probe.pair->label, probe.back, *probe.rtt});
  }
}

std::optional<ProbesBeside::Echo> ProbesBeside::echo_of(const plan::PlannedFlow& flow) const {
  const plan::PairRoutes* routes = results_->learner.find(flow.pair.dst, flow.pair.src);
  const auto idle = idle_.find({flow.pair.src, flow.pair.dst, flow.path});
  if (idle != idle_.end() && idle->second.back)
    if (const plan::Route* route = route_by(routes, idle->second.back)) {
      // Labels of one path are alike; of a set of paths, each may take another.
      const PathTable& table = results_->learner.table();
      const auto is_one = [&](PathSetId ways) { return table.paths(ways).size() == 1; };
      const bool is_same = flow.label == idle->second.label || is_one(flow.path);
      if (is_same && is_one(route->paths)) return Echo{route->label, route->paths, idle->second.rtt};
    }
  const plan::Route* route = route_by(routes, std::nullopt);
  return route ? std::optional(Echo{route->label, route->paths, std::nullopt}) : std::nullopt;
}

std::optional<PathLabel> ProbesBeside::back_label(const plan::PlannedFlow& flow) const {
  const auto echo = echo_of(flow);
  return echo ? std::optional(echo->label) : std::nullopt;
}

std::optional<datapath::TripProbes> ProbesBeside::pace(const std::vector<datapath::FlowSpec>& specs,
                                                       BatchId batch) const {
  double flows = 0, of_each = in_->options.probes_beside_flows;
  for (const datapath::FlowSpec& spec : specs) {
    if (!spec.back_label) continue;
    ++flows;
    of_each = std::min(of_each, kMaxOfBytes * (spec.rate / Bandwidth::bit(8)) /
                                    static_cast<double>(datapath::kTripProbe.count()));
  }
  const double all = std::min(of_each * flows, in_->options.probes_per_second);
  if (all <= 0) return std::nullopt;
  return datapath::TripProbes{batch, all};
}

void ProbesBeside::take(const plan::PlannedFlow& flow, std::uint32_t round,
                        const datapath::TripTally& tally) {
  const auto echo = echo_of(flow);
  if (!echo || tally.sent == 0) return;
  results_->loaded_trips.push_back({.round = round,
                                    .pair = {flow.pair.src, flow.pair.dst, flow.label},
                                    .back_label = echo->label,
                                    .path = flow.path,
                                    .back = echo->path,
                                    .size = datapath::kTripProbe,
                                    .sent = tally.sent,
                                    .answered = tally.answered,
                                    .loaded = tally.rtt,
                                    .idle = echo->idle});
}

}  // namespace weft::session
