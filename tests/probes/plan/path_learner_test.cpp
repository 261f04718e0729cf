#include "probes/plan/path_learner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "probes/plan/trace_evidence.hpp"
#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::plan {
namespace {

/// Four leaves, four spines, one host a leaf; one learner.
struct Rig {
  Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 1});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  PathTable table;
  PathLearner learner{fabric, addresses.book, table};
  PortId src = *fabric.find_nic("host1");
  PortId dst = *fabric.find_nic("host2");

  std::vector<ChannelId> over(std::size_t spine) {
    return path_by_choice(fabric, learner.ways(), src, dst, spine);
  }
  bool learn(PathLabel label, const std::vector<datapath::HopAnswer>& answers) {
    return learner.learn(src, dst, label, answers);
  }
  std::vector<datapath::HopAnswer> answers(const std::vector<ChannelId>& path, std::size_t hops) {
    return answers_along(fabric, addresses.book, path, hops);
  }
  const Route& only_route() const { return learner.pairs().at(0).routes.at(0); }
};

TEST(PathLearner, LearnsThePathThatTheAnswersName) {
  Rig rig;
  const auto path = rig.over(2);
  ASSERT_TRUE(rig.learn(PathLabel(50000), rig.answers(path, path.size())));
  const auto learned = rig.table.channels(rig.table.paths(rig.only_route().paths)[0]);
  EXPECT_TRUE(std::ranges::equal(learned, path));
  EXPECT_TRUE(rig.only_route().reached);
}

TEST(PathLearner, FillsInASilentSpineByTheLeafThatTheProbeCameInByAfterwards) {
  Rig rig;
  const auto path = rig.over(1);
  auto answers = rig.answers(path, path.size());
  answers.erase(answers.begin() + 1);  // hop 2, the spine
  ASSERT_TRUE(rig.learn(PathLabel(50000), answers));
  ASSERT_EQ(rig.table.paths(rig.only_route().paths).size(), 1u);
  EXPECT_TRUE(std::ranges::equal(rig.table.channels(rig.table.paths(rig.only_route().paths)[0]), path));
}

TEST(PathLearner, TakesTheOwnAddressOfASwitchForAnyOfItsPorts) {
  Rig rig;
  const auto path = rig.over(2);
  const NodeId spine = rig.fabric.target_node(path[1]);
  const IpAddress own = IpAddress::parse("10.255.0.3").value();
  std::vector<std::optional<IpAddress>> by_port(rig.fabric.port_count());
  std::vector<std::optional<IpAddress>> by_node(rig.fabric.node_count());
  by_node[spine.value()] = own;
  const AddressBook book(by_port, by_node);
  PathLearner learner(rig.fabric, book, rig.table);
  const std::vector<datapath::HopAnswer> answers{{.spec = 0, .hop = 2, .is_peer = false, .from = own},
                                                 {.spec = 0, .hop = 4, .is_peer = true, .from = IpAddress()}};
  ASSERT_TRUE(learner.learn(rig.src, rig.dst, PathLabel(50000), answers));
  const auto paths = rig.table.paths(learner.pairs().at(0).routes.at(0).paths);
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_TRUE(std::ranges::equal(rig.table.channels(paths[0]), path));
}

TEST(PathLearner, RemembersAddressesThatNobodyHasOnce) {
  Rig rig;
  const auto path = rig.over(1);
  auto answers = rig.answers(path, path.size());
  EXPECT_TRUE(rig.learn(PathLabel(50000), answers));
  EXPECT_TRUE(rig.learner.strangers().empty());
  answers[1].from = IpAddress::parse("192.0.2.7").value();
  EXPECT_TRUE(rig.learn(PathLabel(50001), answers));
  EXPECT_TRUE(rig.learn(PathLabel(50002), answers));
  ASSERT_EQ(rig.learner.strangers().size(), 1u);
  EXPECT_EQ(rig.learner.strangers()[0].address, answers[1].from);
  EXPECT_EQ(rig.learner.strangers()[0].hop, answers[1].hop);
}

