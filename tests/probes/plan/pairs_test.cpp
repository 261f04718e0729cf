#include "probes/plan/pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "topology/model/clos.hpp"
#include "topology/routing/shortest_paths.hpp"

namespace weft::plan {
namespace {

std::set<std::pair<NodeId, NodeId>> edge_switch_pairs(const Fabric& fabric,
                                                      const std::vector<NicPair>& pairs) {
  std::set<std::pair<NodeId, NodeId>> seen;
  for (const NicPair& pair : pairs)
    seen.emplace(routing::edge_switch(fabric, pair.src), routing::edge_switch(fabric, pair.dst));
  return seen;
}

TEST(Pairs, OfASmallFabricJoinEveryTwoLeavesInBothDirections) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const auto pairs = choose_pairs(fabric, default_partners(fabric));
  EXPECT_EQ(pairs.size(), 48u + 32u);  // and each NIC with its neighbours on its leaf
  EXPECT_EQ(edge_switch_pairs(fabric, pairs).size(), 12u + 4u);
}

TEST(Pairs, OfTwoLeavesGiveEveryNicTwoPartnersSoThatItsCableStandsOut) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 3});
  std::map<PortId, std::set<PortId>> partners;
  for (const NicPair& pair : choose_pairs(fabric, default_partners(fabric)))
    partners[pair.src].insert(pair.dst);
  for (const PortId nic : fabric.nics()) EXPECT_GE(partners[nic].size(), 2u);
}

TEST(Pairs, EachHasItsReverseAndNeverTheSameHost) {
  const auto fabric = *make_pod_clos({.pods = 4, .leaves = 3, .spines = 2, .cores = 4, .hosts_per_leaf = 5});
  const auto pairs = choose_pairs(fabric, 1);
  for (const NicPair& pair : pairs) {
    EXPECT_TRUE(std::ranges::binary_search(pairs, NicPair{pair.dst, pair.src}));
    EXPECT_NE(fabric.port(pair.src).node, fabric.port(pair.dst).node);
  }
}

TEST(Pairs, OfALargeFabricReachEveryNicAndEveryPodWithFewPartners) {
  const auto fabric =
      *make_pod_clos({.pods = 8, .leaves = 16, .spines = 4, .cores = 16, .hosts_per_leaf = 8});
  const auto pairs = choose_pairs(fabric, 1);
  std::set<PortId> sources;
  std::set<std::pair<std::uint32_t, std::uint32_t>> pods;
  for (const NicPair& pair : pairs) {
    sources.insert(pair.src);
    pods.emplace(*fabric.node(routing::edge_switch(fabric, pair.src)).pod,
                 *fabric.node(routing::edge_switch(fabric, pair.dst)).pod);
  }
  EXPECT_EQ(sources.size(), fabric.nics().size());
  EXPECT_EQ(pods.size(), 64u);
  EXPECT_LE(pairs.size(), 4 * fabric.nics().size());
}

TEST(Pairs, OnASingleSwitchAreItsOwnHosts) {
  const auto fabric = *make_clos({.leaves = 1, .spines = 1, .hosts_per_leaf = 3});
  EXPECT_EQ(choose_pairs(fabric, default_partners(fabric)).size(), 6u);
}

TEST(Pairs, LeaveOutTheNicsTheyAreTold) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const PortId out = *fabric.find_nic("host1");
  for (const NicPair& pair : choose_pairs(fabric, 2, {out})) {
    EXPECT_NE(pair.src, out);
    EXPECT_NE(pair.dst, out);
  }
}

TEST(Pairs, OfNoNicsAreNone) {
  const auto fabric = *make_clos({.leaves = 1, .spines = 1, .hosts_per_leaf = 1});
  EXPECT_TRUE(choose_pairs(fabric, 1).empty());
  EXPECT_TRUE(choose_pairs(fabric, 1, {*fabric.find_nic("host1")}).empty());
}

}  // namespace
}  // namespace weft::plan
