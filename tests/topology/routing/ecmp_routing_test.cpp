#include "topology/routing/ecmp_routing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "topology/model/clos.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::routing {
namespace {

using Channels = std::vector<ChannelId>;

std::string text(const Fabric& fabric, const Channels& path) {
  std::string names;
  for (const auto channel : path) names += fabric.name_of(channel) + " ";
  return names;
}

/// Every shortest path over live cables, found by walking all of them: switches only between the ends.
std::set<Channels> shortest_paths(const Fabric& fabric, PortId src, PortId dst,
                                  const std::set<LinkId>& dead) {
  std::vector<Channels> ways{{*fabric.channel_from(src)}};
  if (dead.contains(Fabric::link_of(ways[0][0]))) return {};
  for (std::size_t length = 1; length <= fabric.node_count() && !ways.empty(); ++length) {
    std::set<Channels> arrived;
    std::vector<Channels> longer;
    for (const auto& way : ways) {
      if (fabric.target(way.back()) == dst) arrived.insert(way);
      const NodeId at = fabric.target_node(way.back());
      if (fabric.is_host(at)) continue;
      for (const PortId port : fabric.ports_of(at)) {
        const auto next = fabric.channel_from(port);
        const auto seen = [&](ChannelId c) {
          return next && !fabric.is_host(fabric.target_node(*next)) &&
                 fabric.source_node(c) == fabric.target_node(*next);
        };
        if (!next || dead.contains(Fabric::link_of(*next)) || std::ranges::any_of(way, seen)) continue;
        longer.push_back(way);
        longer.back().push_back(*next);
      }
    }
    if (!arrived.empty()) return arrived;
    ways = std::move(longer);
  }
  return {};
}

/// All paths that labels of a range select.
std::set<Channels> selected_paths(const EcmpRouting& routing, PortId src, PortId dst, std::uint32_t labels) {
  std::set<Channels> found;
  Channels path;
  for (std::uint32_t label = 0; label < labels; ++label)
    if (routing.path_of(src, dst, PathLabel(49152 + label), path)) found.insert(path);
  return found;
}

void expect_exactly_the_shortest_paths(const Fabric& fabric, const std::vector<LinkId>& dead,
                                       std::uint64_t seed) {
  const EcmpRouting routing(fabric, {.seed = seed, .dead = dead});
  const std::set<LinkId> dead_set(dead.begin(), dead.end());
  for (const PortId src : fabric.nics())
    for (const PortId dst : fabric.nics()) {
      if (src == dst) continue;
      const auto expected = shortest_paths(fabric, src, dst, dead_set);
      const auto found = selected_paths(routing, src, dst, 400);
      EXPECT_EQ(found, expected) << fabric.name_of_nic(src) << " to " << fabric.name_of_nic(dst);
      EXPECT_EQ(routing.path_count(src, dst), static_cast<double>(expected.size()));
    }
}

TEST(EcmpRouting, TakesExactlyTheShortestPathsOfTwoAndThreeTiersAndRails) {
  expect_exactly_the_shortest_paths(*make_clos({.leaves = 3, .spines = 3, .hosts_per_leaf = 2}), {}, 1);
  expect_exactly_the_shortest_paths(
      *make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 1}), {}, 2);
  expect_exactly_the_shortest_paths(
      *make_rails({.groups = 1, .hosts_per_group = 2, .rails = 2, .spines = 2, .pods = 2, .cores = 2}), {},
      3);
}

TEST(EcmpRouting, LeavesOutDeadLinksSoThatGroupsBecomeUnequal) {
  const auto fabric = *make_clos({.leaves = 3, .spines = 4, .hosts_per_leaf = 1});
  expect_exactly_the_shortest_paths(
      fabric, {*fabric.find_link("leaf1--spine2"), *fabric.find_link("leaf3--spine1")}, 1);
  expect_exactly_the_shortest_paths(fabric, {*fabric.find_link("host1--leaf1")}, 1);
}