TEST(PathLearner, KeepsASetWhereSeveralWaysFit) {
  Rig rig;
  const auto path = rig.over(1);
  auto answers = rig.answers(path, path.size());
  answers.erase(answers.begin() + 1, answers.begin() + 3);  // neither the spine nor the far leaf answered
  ASSERT_TRUE(rig.learn(PathLabel(50000), answers));
  EXPECT_EQ(rig.table.paths(rig.only_route().paths).size(), 4u);
}

TEST(PathLearner, SaysWhereAProbeWasLastSeenWhenThePeerIsSilent) {
  Rig rig;
  const auto path = rig.over(3);
  ASSERT_TRUE(rig.learn(PathLabel(50000), rig.answers(path, 2)));
  EXPECT_FALSE(rig.only_route().reached);
  EXPECT_EQ(rig.only_route().answered_hops(), 2u);
  EXPECT_EQ(rig.table.paths(rig.only_route().paths).size(), 1u);  // from the spine one way only leads on
}

TEST(PathLearner, ARouterThatKnowsNoWayOnAnswersForEveryHopBeyondIt) {
  Rig rig;
  const auto path = rig.over(3);
  auto answers = rig.answers(path, 2);
  for (std::uint8_t hop = 3; hop <= 4; ++hop) {
    answers.push_back(answers[1]);
    answers.back().hop = hop;
  }
  ASSERT_TRUE(rig.learn(PathLabel(50000), answers));
  EXPECT_FALSE(rig.only_route().reached);
  EXPECT_EQ(rig.only_route().answered_hops(), 2u);
  EXPECT_EQ(rig.table.paths(rig.only_route().paths).size(), 1u);
}

TEST(PathLearner, TwoAnswersForOneHopAreAFabricThatSprays) {
  Rig rig;
  auto answers = rig.answers(rig.over(0), 4);
  for (const datapath::HopAnswer& answer : rig.answers(rig.over(1), 4)) answers.push_back(answer);
  ASSERT_TRUE(rig.learn(PathLabel(50000), answers));
  EXPECT_EQ(rig.table.paths(rig.only_route().paths).size(), 2u);
}

TEST(PathLearner, AnswersThatFitNoPathAreCountedAndTeachNothing) {
  Rig rig;
  auto answers = rig.answers(rig.over(0), 4);
  answers[1].from =
      *rig.addresses.book.address_of(rig.fabric.target(*rig.fabric.find_channel("leaf3->spine1")));
  EXPECT_FALSE(rig.learn(PathLabel(50000), answers));
  EXPECT_FALSE(rig.learn(PathLabel(50001), {}));
  EXPECT_EQ(rig.learner.contradictions(), 1u);
  EXPECT_TRUE(rig.learner.pairs().empty());
}

TEST(PathLearner, AddressesOfNoOneAndOfHostsAreNoHops) {
  Rig rig;
  auto answers = rig.answers(rig.over(0), 4);
  answers[1].from = *IpAddress::parse("203.0.113.9");
  answers[2].from = *rig.addresses.book.address_of(rig.src);
  ASSERT_TRUE(rig.learn(PathLabel(50000), answers));
  EXPECT_EQ(rig.table.paths(rig.only_route().paths).size(), 4u);
}

TEST(PathLearner, ThePathMapListsTheLabelsOfEachPath) {
  Rig rig;
  for (std::uint32_t i = 0; i < 8; ++i) rig.learn(PathLabel(50000 + i), rig.answers(rig.over(i % 2), 4));
  rig.learn(PathLabel(60000), rig.answers(rig.over(2), 2));  // its peer did not answer
  const PathMap map = rig.learner.path_map();
  ASSERT_EQ(map.pairs.size(), 1u);
  ASSERT_EQ(map.pairs[0].paths.size(), 2u);
  EXPECT_EQ(map.pairs[0].paths[0].labels.size(), 4u);
}

