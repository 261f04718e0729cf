// Labels: every one used takes the path it stands for, and only known ones are used.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "balancer/assign/assign.hpp"
#include "balancer/assign/greedy.hpp"
#include "balancer/assign/label_bound.hpp"
#include "balancer/demand/collectives.hpp"
#include "tests/support/traffic.hpp"
#include "topology/model/clos.hpp"

namespace weft::assign {
namespace {

/// The switch channels that `label` takes from src to dst, by the map.
std::vector<ChannelId> path_of(const PathMap& map, PortId src, PortId dst, PathLabel label) {
  for (const PairPaths& pair : map.pairs) {
    if (pair.src != src || pair.dst != dst) continue;
    for (const LabelledPath& path : pair.paths) {
      const auto channels = map.table.channels(path.path);
      if (std::ranges::find(path.labels, label) != path.labels.end())
        return {channels.begin() + 1, channels.end() - 1};
    }
  }
  return {};
}

void expect_every_label_takes_its_route(const PathMap& map, const demand::Phase& phase,
                                        const PhaseAssignment& answer) {
  for (const SteeredQp& qp : answer.qps) {
    const demand::Flow& flow = phase.flows[qp.flow];
    ASSERT_TRUE(qp.label);
    EXPECT_TRUE(std::ranges::equal(path_of(map, flow.src, flow.dst, *qp.label), qp.route.channels()));
    if (!qp.reverse) continue;
    EXPECT_TRUE(std::ranges::equal(path_of(map, flow.dst, flow.src, *qp.reverse->label),
                                   qp.reverse->route.channels()));
  }
}

TEST(Labels, EveryLabelTakesItsRouteBothWaysAndTheBoundIsMet) {
  const auto fabric = *make_clos({.leaves = 8, .spines = 8, .hosts_per_leaf = 8});
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (const std::uint32_t qps : {1U, 4U}) {
      const auto phase = cross_leaf_permutation(fabric, seed);
      const auto map = probed_path_map(fabric, phase, 24, true, seed);
      const auto answer = assign(fabric, phase, {.qps = qps, .paths = &map, .reverse = true});
      EXPECT_DOUBLE_EQ(answer.load.ratio, 1);
      EXPECT_DOUBLE_EQ(answer.reverse_load->ratio, 1);
      expect_every_label_takes_its_route(map, phase, answer);
    }
}

TEST(Labels, WhatAShortListCostsShowsInTheRatio) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const auto phase = demand::make_shift(fabric.nics(), 4, Bytes(1000)).phases[0];
  const auto map = probed_path_map(fabric, phase, 1, false, 1);  // one label a pair: no choice at all
  const auto answer = assign(fabric, phase, {.paths = &map});
  EXPECT_DOUBLE_EQ(answer.bounds.integral, 1000);
  EXPECT_GE(answer.load.ratio, 2);
  expect_every_label_takes_its_route(map, phase, answer);
}

TEST(Labels, WhereTheyCannotMeetTheBoundAllIsAssignedAndNoWorseThanGreedy) {
  const auto fabric = *make_clos({.leaves = 16, .spines = 16, .hosts_per_leaf = 16});
  const auto phase = cross_leaf_permutation(fabric, 1);
  const auto map = probed_path_map(fabric, phase, 2, false, 1);
  const auto answer = assign(fabric, phase, {.qps = 8, .paths = &map});
  EXPECT_EQ(answer.qps.size(), phase.flows.size() * 8);
  EXPECT_GT(answer.load.ratio, 1);
  const Capacities capacities(fabric);
  const Routes routes(fabric, capacities);
  auto instance = make_instance(fabric, capacities, routes, phase.flows, 8, &map);
  const auto greedy = solve_greedy(instance, routes);
  std::map<ChannelId, double> load;
  double busiest = 0;
  for (const SwitchRoute& route : greedy)
    for (const ChannelId channel : route.channels()) busiest = std::max(busiest, load[channel] += 125'000);
  EXPECT_LE(answer.load.busiest, busiest);
  expect_every_label_takes_its_route(map, phase, answer);
}

TEST(Labels, QpsOfOneFlowOnOneRouteGetDifferentLabels) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1});
  const auto phase = demand::make_shift(fabric.nics(), 1, Bytes(1000)).phases[0];
  const auto map = probed_path_map(fabric, phase, 8, false, 1);
  const auto answer = assign(fabric, phase, {.qps = 4, .paths = &map});
  std::set<std::pair<std::uint32_t, PathLabel>> labels;
  for (const SteeredQp& qp : answer.qps) labels.emplace(qp.flow, *qp.label);
  EXPECT_EQ(labels.size(), 8u);
}

