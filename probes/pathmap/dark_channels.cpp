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

}  // namespace

std::vector<Sight> sights(const Fabric& fabric, PathLearner& learner) {
  std::vector<Sight> all(fabric.channel_count());
  for (const PairRoutes& pair : learner.pairs()) {
    ShortestPaths& way = learner.ways().to(edge_switch(fabric, pair.dst));
    for (const Route& route : pair.routes) {
      const auto paths = learner.table().paths(route.paths);
      if (paths.size() != 1) continue;
      const auto path = learner.table().channels(paths[0]);
      const auto end = walked(route, path);
      for (std::size_t i = 0; i < end; ++i) {
        ++all[path[i].value()].seen;
        if (i + 1 >= end) continue;  // the choice made at the last node that answered was not seen
        const auto choices = way.next(fabric.target_node(path[i]));
        if (choices.size() < 2) continue;
        const double missed = std::log1p(-1.0 / static_cast<double>(choices.size()));
        for (const ChannelId choice : choices) {
          ++all[choice.value()].chances;
          all[choice.value()].log_missed += missed;
        }
      }
    }
  }
  return all;
}

std::vector<AnsweredWay> answered_ways(const Fabric& fabric, PathLearner& learner) {
  std::map<std::pair<std::vector<ChannelId>, std::vector<ChannelId>>, std::uint32_t> answers;
  for (const PairRoutes& pair : learner.pairs()) {
    ShortestPaths& way = learner.ways().to(edge_switch(fabric, pair.src));
    for (const Route& route : pair.routes) {
      if (route.reached || route.answered_hops == 0) continue;
      const auto path = learner.table().channels(learner.table().paths(route.paths).front());
      const auto walked = path.first(std::min<std::size_t>(route.answered_hops, path.size()));
      const auto is_same = [&](PathId other) {
        return std::ranges::equal(learner.table().channels(other).first(walked.size()), walked);
      };
      if (!std::ranges::all_of(learner.table().paths(route.paths), is_same)) continue;
      ++answers[{{walked.begin(), walked.end()},
                 last_way(fabric, way, fabric.target_node(walked.back()), pair.src)}];
    }
  }
  std::vector<AnsweredWay> all;
  for (const auto& [ways, count] : answers) all.push_back({ways.first, ways.second, count});
  return all;
}

}  // namespace weft
