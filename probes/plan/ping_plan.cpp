#include "probes/plan/ping_plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

/// Labels over a set of paths where the peer did not answer: which one each took shows in what they lose.
constexpr std::ptrdiff_t kLabelsOverOneOfSome = 8;

/// The first label of each distinct way of a pair, in the order of the ways' ids; several where flows ended
/// and may have taken any of some paths.
std::vector<Route> routes_to_ping(const PathTable& table, const PairRoutes& pair) {
  std::map<PathSetId, std::vector<Route>> by_path;
  for (const Route& route : pair.routes) {
    std::vector<Route>& known = by_path[route.paths];
    const bool is_one = table.paths(route.paths).size() == 1;
    const auto alike = std::ranges::count(known, route.reached, &Route::reached);
    if (known.empty() || (!is_one && alike < (route.reached ? 1 : kLabelsOverOneOfSome)))
      known.push_back(route);
    else if (is_one && route.reached && !known.front().reached)
      known = {route};
  }
  std::vector<Route> routes;
  for (const auto& [path, known] : by_path) routes.insert(routes.end(), known.begin(), known.end());
  return routes;
}

template <class Visit>
void for_each_channel(const PathTable& table, const PlannedPing& ping, Visit visit) {
  for (const auto& ways : {std::optional(ping.path), ping.back}) {
    if (!ways) continue;
    for (const PathId path : table.paths(*ways))
      for (const ChannelId channel : table.channels(path)) visit(channel);
  }
}

bool crosses(const PathTable& table, const PlannedPing& ping, ChannelId wanted) {
  bool found = false;
  for_each_channel(table, ping, [&](ChannelId channel) { found |= channel == wanted; });
  return found;
}

/// The channels behind the last hop that answered, of routes whose peer never did.
std::set<ChannelId> dead_ends(const PathLearner& learner) {
  std::set<ChannelId> ends;
  for (const PairRoutes& pair : learner.pairs())
    for (const Route& route : pair.routes) {
      const auto paths = learner.table().paths(route.paths);
      if (route.reached || paths.size() != 1) continue;
      const auto path = learner.table().channels(paths[0]);
      if (route.answered_hops() < path.size()) ends.insert(path[route.answered_hops()]);
    }
  return ends;
}

/// A route that ended nobody knows where, while one of the ways it may have taken has a known end: it says
/// nothing new, and would throw suspicion on its other ways.
bool is_explained(const PathLearner& learner, const Route& route, const std::set<ChannelId>& ends) {
  const auto paths = learner.table().paths(route.paths);
  if (route.reached || paths.size() == 1) return false;
  return std::ranges::any_of(paths, [&](PathId path) {
    return std::ranges::any_of(learner.table().channels(path), [&](ChannelId c) { return ends.contains(c); });
  });
}

}  // namespace

std::vector<PlannedPing> plan_pings(const PathLearner& learner) {
  std::vector<PlannedPing> pings;
  const auto ends = dead_ends(learner);
  for (std::size_t p = 0; p < learner.pairs().size(); ++p) {
    const PairRoutes& there = learner.pairs()[p];
    const PairRoutes* reverse = learner.find(there.dst, there.src);
    auto back = reverse ? routes_to_ping(learner.table(), *reverse) : std::vector<Route>();
    std::erase_if(back, [](const Route& route) { return !route.reached; });
    std::size_t turn = p;  // so that pairs do not all combine the same ways
    for (const Route& route : routes_to_ping(learner.table(), there)) {
      if (is_explained(learner, route, ends)) continue;
      PlannedPing ping{{there.src, there.dst}, route.label, route.paths,
                       route.reached,          route.label, std::nullopt};
      if (!back.empty()) {
        const Route& answer = back[turn++ % back.size()];
        ping.back_label = answer.label;
        ping.back = answer.paths;
      }
      pings.push_back(ping);
    }
  }
  return pings;
}

std::vector<std::uint32_t> crossings(const Fabric& fabric, const PathTable& table,
                                     const std::vector<PlannedPing>& pings) {
  std::vector<std::uint32_t> count(fabric.channel_count(), 0);
  for (const PlannedPing& ping : pings)
    for_each_channel(table, ping, [&](ChannelId channel) { ++count[channel.value()]; });
  return count;
}

std::vector<PlannedPing> pings_over(const PathTable& table, const std::vector<PlannedPing>& all,
                                    ChannelId channel, const std::vector<ChannelId>& others,
                                    std::size_t most) {
  std::vector<PlannedPing> clean;
  std::vector<PlannedPing> mixed;
  for (const PlannedPing& ping : all) {
    if (!crosses(table, ping, channel)) continue;
    const bool crosses_others =
        std::ranges::any_of(others, [&](ChannelId c) { return c != channel && crosses(table, ping, c); });
    (crosses_others ? mixed : clean).push_back(ping);
  }
  std::vector<PlannedPing>& usable = clean.empty() ? mixed : clean;
  std::map<ChannelId, std::size_t> used;  // how often the chosen cross each channel
  std::vector<PlannedPing> chosen;
  while (chosen.size() < most && !usable.empty()) {
    const auto shared = [&](const PlannedPing& ping) {
      std::size_t n = 0;
      for_each_channel(table, ping, [&](ChannelId c) { n += used.contains(c) ? used[c] : 0; });
      return n;
    };
    const auto best = std::ranges::min_element(usable, {}, shared);
    for_each_channel(table, *best, [&](ChannelId c) { ++used[c]; });
    chosen.push_back(*best);
    usable.erase(best);
  }
  return chosen;
}

}  // namespace weft::plan
