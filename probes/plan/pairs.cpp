#include "probes/plan/pairs.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "topology/model/fabric.hpp"
#include "topology/routing/shortest_paths.hpp"

namespace weft::plan {
namespace {

/// A sweep of so many pairs of a lab or a small cluster is done in seconds.
constexpr std::uint64_t kMaxSmallPairs = 4096;
/// With one partner, a NIC's cable cannot be told from its partner's.
constexpr std::uint64_t kMinSmallPartners = 2;
constexpr std::uint64_t kPartnersOnOneSwitch = 3;

using EdgeGroups = std::vector<std::vector<PortId>>;

EdgeGroups nics_by_edge_switch(const Fabric& fabric, const std::vector<PortId>& without) {
  const std::unordered_set<PortId> left_out(without.begin(), without.end());
  std::map<NodeId, std::vector<PortId>> by_switch;
  for (const PortId nic : fabric.nics())
    if (!left_out.contains(nic) && !fabric.is_host(routing::edge_switch(fabric, nic)))
      by_switch[routing::edge_switch(fabric, nic)].push_back(nic);
  EdgeGroups groups;
  for (auto& [node, nics] : by_switch) groups.push_back(std::move(nics));
  return groups;
}

void add_both_ways(std::vector<NicPair>& pairs, PortId a, PortId b) {
  if (a == b) return;
  pairs.push_back({a, b});
  pairs.push_back({b, a});
}

/// Each NIC and the next ones of other hosts, in a ring.
void pair_within(const Fabric& fabric, std::vector<NicPair>& pairs, const std::vector<PortId>& nics,
                 std::uint32_t partners) {
  for (std::size_t j = 0; j < nics.size(); ++j) {
    std::uint32_t found = 0;
    for (std::size_t r = 1; r < nics.size() && found < partners; ++r) {
      const PortId other = nics[(j + r) % nics.size()];
      if (fabric.port(other).node == fabric.port(nics[j]).node) continue;
      add_both_ways(pairs, nics[j], other);
      ++found;
    }
  }
}

}  // namespace

std::vector<NicPair> choose_pairs(const Fabric& fabric, std::uint32_t partners,
                                  const std::vector<PortId>& without) {
  const EdgeGroups groups = nics_by_edge_switch(fabric, without);
  std::vector<NicPair> pairs;
  for (const auto& nics : groups) pair_within(fabric, pairs, nics, groups.size() == 1 ? partners : 1);
  const std::size_t others = groups.size() - 1;
  constexpr double kGoldenRatio = 0.6180339887498949;  // spreads the phases of the groups evenly (Weyl)
  for (std::size_t g = 0; groups.size() > 1 && g < groups.size(); ++g) {
    const std::size_t wanted = groups[g].size() * partners;
    const double phase = std::fmod(static_cast<double>(g) * kGoldenRatio, 1.0);
    for (std::size_t k = 0; k < wanted; ++k) {
      const std::size_t j = k / partners;
      const double spread =
          (static_cast<double>(k) + phase) * static_cast<double>(others) / static_cast<double>(wanted);
      const std::size_t offset = wanted >= others ? k % others : static_cast<std::size_t>(spread) % others;
      const auto& far = groups[(g + 1 + offset) % groups.size()];
      const std::size_t lap = k % partners / others;  // of a NIC with more partners than there are groups
      add_both_ways(pairs, groups[g][j], far[(j + lap) % far.size()]);
    }
  }
  std::ranges::sort(pairs);
  pairs.erase(std::ranges::unique(pairs).begin(), pairs.end());
  return pairs;
}

std::uint32_t default_partners(const Fabric& fabric, const std::vector<PortId>& without) {
  const auto groups = nics_by_edge_switch(fabric, without);
  if (groups.empty()) return 1;
  std::uint64_t nics = 0;
  for (const auto& group : groups) nics += group.size();
  const std::uint64_t all =
      groups.size() == 1 ? kPartnersOnOneSwitch : std::max(groups.size() - 1, kMinSmallPartners);
  const std::uint64_t affordable = kMaxSmallPairs / nics;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(affordable, 1, all));
}

}  // namespace weft::plan