TEST(Labels, APairTheMapDoesNotKnowIsNamedAndTheRestIsAssigned) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto phase = demand::make_shift(fabric.nics(), 2, Bytes(1000)).phases[0];
  auto map = probed_path_map(fabric, phase, 8, false, 1);
  map.pairs.erase(map.pairs.begin());
  const auto answer = assign(fabric, phase, {.paths = &map});
  ASSERT_EQ(answer.unassigned.size(), 1u);
  EXPECT_EQ(answer.unassigned[0].why, "the path map has no paths from host1 to host3: sweep that pair");
  EXPECT_EQ(answer.qps.size(), 3u);
}

TEST(Labels, AMapOfAnotherFabricIsSaidToBe) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  const auto nics = fabric.nics();
  PathMap map;
  const auto path =
      map.table.intern({*fabric.channel_from(nics[0]), ChannelId(10'000), *fabric.channel_into(nics[1])});
  map.pairs.push_back({nics[0], nics[1], {{path, {PathLabel(1)}}}});
  const auto answer = assign(fabric, demand::Phase{"", {{nics[0], nics[1], Bytes(5)}}}, {.paths = &map});
  ASSERT_EQ(answer.unassigned.size(), 1u);
  EXPECT_EQ(answer.unassigned[0].why,
            "the path map does not fit the fabric: 1 paths from host1 to host2 do not join them");
}

TEST(Labels, PathsOverChannelsToAvoidAreNotUsed) {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  const auto phase = demand::make_shift(fabric.nics(), 1, Bytes(5)).phases[0];
  const auto map = probed_path_map(fabric, phase, 32, false, 1);
  AssignOptions options{.paths = &map};
  options.avoid = {{*fabric.find_channel("leaf1->spine1")}};
  const auto answer = assign(fabric, phase, options);
  ASSERT_EQ(answer.qps.size(), 2u);
  EXPECT_EQ(answer.qps[0].route.channels()[0], *fabric.find_channel("leaf1->spine2"));
}

/// Small fabrics, traffic and lists of labels drawn at random.
TEST(LabelBound, IsWhatBruteForceFindsAndTheAnswerMeetsIt) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto n = static_cast<std::uint32_t>(seed);
    const auto fabric = *make_clos({.leaves = 2 + n % 3, .spines = 2 + n % 4, .hosts_per_leaf = 2 + n % 2});
    const auto phase = cross_leaf_permutation(fabric, seed);
    const auto map = probed_path_map(fabric, phase, 1 + n % 3, false, seed);
    const std::uint32_t qps = phase.flows.size() <= 6 ? 2 : 1;
    const auto answer = assign(fabric, phase, {.qps = qps, .paths = &map});
    const double least = least_busiest(fabric, phase, qps, map);
    ASSERT_TRUE(answer.labels);
    EXPECT_DOUBLE_EQ(answer.labels->bound, std::max(least, answer.bounds.integral)) << seed;
    EXPECT_DOUBLE_EQ(answer.load.busiest, least) << seed;
  }
}

TEST(LabelBound, TellsHowManyPairsLackPathsAndHowManyLabelsFindThem) {
  const auto fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const auto phase = demand::make_shift(fabric.nics(), 4, Bytes(1000)).phases[0];
  const auto map = probed_path_map(fabric, phase, 1, false, 1);
  const auto answer = assign(fabric, phase, {.paths = &map});
  EXPECT_DOUBLE_EQ(answer.labels->bound, answer.load.busiest);  // one label a pair: nothing to choose
  EXPECT_GT(answer.labels->bound, answer.bounds.integral);
  EXPECT_EQ(answer.labels->pairs, 16u);
  EXPECT_EQ(answer.labels->pairs_short, 16u);
  EXPECT_EQ(answer.labels->paths, 4u);
  EXPECT_EQ(labels_for(4), 21u);
  EXPECT_EQ(labels_for(8), 51u);
}

TEST(LabelBound, NeverExceedsWhatWasReachedWhereNothingIsSearched) {
  const auto fabric = *make_clos({.leaves = 16, .spines = 16, .hosts_per_leaf = 16});
  for (const bool weighted : {false, true}) {
    const auto phase = weighted ? cross_leaf_permutation(fabric, 1) : mixed_traffic(fabric, 1, 1);
    const auto map = probed_path_map(fabric, phase, 2, false, 1);
    const auto answer = assign(fabric, phase, {.qps = 8, .weighted = weighted, .paths = &map});
    EXPECT_LE(answer.labels->bound, answer.load.busiest * (1 + 1e-9));
    EXPECT_GT(answer.labels->bound, 1.5 * answer.bounds.fractional);
  }
}

}  // namespace
}  // namespace weft::assign
