#include "probes/pathmap/dark_channels.hpp"

#include <cmath>

namespace weft {
namespace {

/// Up to where a path was really walked: the hops that answered, all of it when the peer did.
std::size_t walked(const Route& route, std::span<const ChannelId> path) {
  return route.reached ? path.size() : std::min<std::size_t>(route.answered_hops, path.size());
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

}  // namespace weft
