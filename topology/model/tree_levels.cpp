#include "topology/model/tree_levels.hpp"

#include <algorithm>

namespace weft {
namespace {

// A leaf that it stands above has this many times its hosts. Between switches that are leaves (a torus, a
// Dragonfly) hosts are spread evenly.
constexpr std::size_t kMinTimesHosts = 4;

std::size_t hosts_at(const CabledNodes& nodes, std::uint32_t node) {
  return static_cast<std::size_t>(
      std::ranges::count_if(nodes.neighbours[node], [&](std::uint32_t n) { return nodes.is_host[n]; }));
}

/// The switches that hosts are at, but those whose every neighbour with hosts has many more.
std::vector<std::uint32_t> leaves_of(const CabledNodes& nodes) {
  std::vector<std::size_t> hosts(nodes.is_host.size(), 0);
  for (std::uint32_t n = 0; n < hosts.size(); ++n)
    if (!nodes.is_host[n]) hosts[n] = hosts_at(nodes, n);
  std::vector<std::uint32_t> leaves;
  for (std::uint32_t n = 0; n < hosts.size(); ++n) {
    if (hosts[n] == 0) continue;
    std::size_t fewest = 0;  // at a switch beside it; 0: none beside it has any
    for (const std::uint32_t near : nodes.neighbours[n])
      if (hosts[near] > 0) fewest = fewest == 0 ? hosts[near] : std::min(fewest, hosts[near]);
    if (fewest < kMinTimesHosts * hosts[n]) leaves.push_back(n);
  }
  return leaves;
}

}  // namespace

std::vector<unsigned> tree_levels(const CabledNodes& nodes) {
  std::vector<unsigned> level(nodes.is_host.size(), 0);
  auto frontier = leaves_of(nodes);
  for (const std::uint32_t leaf : frontier) level[leaf] = 1;
  for (unsigned step = 2; !frontier.empty(); ++step) {
    std::vector<std::uint32_t> further;
    for (const std::uint32_t node : frontier)
      for (const std::uint32_t next : nodes.neighbours[node])
        if (!nodes.is_host[next] && level[next] == 0) {
          level[next] = step;
          further.push_back(next);
        }
    frontier = std::move(further);
  }
  return level;
}

}  // namespace weft
