#include "probes/plan/trace_evidence.hpp"

#include <algorithm>
#include <cmath>

#include "topology/model/fabric.hpp"

namespace weft::plan {
namespace {

/// Up to where a path was really walked: the hops that answered, all of it when the peer did.
std::size_t walked(const Route& route, std::span<const ChannelId> path) {
  return route.reached ? path.size() : std::min(route.answered_hops(), path.size());
}

/// The end of the way that every answer from `node` to `nic` takes: all of it where there is no choice.
std::vector<ChannelId> last_way(const Fabric& fabric, routing::ShortestPaths& way, NodeId node, PortId nic) {
  std::vector<ChannelId> channels;
  for (auto next = way.next(node); next.size() == 1; next = way.next(fabric.target_node(next.front())))
    channels.push_back(next.front());
  const NodeId end = channels.empty() ? node : fabric.target_node(channels.back());
  if (end != routing::edge_switch(fabric, nic)) channels.clear();
  channels.push_back(*fabric.channel_into(nic));
  return channels;
}

}  // namespace

double Sight::log_missed() const {
  const double n = chances, m = ended, p = expected / std::max(n, 1.0);
  if (chances == 0 || m >= expected) return 0;
  const double few = m > 0 ? m * std::log(m / (n * p)) : 0.0;
  return p < 1 ? -few - (n - m) * std::log((1 - m / n) / (1 - p)) : -1e3;
}

std::vector<Sight> sights(const Fabric& fabric, PathLearner& learner) {
  const PathTable& table = learner.table();
  std::vector<Sight> all(fabric.channel_count());
  for (const PairRoutes& pair : learner.pairs()) {
    routing::ShortestPaths& way = learner.ways().to(routing::edge_switch(fabric, pair.dst));
    for (const Route& route : pair.routes) {
      const auto paths = table.paths(route.paths);
      const auto path = table.channels(paths[0]);
      const auto end = walked(route, path);
      std::size_t known = end;
      while (!table.share_start(route.paths, known)) --known;
      for (std::size_t i = 0; i < known; ++i) {
        ++all[path[i].value()].seen;
        const NodeId here = fabric.target_node(path[i]);
        const auto choices = fabric.is_host(here) ? std::span<const ChannelId>() : way.next(here);
        if (choices.size() < 2) continue;
        const auto may_have_taken = [&](ChannelId choice) {
          return i + 1 == end ||
                 std::ranges::any_of(paths, [&](PathId p) { return table.channels(p)[i + 1] == choice; });
        };
        for (const ChannelId choice : choices) {
          Sight& sight = all[choice.value()];
          ++sight.chances;
          sight.expected += 1.0 / static_cast<double>(choices.size());
          if (i + 1 == known && may_have_taken(choice)) ++sight.ended;
        }
      }
    }
  }
  return all;
}

std::vector<Answers> answers_over(const Fabric& fabric, PathLearner& learner) {
  const PathTable& table = learner.table();
  std::vector<bool> is_told(fabric.channel_count(), false);
  std::vector<Answers> all(fabric.channel_count());
  std::vector<std::uint32_t> passed_in(fabric.channel_count(), 0);  // the route, from 1 on
  std::uint32_t route_number = 0;
  for (const PairRoutes& pair : learner.pairs()) {
    routing::ShortestPaths& way = learner.ways().to(routing::edge_switch(fabric, pair.src));
    for (const Route& route : pair.routes) {
      ++route_number;
      const auto paths = table.paths(route.paths);
      const auto path = table.channels(paths[0]);
      if (route.reached && paths.size() == 1)
        for (const ChannelId channel : path) is_told[channel.value()] = true;
      for (std::size_t hop = 1; hop < path.size(); ++hop) {
        if (!table.share_start(route.paths, hop)) break;
        const bool answered = route.answered >> (hop - 1) & 1;
        const auto note = [&](ChannelId channel) {
          if (passed_in[channel.value()] == route_number) return;
          ++all[channel.value()].asked;
          if (!answered) return;
          ++all[channel.value()].came;
          passed_in[channel.value()] = route_number;
        };
        std::ranges::for_each(path.first(hop), note);
        std::ranges::for_each(last_way(fabric, way, fabric.target_node(path[hop - 1]), pair.src), note);
      }
    }
  }
  for (std::uint32_t c = 0; c < all.size(); ++c)
    if (is_told[c]) all[c] = {};
  return all;
}

}  // namespace weft::plan
