#include "probes/plan/even_labels.hpp"

#include <map>

namespace weft {

std::vector<PathLabel> even_labels(const PathTable& table, const PairRoutes& pair, std::size_t count) {
  std::map<PathSetId, std::vector<PathLabel>> by_path;
  for (const Route& route : pair.routes)
    if (route.reached && table.paths(route.paths).size() == 1) by_path[route.paths].push_back(route.label);
  std::vector<PathLabel> chosen;
  for (std::size_t turn = 0; !by_path.empty() && chosen.size() < count; ++turn)
    for (const auto& [path, labels] : by_path)
      if (chosen.size() < count) chosen.push_back(labels[turn % labels.size()]);
  return chosen;
}

}  // namespace weft