/// Hosts on random switches of a random connected graph, with parallel links.
Fabric random_fabric(std::mt19937& random) {
  FabricBuilder builder("random", FabricKind::roce);
  std::vector<NodeId> switches;
  const auto any = [&] { return switches[random() % switches.size()]; };
  for (int s = 0; s < 6; ++s) {
    const auto added = *builder.add_node({.name = fmt::format("s{}", s)});
    if (!switches.empty()) builder.connect(added, any(), Bandwidth::gbit(1));
    switches.push_back(added);
  }
  for (int extra = 0; extra < 6; ++extra) {
    const auto a = any();
    const auto b = any();
    if (a != b) builder.connect(a, b, Bandwidth::gbit(1));
  }
  for (int h = 0; h < 4; ++h) {
    const auto host =
        *builder.add_node({.name = fmt::format("h{}", h), .kind = NodeKind::host, .tier = Tier::host});
    for (int nic = 0; nic <= h % 2; ++nic) builder.connect(host, any(), Bandwidth::gbit(1));
  }
  return std::move(builder).build();
}

TEST(EcmpRouting, TakesExactlyTheShortestPathsOfAnyGraphWithAnyDeadLinks) {
  std::mt19937 random(7);
  for (int round = 0; round < 25; ++round) {
    const auto fabric = random_fabric(random);
    std::vector<LinkId> dead;
    for (std::uint32_t l = 0; l < fabric.link_count(); ++l)
      if (random() % 6 == 0) dead.push_back(LinkId(l));
    expect_exactly_the_shortest_paths(fabric, dead, static_cast<std::uint64_t>(round));
  }
}

TEST(EcmpRouting, SpreadsLabelsEvenlyOverThePaths) {
  const auto fabric = *make_pod_clos({.pods = 2, .leaves = 2, .spines = 3, .cores = 9, .hosts_per_leaf = 1});
  const EcmpRouting routing(fabric, {.seed = 5});
  const PortId src = fabric.nics().front();
  const PortId dst = fabric.nics().back();
  constexpr std::uint32_t kLabels = 18'000;
  std::map<Channels, double> taken;
  Channels path;
  for (std::uint32_t label = 0; label < kLabels; ++label) {
    ASSERT_TRUE(routing.path_of(src, dst, PathLabel(label), path));
    taken[path] += 1;
  }
  const double paths = routing.path_count(src, dst);
  EXPECT_EQ(paths, 9);
  EXPECT_EQ(taken.size(), 9u);
  double chi_squared = 0;
  for (const auto& [ignored, count] : taken)
    chi_squared += std::pow(count - kLabels / paths, 2) / (kLabels / paths);
  EXPECT_LT(chi_squared, 26.1) << "8 degrees of freedom, one chance in a thousand; the labels are fixed";
}

TEST(EcmpRouting, DevicesChooseIndependently) {
  const auto fabric = *make_pod_clos({.pods = 2, .leaves = 1, .spines = 4, .cores = 16, .hosts_per_leaf = 1});
  const EcmpRouting routing(fabric, {.seed = 5});
  // Polarised, a flow that hashes to spine i would always take the i-th core of its plane: 4 paths of 16.
  EXPECT_EQ(selected_paths(routing, fabric.nics().front(), fabric.nics().back(), 600).size(), 16u);
}

TEST(EcmpRouting, TheSameSeedGivesTheSamePathsAndAnotherSeedOthers) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 8, .hosts_per_leaf = 2});
  const EcmpRouting one(fabric, {.seed = 1});
  const EcmpRouting same(fabric, {.seed = 1});
  const EcmpRouting other(fabric, {.seed = 2});
  int differ = 0;
  Channels a;
  Channels b;
  for (std::uint32_t label = 0; label < 100; ++label) {
    ASSERT_TRUE(one.path_of(fabric.nics()[0], fabric.nics()[7], PathLabel(label), a));
    ASSERT_TRUE(same.path_of(fabric.nics()[0], fabric.nics()[7], PathLabel(label), b));
    EXPECT_EQ(a, b);
    ASSERT_TRUE(other.path_of(fabric.nics()[0], fabric.nics()[7], PathLabel(label), b));
    differ += a != b;
  }
  EXPECT_GT(differ, 70) << "8 spines: seven of eight labels should move";
}

