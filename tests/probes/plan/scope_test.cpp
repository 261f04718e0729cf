#include "probes/plan/scope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "topology/model/clos.hpp"
#include "topology/routing/ecmp_routing.hpp"

namespace weft::plan {
namespace {

using ::testing::UnorderedElementsAre;

std::vector<PortId> nics_of(const Fabric& fabric, const std::vector<std::string>& hosts) {
  std::vector<PortId> nics;
  for (const std::string& host : hosts)
    for (const PortId nic : fabric.nics())
      if (fabric.port(nic).node == *fabric.find_node(host)) nics.push_back(nic);
  return nics;
}

std::set<std::string> names_in(const Fabric& fabric, const std::vector<bool>& scope) {
  std::set<std::string> names;
  for (std::uint32_t c = 0; c < scope.size(); ++c)
    if (scope[c]) names.insert(fabric.name_of(ChannelId(c)));
  return names;
}

TEST(Scope, OfTwoHostsUnderOneLeafIsTheirCables) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  EXPECT_THAT(names_in(fabric, channels_in_scope(fabric, nics_of(fabric, {"host1", "host2"}))),
              UnorderedElementsAre("host1->leaf1", "leaf1->host1", "host2->leaf1", "leaf1->host2"));
}

TEST(Scope, OfTwoHostsUnderTwoLeavesIsWhatLiesBetweenThem) {
  const auto fabric = *make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 2});
  EXPECT_THAT(names_in(fabric, channels_in_scope(fabric, nics_of(fabric, {"host1", "host3"}))),
              UnorderedElementsAre("host1->leaf1", "leaf1->host1", "host3->leaf2", "leaf2->host3",
                                   "leaf1->spine1", "spine1->leaf1", "leaf1->spine2", "spine2->leaf1",
                                   "leaf2->spine1", "spine1->leaf2", "leaf2->spine2", "spine2->leaf2"));
}

TEST(Scope, OfHostsInOnePodLeavesTheCoresOut) {
  const auto fabric = *make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 1});
  for (const auto& name : names_in(fabric, channels_in_scope(fabric, nics_of(fabric, {"host1", "host2"}))))
    EXPECT_EQ(name.find("core"), std::string::npos) << name;
}

TEST(Scope, OfAllHostsIsTheWholeFabric) {
  for (const auto& fabric :
       {*make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 2}),
        *make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 2}),
        *make_rails({.groups = 2, .hosts_per_group = 2, .rails = 2, .spines = 2})}) {
    const auto scope = channels_in_scope(fabric, fabric.nics());
    EXPECT_TRUE(std::ranges::all_of(scope, [](bool in) { return in; })) << fabric.name();
  }
}

TEST(Scope, OfOneNicIsNothing) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  EXPECT_TRUE(names_in(fabric, channels_in_scope(fabric, nics_of(fabric, {"host1"}))).empty());
}

TEST(Scope, IsWhatEcmpTakesOverManyLabels) {
  const auto fabric = *make_pod_clos({.pods = 3, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 3});
  const routing::EcmpRouting routing(fabric, {});
  std::mt19937 random(1);
  for (int draw = 0; draw < 20; ++draw) {
    std::vector<PortId> nics(fabric.nics().begin(), fabric.nics().end());
    std::ranges::shuffle(nics, random);
    nics.resize(2 + random() % 5);
    std::vector<bool> taken(fabric.channel_count(), false);
    std::vector<ChannelId> path;
    for (const PortId src : nics)
      for (const PortId dst : nics)
        for (std::uint32_t label = 0; src != dst && label < 512; ++label) {
          ASSERT_TRUE(routing.path_of(src, dst, PathLabel(49152 + label), path));
          for (const ChannelId channel : path) taken[channel.value()] = true;
        }
    const auto scope = channels_in_scope(fabric, nics);
    EXPECT_EQ(names_in(fabric, scope), names_in(fabric, taken)) << draw;
  }
}

}  // namespace
}  // namespace weft::plan
