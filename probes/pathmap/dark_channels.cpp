#include "probes/pathmap/dark_channels.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace weft {
namespace {

/// Up to where a path was really walked: the hops that answered, all of it when the peer did.
std::size_t walked(const Route& route, std::span<const ChannelId> path) {
  return route.reached ? path.size() : std::min<std::size_t>(route.answered_hops, path.size());
}

/// The end of the way that every answer from `node` to `nic` takes: all of it where there is no choice.
std::vector<ChannelId> last_way(const Fabric& fabric, ShortestPaths& way, NodeId node, PortId nic) {
  std::vector<ChannelId> channels;
  for (auto next = way.next(node); next.size() == 1; next = way.next(fabric.target_node(next.front())))
    channels.push_back(next.front());
  const NodeId end = channels.empty() ? node : fabric.target_node(channels.back());
  if (end != edge_switch(fabric, nic)) channels.clear();
  channels.push_back(*fabric.channel_into(nic));
  return channels;
}

/// The part of a way from the first channel of which `wanted` holds to the last.
template <class Wanted>
std::vector<ChannelId> from_first_to_last(std::span<const ChannelId> way, Wanted wanted) {
  const auto first = std::ranges::find_if(way, wanted);
  const auto last = std::find_if(way.rbegin(), way.rend(), wanted).base();
  return first < last ? std::vector<ChannelId>(first, last) : std::vector<ChannelId>();
}

}  // namespace

double Sight::log_missed() const {
  const double n = chances, m = ended, p = expected / std::max(n, 1.0);
  if (chances == 0 || m >= expected) return 0;
  const double few = m > 0 ? m * std::log(m / (n * p)) : 0.0;
  return p < 1 ? -few - (n - m) * std::log((1 - m / n) / (1 - p)) : -1e3;
}

std::vector<Sight> sights(const Fabric& fabric, PathLearner& learner) {
  std::vector<Sight> all(fabric.channel_count());
  for (const PairRoutes& pair : learner.pairs()) {
    ShortestPaths& way = learner.ways().to(edge_switch(fabric, pair.dst));
    for (const Route& route : pair.routes) {
      const auto path = learner.table().channels(learner.table().paths(route.paths).front());
      const auto end = walked(route, path);
      if (!learner.table().share_start(route.paths, end)) continue;
      for (std::size_t i = 0; i < end; ++i) {
        ++all[path[i].value()].seen;
        const NodeId here = fabric.target_node(path[i]);
        const auto choices = fabric.is_host(here) ? std::span<const ChannelId>() : way.next(here);
        if (choices.size() < 2) continue;
        for (const ChannelId choice : choices) {
          Sight& sight = all[choice.value()];
          ++sight.chances;
          sight.expected += 1.0 / static_cast<double>(choices.size());
          if (i + 1 >= end) ++sight.ended;
        }
      }
    }
  }
  return all;
}

std::vector<AnsweredWay> answered_ways(const Fabric& fabric, PathLearner& learner) {
  const PathTable& table = learner.table();
  std::vector<bool> is_known(fabric.channel_count(), false);
  for (const PairRoutes& pair : learner.pairs())
    for (const Route& route : pair.routes)
      if (const auto paths = table.paths(route.paths); route.reached && paths.size() == 1)
        for (const ChannelId channel : table.channels(paths[0])) is_known[channel.value()] = true;
  const auto is_open = [&](ChannelId channel) { return !is_known[channel.value()]; };
  using Ways = std::pair<std::vector<ChannelId>, std::vector<ChannelId>>;
  std::map<Ways, std::uint32_t> answered;
  for (const PairRoutes& pair : learner.pairs()) {
    ShortestPaths& way = learner.ways().to(edge_switch(fabric, pair.src));
    for (const Route& route : pair.routes) {
      const auto paths = table.paths(route.paths);
      const auto path = table.channels(paths[0]);
      for (std::size_t hop = 1; hop <= path.size(); ++hop) {
        if ((route.answered >> (hop - 1) & 1) == 0 || !table.share_start(route.paths, hop)) continue;
        const auto out = path.first(hop);
        const auto back = last_way(fabric, way, fabric.target_node(out.back()), pair.src);
        Ways open{from_first_to_last(out, is_open), from_first_to_last(back, is_open)};
        if (!open.first.empty() || !open.second.empty()) ++answered[std::move(open)];
      }
    }
  }
  std::vector<AnsweredWay> all;
  for (const auto& [ways, answers] : answered) all.push_back({ways.first, ways.second, answers});
  return all;
}

}  // namespace weft
