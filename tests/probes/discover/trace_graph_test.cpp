#include "probes/discover/trace_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::discover {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

const std::vector<TracedNic> kNics{{"host1", *IpAddress::parse("10.9.0.1")},
                                   {"host2", *IpAddress::parse("10.9.0.2")}};

/// "10.0.0.LAST"; 0: the hop is silent.
std::vector<std::optional<IpAddress>> hops(std::initializer_list<int> last) {
  std::vector<std::optional<IpAddress>> all;
  for (const int byte : last)
    all.push_back(byte == 0 ? std::nullopt
                            : std::optional(*IpAddress::parse("10.0.0." + std::to_string(byte))));
  return all;
}

/// From host1 to host2, each by a label of its own.
std::vector<Trace> traces(const std::vector<std::vector<std::optional<IpAddress>>>& ways) {
  std::vector<Trace> all;
  for (const auto& way : ways)
    all.push_back({0, 1, PathLabel(static_cast<std::uint32_t>(all.size())), way, true});
  return all;
}

TEST(TraceGraph, CountsWhoAnsweredFirstLastAndBehindWhom) {
  const auto graph = graph_of(kNics, traces({hops({1, 2, 3})}));
  ASSERT_EQ(graph.addresses.size(), 3u);
  EXPECT_THAT(graph.first[0], ElementsAre(0));
  EXPECT_THAT(graph.last[1], ElementsAre(2));
  EXPECT_THAT(graph.before[0], IsEmpty());
  EXPECT_THAT(graph.before[1], ElementsAre(Pair(0, 1)));
  EXPECT_THAT(graph.before[2], ElementsAre(Pair(1, 1)));
  EXPECT_THAT(graph.at_first_hop, ElementsAre(true, false, false));
  EXPECT_THAT(graph.at_later_hop, ElementsAre(false, true, true));
  EXPECT_THAT(graph.together, UnorderedElementsAre(Pair(0, 1), Pair(0, 2), Pair(1, 2)));
  EXPECT_THAT(graph.one_switch, IsEmpty());
}

TEST(TraceGraph, OneSwitchBetweenTwoNicsIsToldOnlyWhereTheTraceCameThrough) {
  auto only = traces({hops({1})});
  EXPECT_THAT(graph_of(kNics, only).one_switch, ElementsAre(Pair(0, 1)));
  only[0].reached = false;
  const auto cut = graph_of(kNics, only);
  EXPECT_THAT(cut.one_switch, IsEmpty());
  EXPECT_THAT(cut.last[1], IsEmpty()) << "what follows the last hop is not known";
  EXPECT_THAT(cut.first[0], ElementsAre(0));
}

TEST(TraceGraph, WhatAnswersBehindASilentHopHasNobodyBeforeIt) {
  const auto graph = graph_of(kNics, traces({hops({0, 2}), hops({1, 0, 3})}));
  ASSERT_EQ(graph.addresses.size(), 3u);  // .1 .2 .3
  EXPECT_THAT(graph.behind_silent_first[1], ElementsAre(0));
  EXPECT_THAT(graph.behind_silent[1], IsEmpty());
  EXPECT_THAT(graph.behind_silent[2], ElementsAre(0));
  EXPECT_THAT(graph.before[1], IsEmpty());
  EXPECT_THAT(graph.before[2], IsEmpty());
}

TEST(TraceGraph, ARouteThatChangedInTheMidstOfATraceIsNotKeptAsACable) {
  std::vector<std::vector<std::optional<IpAddress>>> ways(10, hops({1, 3}));
  ways.push_back(hops({2, 3}));
  EXPECT_THAT(graph_of(kNics, traces(ways)).before[2], ElementsAre(Pair(0, 10), Pair(1, 1))) << "one in ten";
  ways.push_back(hops({1, 3}));
  EXPECT_THAT(graph_of(kNics, traces(ways)).before[2], ElementsAre(Pair(0, 11))) << "fewer than one in ten";
}

TEST(TraceGraph, AFlowThatTakesOtherSwitchesEachTimeIsSprayed) {
  const auto same_flow = [](const std::vector<int>& spines) {
    std::vector<Trace> all;
    for (const int spine : spines) all.push_back({0, 1, PathLabel(7), hops({1, spine, 9}), true});
    return all;
  };
  EXPECT_FALSE(graph_of(kNics, same_flow({2, 2, 2, 2, 2})).sprays);
  EXPECT_FALSE(graph_of(kNics, same_flow({2, 2, 2, 2, 3})).sprays) << "a route may change once";
  EXPECT_TRUE(graph_of(kNics, same_flow({2, 3, 4, 2, 3})).sprays);
  EXPECT_FALSE(graph_of(kNics, same_flow({2, 3, 4})).sprays) << "too few to say so";
}

TEST(TraceGraph, OtherLabelsByOtherSwitchesAreNoSpraying) {
  EXPECT_FALSE(graph_of(kNics, traces({hops({1, 2}), hops({1, 3}), hops({1, 4}), hops({1, 2}), hops({1, 3}),
                                       hops({1, 4})}))
                   .sprays);
}

TEST(TraceGraph, ATraceOfANicThatIsNotThereSaysNothing) {
  auto strange = traces({hops({1, 2})});
  strange[0].src = 2;
  const auto graph = graph_of(kNics, strange);
  EXPECT_THAT(graph.before[1], IsEmpty());
  EXPECT_THAT(graph.last[1], IsEmpty());
  EXPECT_THAT(graph.together, IsEmpty());
}

}  // namespace
}  // namespace weft::discover
