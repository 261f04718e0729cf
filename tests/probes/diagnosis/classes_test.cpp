// Classes: what the probes cannot tell apart is named together, never one member of it; and what would.
#include <gtest/gtest.h>

#include <algorithm>

#include "made_up_run.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

bool crosses(const std::vector<ChannelId>& path, ChannelId channel) {
  return std::ranges::find(path, channel) != path.end();
}

TEST(Classes, MirroredRoundTripsLeaveTheDirectionOpen) {
  MadeUpRun run(1);
  const ChannelId broken = run.channel("leaf1->spine2");
  for (int i = 0; i < 600; ++i) {
    const auto forward = run.random_path();
    std::vector<ChannelId> back;
    for (auto at = forward.rbegin(); at != forward.rend(); ++at) back.push_back(Fabric::reverse(*at));
    const bool hit = crosses(forward, broken) || crosses(back, broken);
    run.seen.probes.push_back({.path = run.seen.paths.only(run.seen.paths.intern(forward)),
                               .back = run.seen.paths.only(run.seen.paths.intern(back)),
                               .sent = 100,
                               .lost = hit ? 2u : 0u});
  }
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].link, Fabric::link_of(broken));
  EXPECT_FALSE(diagnosis.links[0].channel);
  const std::vector<std::vector<ChannelId>> both{{broken, Fabric::reverse(broken)}};
  EXPECT_EQ(diagnosis.ambiguous, both);
}

TEST(Classes, AHostOfWhichOnlyEchoesAreKnownIsNotNamedWhereTheCableAboveItMayBeAtFault) {
  // Of host3 nothing is known but that some round trips to it, over spine2->leaf1, had no answer.
  MadeUpRun run(1, {.leaves = 3, .spines = 2, .hosts_per_leaf = 3});
  const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t spine, std::uint64_t sent) {
    return Observation{.path = run.seen.paths.only(run.seen.paths.intern(run.path(from, to, spine))),
                       .sent = sent};
  };
  for (const std::uint32_t a : {0u, 3u, 6u})
    for (const std::uint32_t b : {0u, 3u, 6u})
      if (a != b) run.seen.probes.push_back(add(a, b, 0, 8000));
  for (const auto& [from, to] : {std::pair{0u, 4u}, {0u, 7u}, {3u, 2u}, {6u, 5u}, {6u, 1u}}) {
    auto echo = add(from, to, to == 1 ? 0 : 1, 2700);
    echo.back = run.seen.paths.only(run.seen.paths.intern(run.path(to, from, 0)));
    echo.lost = to == 2 ? 50 : 0;
    run.seen.probes.push_back(echo);
  }
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.groups.size(), 1u);
  EXPECT_TRUE(diagnosis.groups[0].nodes.empty());
  EXPECT_TRUE(crosses(diagnosis.groups[0].channels, run.channel("spine2->leaf1")));
  EXPECT_TRUE(crosses(diagnosis.groups[0].channels, run.channel("leaf1->host3")));
}

TEST(Classes, WithTwoLeavesADeadCableIsNamedNotTheSpineThatItLeadsTo) {
  // leaf1 has noticed and uses the other spine; what leaf2 sends by spine1 ends there. By the losses alone it
  // could be leaf2->spine1, spine1->leaf1, or spine1 as a whole.
  MadeUpRun run(1, {.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t spine, std::uint64_t lost) {
    run.seen.probes.push_back({.path = run.seen.paths.only(run.seen.paths.intern(run.path(from, to, spine))),
                               .sent = 50,
                               .lost = lost});
  };
  for (const std::uint32_t a : {0u, 1u})
    for (const std::uint32_t b : {2u, 3u}) {
      add(a, b, 1, 0);
      add(b, a, 1, 0);
      add(b, a, 0, 50);
    }
  run.seen.channels.push_back({run.channel("leaf1->spine1"), Cause::down, 22.0, "no flow took it"});
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].link, Fabric::link_of(run.channel("leaf1->spine1")));
  EXPECT_FALSE(diagnosis.links[0].channel);  // both directions
  EXPECT_EQ(diagnosis.links[0].cause, Cause::down);
  EXPECT_TRUE(diagnosis.groups.empty());
  EXPECT_TRUE(diagnosis.ambiguous.empty());
}

