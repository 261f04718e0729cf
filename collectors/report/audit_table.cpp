#include "collectors/report/audit_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "collectors/report/path_table.hpp"

namespace weft {
namespace {

std::string path_rows(const Fabric& fabric, const PathTable& table,
                      const std::map<PathSetId, std::size_t>& users, std::size_t all) {
  std::string text;
  for (const auto& [set, count] : users) {
    const auto paths = table.paths(set);
    if (paths.size() > 1) text += fmt::format("one of {} paths:\n", paths.size());
    for (const PathId path : paths)
      text += fmt::format("  {:>4} queue pair{} {}\n", count, count == 1 ? " " : "s",
                          path_chain(fabric, table.channels(path)));
  }
  const auto busiest = std::ranges::max_element(users, {}, [](const auto& user) { return user.second; });
  return text + fmt::format("the busiest path carries {}; spread evenly it would be {:.1f}\n",
                            busiest->second, static_cast<double>(all) / static_cast<double>(users.size()));
}

}  // namespace

std::string audit_table(const Fabric& fabric, const PathLearner& learner,
                        const std::vector<PathLabel>& chosen) {
  if (chosen.empty()) return "no queue pair told which port it uses\n";
  const std::set<PathLabel> ports(chosen.begin(), chosen.end());
  std::string text = fmt::format("{} queue pair{} with default settings use {} port{}\n", chosen.size(),
                                 chosen.size() == 1 ? "" : "s", ports.size(), ports.size() == 1 ? "" : "s");
  for (const PairRoutes& pair : learner.pairs()) {
    std::map<PathSetId, std::size_t> users;
    for (const Route& route : pair.routes)
      users[route.paths] += static_cast<std::size_t>(std::ranges::count(chosen, route.label));
    if (!users.empty()) text += path_rows(fabric, learner.table(), users, chosen.size());
  }
  return text;
}

}  // namespace weft