TEST(PathLearner, AnAdoptedLabelOfSeveralWaysIsTheirSetAndIsListedUnderEach) {
  Rig rig;
  const std::vector<std::vector<ChannelId>> ways{rig.over(0), rig.over(1), rig.over(3)};
  rig.learner.adopt(rig.src, rig.dst, PathLabel(44), ways);
  rig.learner.adopt(rig.src, rig.dst, PathLabel(45), std::span(ways).first(1));
  EXPECT_EQ(rig.table.paths(rig.only_route().paths).size(), 3u);
  const PathMap map = rig.learner.path_map();
  ASSERT_EQ(map.pairs[0].paths.size(), 3u);
  EXPECT_EQ(map.pairs[0].paths[0].labels, (std::vector{PathLabel(44), PathLabel(45)}));
  EXPECT_EQ(map.pairs[0].paths[2].labels, std::vector{PathLabel(44)});
}

TEST(PathLearner, AFlowThatEndedTookAWayOnWhichNoneIsSeen) {
  Rig rig;
  std::uint32_t label = 50000;
  for (const std::size_t spine : {0u, 1u, 3u})
    for (int i = 0; i < 10; ++i) rig.learn(PathLabel(label++), rig.answers(rig.over(spine), 4));
  for (int i = 0; i < 10; ++i) rig.learn(PathLabel(label++), rig.answers(rig.over(2), 1));
  const auto& routes = rig.learner.pairs().at(0).routes;
  EXPECT_EQ(rig.table.paths(routes.back().paths).size(), 4u);
  rig.learner.narrow_ended();
  const auto left = rig.table.paths(routes.back().paths);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_TRUE(std::ranges::equal(rig.table.channels(left[0]), rig.over(2)));
  EXPECT_EQ(rig.table.paths(routes.front().paths).size(), 1u);
}

TEST(PathLearner, AFlowThatEndedStaysASetWhereAllWaysAreSeenAlike) {
  Rig rig;
  for (std::uint32_t i = 0; i < 40; ++i) rig.learn(PathLabel(50000 + i), rig.answers(rig.over(i % 4), 4));
  rig.learn(PathLabel(60000), rig.answers(rig.over(2), 1));
  rig.learner.narrow_ended();
  EXPECT_EQ(rig.table.paths(rig.learner.pairs().at(0).routes.back().paths).size(), 4u);
}

TEST(Sights, AChannelThatManyFlowsCouldTakeAndNoneTookIsDark) {
  Rig rig;
  for (std::uint32_t i = 0; i < 90; ++i)
    rig.learn(PathLabel(50000 + i), rig.answers(rig.over(i % 3), 4));  // never spine4
  const auto seen = sights(rig.fabric, rig.learner);
  const Sight& dark = seen[rig.fabric.find_channel("leaf1->spine4")->value()];
  EXPECT_EQ(dark.seen, 0u);
  EXPECT_EQ(dark.chances, 90u);
  EXPECT_EQ(dark.ended, 0u);
  EXPECT_NEAR(dark.log_missed(), 90 * std::log(0.75), 1e-9);
  EXPECT_EQ(seen[rig.fabric.find_channel("leaf1->spine1")->value()].seen, 30u);
  EXPECT_EQ(seen[rig.fabric.find_channel("spine4->leaf2")->value()].chances, 0u);  // nobody came by spine4
}

TEST(Sights, AChannelIsSeenThoughItsFlowsEndBehindIt) {
  Rig rig;
  for (std::uint32_t i = 0; i < 20; ++i) rig.learn(PathLabel(50000 + i), rig.answers(rig.over(0), 2));
  const auto seen = sights(rig.fabric, rig.learner);
  EXPECT_EQ(seen[rig.fabric.find_channel("leaf1->spine1")->value()].seen, 20u);
  EXPECT_EQ(seen[rig.fabric.find_channel("spine1->leaf2")->value()].seen, 0u);
}