TEST(Classes, WherePathsAreKnownAsSetsAllUplinksOfALeafAreOneClass) {
  MadeUpRun run(2);
  const ChannelId broken = run.channel("leaf1->spine2");
  for (int i = 0; i < 1000; ++i) {
    const auto from = static_cast<std::uint32_t>(i % 16);
    const auto to = static_cast<std::uint32_t>((i * 7 + i / 16 * 3 + 5) % 16);
    if (from / 4 == to / 4) continue;
    std::vector<PathId> members;
    for (std::uint32_t spine = 0; spine < 4; ++spine)
      members.push_back(run.seen.paths.intern(run.path(from, to, spine)));
    run.seen.probes.push_back(
        {.path = run.seen.paths.intern_set(members), .sent = 400, .lost = from / 4 == 0 ? 2u : 0u});
  }
  const Assessment assessment = assess(run.fabric, run.seen);
  ASSERT_EQ(assessment.diagnosis.ambiguous.size(), 1u);
  std::vector<ChannelId> uplinks;
  for (int spine = 1; spine <= 4; ++spine)
    uplinks.push_back(run.channel(fmt::format("leaf1->spine{}", spine)));
  std::ranges::sort(uplinks);
  EXPECT_EQ(assessment.diagnosis.ambiguous[0], uplinks);
  EXPECT_TRUE(crosses(uplinks, broken));
  EXPECT_TRUE(assessment.diagnosis.links.empty());
  ASSERT_EQ(assessment.hypotheses.size(), 1u);
  EXPECT_EQ(assessment.hypotheses[0].channels, uplinks);
}

/// What leaf1 sends and what it gets is lost by two cables: the finding holds both, whatever is listed, and
/// no set of cables that fail both ways is told where that does not.
TEST(Classes, TwoThatAreTheReverseOfEachOtherHoldWhatIsAtFault) {
  for (const std::uint32_t spines : {4u, 6u, 8u}) {
    MadeUpRun run(2, {.leaves = 4, .spines = spines, .hosts_per_leaf = 4});
    for (int i = 0; i < 1000; ++i) {
      const auto from = static_cast<std::uint32_t>(i % 16);
      const auto to = static_cast<std::uint32_t>((i * 7 + i / 16 * 3 + 5) % 16);
      if (from / 4 == to / 4) continue;
      std::vector<PathId> members;
      for (std::uint32_t spine = 0; spine < spines; ++spine)
        members.push_back(run.seen.paths.intern(run.path(from, to, spine)));
      const std::uint64_t lost = from / 4 == 0 ? 2 : to / 4 == 0 ? 3 : 0;
      run.seen.probes.push_back({.path = run.seen.paths.intern_set(members), .sent = 400, .lost = lost});
    }
    const Diagnosis diagnosis = run.diagnosed();
    std::size_t up = 0, down = 0;
    for (const GroupFinding& group : diagnosis.groups) {
      up += crosses(group.channels, run.channel("leaf1->spine4")) ? 1 : 0;
      down += crosses(group.channels, run.channel("spine3->leaf1")) ? 1 : 0;
    }
    EXPECT_EQ(up, 1u) << spines;
    EXPECT_EQ(down, 1u) << spines;
    EXPECT_EQ(diagnosis.groups.size(), spines > 6 ? 2u : 1u) << spines;
    for (const OpenSet& set : diagnosis.sets) EXPECT_TRUE(set.more) << spines;
    EXPECT_EQ(diagnosis.sets.empty(), spines > 6) << spines;
  }
}