TEST(EcmpRouting, WithLocalConvergenceTheNearSwitchRehashesAndTheFarOneSendsIntoTheHole) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 1});
  const auto cut = *fabric.find_link("leaf1--spine2");
  const EcmpRouting routing(fabric, {.seed = 1, .dead = {cut}, .convergence = Convergence::local});
  const PortId near = *fabric.find_nic("host1");
  const PortId far = *fabric.find_nic("host2");
  Channels path;
  int into_the_hole = 0;
  for (std::uint32_t label = 0; label < 400; ++label) {
    EXPECT_TRUE(routing.path_of(near, far, PathLabel(label), path));
    EXPECT_EQ(std::ranges::count(path, cut, &Fabric::link_of), 0) << text(fabric, path);
    if (routing.path_of(far, near, PathLabel(label), path)) continue;
    ++into_the_hole;
    EXPECT_EQ(text(fabric, path), "host2->leaf2 leaf2->spine2 ");
  }
  EXPECT_NEAR(into_the_hole, 100, 30);
}

TEST(EcmpRouting, AHostThatIsCutOffIsNotReached) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  for (const auto convergence : {Convergence::full, Convergence::local}) {
    const EcmpRouting routing(fabric,
                              {.dead = {*fabric.find_link("host2--leaf2")}, .convergence = convergence});
    Channels path;
    EXPECT_FALSE(routing.path_of(fabric.nics()[0], fabric.nics()[1], PathLabel(1), path));
    EXPECT_EQ(fabric.target_node(path.back()), *fabric.find_node("leaf2"))
        << "the packet gets as far as the leaf";
    EXPECT_FALSE(routing.path_of(fabric.nics()[1], fabric.nics()[0], PathLabel(1), path));
    EXPECT_TRUE(path.empty());
    EXPECT_TRUE(routing.next_hops(*fabric.find_node("leaf2"), fabric.nics()[1]).empty());
  }
}

TEST(EcmpRouting, ASwitchsOwnPacketsFindTheirWay) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  const EcmpRouting routing(fabric, {});
  Channels path;
  ASSERT_TRUE(routing.path_from(*fabric.find_node("spine2"), fabric.nics()[0], PathLabel(0), path));
  EXPECT_EQ(text(fabric, path), "spine2->leaf1 leaf1->host1 ");
  EXPECT_EQ(text(fabric, routing.next_hops(*fabric.find_node("leaf1"), fabric.nics()[1])),
            "leaf1->spine1 leaf1->spine2 ");
}

TEST(EcmpRouting, ANicReachesItselfWithoutAChannelAndItsPeerOnACableByOne) {
  FabricBuilder builder("pair", FabricKind::roce);
  const auto a = *builder.add_node({.name = "a", .kind = NodeKind::host, .tier = Tier::host});
  const auto b = *builder.add_node({.name = "b", .kind = NodeKind::host, .tier = Tier::host});
  builder.connect(a, b, Bandwidth::gbit(1));
  const auto fabric = std::move(builder).build();
  const EcmpRouting routing(fabric, {});
  Channels path;
  EXPECT_TRUE(routing.path_of(fabric.nics()[0], fabric.nics()[0], PathLabel(1), path));
  EXPECT_TRUE(path.empty());
  EXPECT_TRUE(routing.path_of(fabric.nics()[0], fabric.nics()[1], PathLabel(1), path));
  EXPECT_EQ(text(fabric, path), "a->b ");
}

TEST(EcmpRouting, SeveralThreadsMayAskAtOnce) {
  const auto fabric = *make_clos({.leaves = 16, .spines = 8, .hosts_per_leaf = 2});
  const EcmpRouting shared(fabric, {.seed = 3});
  const EcmpRouting alone(fabric, {.seed = 3});
  const auto all = [&](const EcmpRouting& routing) {
    std::vector<Channels> paths;
    for (const PortId src : fabric.nics())
      for (const PortId dst : fabric.nics()) routing.path_of(src, dst, PathLabel(7), paths.emplace_back());
    return paths;
  };
  std::vector<Channels> one;
  std::vector<Channels> two;
  {
    const std::jthread first([&] { one = all(shared); });
    const std::jthread second([&] { two = all(shared); });
  }
  EXPECT_EQ(one, two);
  EXPECT_EQ(one, all(alone));
}

}  // namespace
}  // namespace weft::routing