TEST(Sights, AChannelIsNotDarkWhereAsManyFlowsEndAsWouldTakeIt) {
  Rig rig;
  for (std::uint32_t i = 0; i < 80; ++i) {
    const std::size_t spine = i % 4;  // what enters spine4 is never heard of again
    rig.learn(PathLabel(50000 + i), rig.answers(rig.over(spine), spine == 3 ? 1 : 4));
  }
  const auto seen = sights(rig.fabric, rig.learner);
  const Sight& channel = seen[rig.fabric.find_channel("leaf1->spine4")->value()];
  EXPECT_EQ(channel.chances, 80u);
  EXPECT_EQ(channel.ended, 20u);
  EXPECT_EQ(channel.log_missed(), 0.0);
}

TEST(Sights, AFlowThatMayHaveGoneByOneOfTwoCablesIsMissedByNeither) {
  Rig rig;
  for (std::uint32_t i = 0; i < 80; ++i) {
    auto answers = rig.answers(rig.over(i % 4), 4);
    if (i % 4 > 1)
      std::erase_if(answers, [](const datapath::HopAnswer& a) { return a.hop == 2 || a.hop == 3; });
    rig.learn(PathLabel(50000 + i), answers);
  }
  const auto seen = sights(rig.fabric, rig.learner);
  const Sight& channel = seen[rig.fabric.find_channel("leaf1->spine3")->value()];
  EXPECT_EQ(channel.seen, 0u);
  EXPECT_EQ(channel.ended, 40u);  // of none of them is it known by which spine it came
  EXPECT_EQ(channel.log_missed(), 0.0);
}

TEST(AnswersOver, AreThoseOfSwitchesThereAndBackWhereNoPeerAnswers) {
  Rig rig;
  for (std::uint32_t i = 0; i < 5; ++i) rig.learn(PathLabel(50000 + i), rig.answers(rig.over(1), 2));
  const auto answers = answers_over(rig.fabric, rig.learner);
  for (const char* name : {"host1->leaf1", "leaf1->spine2", "spine2->leaf1", "leaf1->host1"}) {
    const Answers& over = answers[rig.fabric.find_channel(name)->value()];
    EXPECT_EQ(over.came, 5u) << name;
    EXPECT_EQ(over.asked, 5u) << name;
  }
  EXPECT_EQ(std::ranges::count(answers, 0u, &Answers::came), std::ssize(answers) - 4);
}

TEST(AnswersOver, WhatDidNotComeIsCountedUpToWhatDid) {
  Rig rig;
  auto answers = rig.answers(rig.over(1), 2);
  answers.erase(answers.begin());  // the leaf is silent
  rig.learn(PathLabel(50000), answers);
  const Answers over = answers_over(rig.fabric, rig.learner)[rig.over(1)[0].value()];
  EXPECT_EQ(over.asked, 2u);
  EXPECT_EQ(over.came, 1u);
}

TEST(AnswersOver, AreNotCountedOnRoutesWhosePeersAnswer) {
  Rig rig;
  rig.learn(PathLabel(50000), rig.answers(rig.over(1), 4));  // its answer came back by another spine
  const auto there = answers_over(rig.fabric, rig.learner);
  EXPECT_EQ(there[rig.over(1)[1].value()].came, 0u);
  EXPECT_EQ(there[rig.fabric.find_channel("spine2->leaf1")->value()].came, 1u);
  rig.learner.learn(rig.dst, rig.src, PathLabel(50000),
                    rig.answers(path_by_choice(rig.fabric, rig.learner.ways(), rig.dst, rig.src, 1), 4));
  const auto answers = answers_over(rig.fabric, rig.learner);
  EXPECT_EQ(std::ranges::count(answers, 0u, &Answers::came), std::ssize(answers));
}

}  // namespace
}  // namespace weft::plan