TEST(Classes, OrdinaryLossOverPathSetsIsNobodysFault) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    MadeUpRun run(seed, {.leaves = 8, .spines = 16, .hosts_per_leaf = 4});
    std::mt19937_64 random(seed);
    for (int i = 0; i < 2000; ++i) {
      const auto from = static_cast<std::uint32_t>(random() % 32);
      const auto to = static_cast<std::uint32_t>((from + 4 + random() % 24) % 32);
      if (from / 4 == to / 4) continue;
      std::vector<PathId> members;
      for (std::uint32_t spine = 0; spine < 16; ++spine)
        members.push_back(run.seen.paths.intern(run.path(from, to, spine)));
      const std::uint64_t lost = std::binomial_distribution<std::uint64_t>(400, 4e-4)(random);
      run.seen.probes.push_back({.path = run.seen.paths.intern_set(members), .sent = 400, .lost = lost});
    }
    const Diagnosis diagnosis = run.diagnosed();
    EXPECT_TRUE(diagnosis.links.empty()) << seed;
    EXPECT_TRUE(diagnosis.groups.empty()) << seed;
    EXPECT_TRUE(diagnosis.hosts.empty()) << seed;
  }
}

TEST(Classes, ASwitchThatCrossesNoMorePathsThanOneOfItsCablesIsNotNamedForThem) {
  // All that crosses spine1 goes from leaf3 to leaf1: as a whole it would look alike, and be one fault more
  // surprising than either channel.
  for (const bool corrupt : {false, true}) {
    MadeUpRun run(1, {.leaves = 3, .spines = 2, .hosts_per_leaf = 2});
    const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t spine, std::uint64_t harmed) {
      run.seen.probes.push_back(
          {.path = run.seen.paths.only(run.seen.paths.intern(run.path(from, to, spine))),
           .sent = 2000,
           .lost = corrupt ? 0 : harmed,
           .corrupt = corrupt ? harmed : 0});
    };
    for (std::uint32_t a = 0; a < 6; ++a)
      for (std::uint32_t b = 0; b < 6; ++b)
        if (a / 2 != b / 2) add(a, b, 1, 0);
    for (const std::uint32_t a : {4u, 5u})
      for (const std::uint32_t b : {0u, 1u}) add(a, b, 0, 20);
    const Diagnosis diagnosis = run.diagnosed();
    std::vector<ChannelId> both{run.channel("leaf3->spine1"), run.channel("spine1->leaf1")};
    std::ranges::sort(both);
    ASSERT_EQ(diagnosis.ambiguous.size(), 1u) << corrupt;
    EXPECT_EQ(diagnosis.ambiguous[0], both) << corrupt;
    for (const GroupFinding& group : diagnosis.groups) EXPECT_TRUE(group.nodes.empty()) << corrupt;
    EXPECT_EQ(run_verdict(diagnosis), Verdict::degraded) << corrupt;
  }
}

TEST(Classes, ASecondRoundThatSendsWhatAHypothesisAsksForSettlesIt) {
  MadeUpRun run(3);
  const ChannelId broken = run.channel("leaf2->spine3");
  const auto send = [&](std::uint32_t from, std::uint32_t to, std::uint32_t spine, std::uint64_t packets) {
    const auto path = run.path(from, to, spine);
    run.seen.probes.push_back({.path = run.seen.paths.only(run.seen.paths.intern(path)),
                               .sent = packets,
                               .lost = crosses(path, broken) ? packets / 100 : 0});
  };
  // leaf2->spine3 and spine3->leaf4 are always crossed together.
  for (std::uint32_t host = 4; host < 8; ++host) send(host, 12 + host % 4, 2, 1000);
  for (std::uint32_t i = 0; i < 64; ++i)
    if (i % 4 != 2) send(i % 16, (i % 16 + 4 + i / 16 % 2 * 4) % 16, i % 4, 1000);
  const Assessment open = assess(run.fabric, run.seen);
  ASSERT_FALSE(open.hypotheses.empty());
  const Hypothesis& hypothesis = open.hypotheses[0];
  EXPECT_TRUE(crosses(hypothesis.channels, broken));
  EXPECT_GT(hypothesis.channels.size(), 1u);
  EXPECT_GT(hypothesis.packets, 0u);
  send(5, 1, 2, hypothesis.packets);   // leaf2->spine3 without spine3->leaf4
  send(0, 13, 2, hypothesis.packets);  // and the other way about
  const Assessment settled = assess(run.fabric, run.seen);
  EXPECT_TRUE(settled.hypotheses.empty());
  ASSERT_EQ(settled.diagnosis.links.size(), 1u);
  EXPECT_EQ(settled.diagnosis.links[0].channel, broken);
}

}  // namespace
}  // namespace weft::diagnosis
