// Losses: the right channel, direction and cause; nothing where nothing is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>

#include "made_up_run.hpp"
#include "tests/support/draws.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

TEST(Loss, NamesTheChannelThatLosesHalfAPerCentAndNoOther) {
  for (std::uint64_t seed = 1; seed <= draws(10u); ++seed) {
    MadeUpRun run(seed);
    run.fault("leaf2->spine3").loss = 0.005;
    run.background = 1e-5;
    run.probe(1500, 100);
    const Diagnosis diagnosis = run.diagnosed();
    ASSERT_EQ(diagnosis.links.size(), 1u) << seed;
    EXPECT_EQ(diagnosis.links[0].channel, run.channel("leaf2->spine3"));
    EXPECT_EQ(diagnosis.links[0].cause, Cause::loss);
    EXPECT_EQ(diagnosis.links[0].verdict, Verdict::degraded);
    EXPECT_GT(diagnosis.links[0].confidence, 0.9);
    EXPECT_LT(diagnosis.links[0].estimate->low, 0.005);
    EXPECT_GT(diagnosis.links[0].estimate->high, 0.005);
    EXPECT_TRUE(diagnosis.hosts.empty());
    EXPECT_TRUE(diagnosis.groups.empty());
  }
}

TEST(Loss, NamesNothingInAHealthyFabricWhateverItsBackground) {
  for (const double background : {0.0, 1e-6, 1e-4, 1e-3})
    for (std::uint64_t seed = 1; seed <= draws(10u); ++seed) {
      MadeUpRun run(seed);
      run.background = background;
      run.probe(1500, 100);
      const Diagnosis diagnosis = run.diagnosed();
      EXPECT_TRUE(diagnosis.links.empty() && diagnosis.hosts.empty() && diagnosis.groups.empty())
          << background << ", seed " << seed;
    }
}

TEST(Loss, FindsSeveralFaultsAtOnce) {
  MadeUpRun run(7);
  run.background = 2e-5;
  const std::vector<std::string> broken{"leaf1->spine1", "spine1->leaf2", "leaf3->spine4", "spine2->leaf4"};
  for (const auto& name : broken) run.fault(name).loss = 0.01;
  run.probe(3000, 100);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), broken.size());
  for (const LinkFinding& finding : diagnosis.links)
    EXPECT_NE(std::ranges::find(broken, run.fabric.name_of(*finding.channel)), broken.end());
}

TEST(Loss, BothDirectionsOfACableAreOneFindingWithoutADirection) {
  MadeUpRun run(3);
  run.fault("leaf1->spine2").loss = 0.02;
  run.fault("spine2->leaf1").loss = 0.02;
  run.probe(2000, 100);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].link, *run.fabric.find_link("leaf1--spine2"));
  EXPECT_FALSE(diagnosis.links[0].channel);
}

TEST(Loss, AHostsCableIsNamedWithTheHostNeverASwitchLink) {
  for (std::uint64_t seed = 1; seed <= draws(10u); ++seed) {
    MadeUpRun run(seed);
    run.fault("host5->leaf2").loss = 0.01;
    run.background = 1e-5;
    run.probe(2000, 100);
    const Diagnosis diagnosis = run.diagnosed();
    EXPECT_TRUE(diagnosis.links.empty());
    ASSERT_EQ(diagnosis.hosts.size(), 1u) << seed;
    EXPECT_EQ(diagnosis.hosts[0].host, *run.fabric.find_node("host5"));
    EXPECT_EQ(diagnosis.hosts[0].cause, Cause::loss);
    EXPECT_EQ(diagnosis.hosts[0].channel, run.channel("host5->leaf2"));
    EXPECT_TRUE(diagnosis.ambiguous.empty());
  }
}

TEST(Loss, EveryProbeLostOverAChannelIsDown) {
  MadeUpRun run(2);
  run.fault("spine3->leaf4").loss = 1.0;
  run.probe(1000, 20);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, run.channel("spine3->leaf4"));
  EXPECT_EQ(diagnosis.links[0].cause, Cause::down);
  EXPECT_EQ(diagnosis.links[0].verdict, Verdict::failed);
  EXPECT_EQ(diagnosis.verdict, Verdict::failed);
}

TEST(Loss, ASwitchThatLosesOnAllItsPortsIsOneCause) {
  MadeUpRun run(4);
  for (int leaf = 1; leaf <= 4; ++leaf) run.fault(fmt::format("leaf{}->spine2", leaf)).loss = 0.01;
  run.background = 1e-5;
  run.probe(3000, 100);
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_TRUE(diagnosis.links.empty());
  ASSERT_EQ(diagnosis.groups.size(), 1u);
  EXPECT_EQ(diagnosis.groups[0].nodes, std::vector{*run.fabric.find_node("spine2")});
}

TEST(Loss, LargePacketsThatAllVanishWhileSmallOnesPassAreAnMtuBlackHole) {
  MadeUpRun run(5);
  run.fault("leaf3->spine1").largest = Bytes(1000);
  run.probe(1000, 20, Bytes(128));
  run.probe(1000, 5, Bytes(4096));
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, run.channel("leaf3->spine1"));
  EXPECT_EQ(diagnosis.links[0].cause, Cause::mtu);
  EXPECT_EQ(diagnosis.links[0].verdict, Verdict::failed);
  EXPECT_EQ(diagnosis.links[0].estimate->value, 128);
  EXPECT_EQ(diagnosis.links[0].estimate->high, 4095);
}

TEST(Loss, CorruptPacketsAreNotLosses) {
  MadeUpRun run(6);
  run.fault("spine4->leaf1").corrupt = 0.01;
  run.probe(2000, 100);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, run.channel("spine4->leaf1"));
  EXPECT_EQ(diagnosis.links[0].cause, Cause::corruption);
}

TEST(Loss, ABurstLostOnOnePathBlamesNoChannel) {
  MadeUpRun run(8);
  run.background = 1e-5;
  run.probe(2000, 100);
  run.seen.probes[17].lost = 60;  // a host was not scheduled
  run.seen.probes[900].lost = 9;
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_TRUE(diagnosis.links.empty());
  EXPECT_TRUE(diagnosis.hosts.empty());
}

/// So many rows over a channel lose so many packets in one burst; they have no other channel in common.
void lose_over(MadeUpRun& run, std::string_view name, std::size_t rows, std::uint64_t packets) {
  const ChannelId channel = run.channel(name);
  std::vector<ChannelId> met;
  for (Observation& row : run.seen.probes) {
    const auto path = run.seen.paths.channels(run.seen.paths.paths(row.path).front());
    const auto is_new = [&](ChannelId c) { return c == channel || std::ranges::count(met, c) == 0; };
    if (std::ranges::count(path, channel) == 0 || !std::ranges::all_of(path, is_new)) continue;
    if (rows-- == 0) return;
    row.lost = packets;
    met.insert(met.end(), path.begin(), path.end());
  }
}

/// Two bursts on one channel of many, beside bursts of no channel, are not enough to name it, unless they are
/// of the size of those that faults have.
TEST(Loss, FewBurstsTellAFaultWhereTheyAreOfTheSizeOfThoseOfOthers) {
  const auto is_named = [](std::uint64_t packets) {
    MadeUpRun run(1, {.leaves = 24, .spines = 24, .hosts_per_leaf = 8});
    run.probe(25000, 100);
    for (const char* known : {"leaf1->spine1", "spine2->leaf2", "leaf3->spine4"})
      lose_over(run, known, 4, 25);
    lose_over(run, "leaf5->spine6", 2, packets);
    const std::array<std::uint64_t, 4> strays{60, 9, 14, 100};
    for (std::size_t i = 0; i < strays.size(); ++i) run.seen.probes[100 + 77 * i].lost = strays[i];
    const Diagnosis found = run.diagnosed();
    EXPECT_EQ(found.links.size(), 4u);
    return std::ranges::any_of(found.links, [&](const LinkFinding& link) {
      return link.channel == run.channel("leaf5->spine6") && link.verdict > Verdict::unknown;
    });
  };
  EXPECT_TRUE(is_named(25));
  EXPECT_TRUE(is_named(20));
  EXPECT_FALSE(is_named(3));
}

TEST(Loss, TheEvidenceIsWhatAnOperatorReads) {
  MadeUpRun run(9);
  for (std::uint32_t spine = 0; spine < 4; ++spine) {
    const auto path = run.path(0, 4, spine);
    run.seen.probes.push_back({.path = run.seen.paths.only(run.seen.paths.intern(path)),
                               .sent = 10000,
                               .lost = spine == 2 ? 380u : 0u});
    const auto other = run.path(5, 1, spine);
    run.seen.probes.push_back(
        {.path = run.seen.paths.only(run.seen.paths.intern(other)), .sent = 10000, .lost = spine == 1});
  }
  const Assessment assessment = assess(run.fabric, run.seen);
  ASSERT_FALSE(assessment.diagnosis.ambiguous.empty());  // one path in, the same path out: two channels
  ASSERT_EQ(assessment.diagnosis.groups.size(), 1u);
  EXPECT_EQ(assessment.diagnosis.groups[0].evidence[0],
            "380 of 10,000 lost over 1 path; the other paths 1 of 70,000");
  ASSERT_EQ(assessment.hypotheses.size(), 1u);
  EXPECT_GT(assessment.hypotheses[0].packets, 0u);
}

TEST(Loss, TheAnswerDoesNotDependOnTheOrderOfObservations) {
  MadeUpRun run(10);
  run.fault("leaf2->spine3").loss = 0.003;
  run.background = 1e-4;
  run.probe(1500, 100);
  const Diagnosis one = run.diagnosed();
  std::ranges::reverse(run.seen.probes);
  const Diagnosis other = run.diagnosed();
  ASSERT_EQ(one.links.size(), other.links.size());
  for (std::size_t i = 0; i < one.links.size(); ++i) {
    EXPECT_EQ(one.links[i].channel, other.links[i].channel);
    EXPECT_NEAR(one.links[i].confidence, other.links[i].confidence, 1e-6);
  }
}

void tell_pairs(Observations& seen) {
  for (std::uint32_t i = 0; i < seen.probes.size(); ++i)
    seen.probes[i].pair = LabelledPair{PortId(i % 16), PortId((i + 1) % 16), PathLabel(i)};
}

TEST(Loss, NamesTheLabelsThatSufferTheWorstFirst) {
  MadeUpRun run(5);
  run.fault("leaf1->spine2").loss = 0.2;
  run.probe(400, 100);
  tell_pairs(run.seen);
  const Diagnosis diagnosis = diagnose(run.fabric, run.seen);
  ASSERT_EQ(diagnosis.links.size(), 1u);
  const auto& labels = diagnosis.links[0].labels;
  ASSERT_EQ(labels.size(), 8u);
  EXPECT_TRUE(std::ranges::is_sorted(labels, std::greater(), &LabelledLoss::lost));
  for (const LabelledLoss& label : labels) {
    const Observation& probe = run.seen.probes[label.pair.label.value()];
    EXPECT_EQ(label.pair, probe.pair);
    EXPECT_EQ(label.lost, probe.lost);
    const auto path = run.seen.paths.channels(run.seen.paths.paths(probe.path).front());
    EXPECT_EQ(std::ranges::count(path, run.channel("leaf1->spine2")), 1);
  }
}

TEST(Loss, OfALabelCountsOnlyWhatTheNamedLinkDidToIt) {
  MadeUpRun run(6);
  run.fault("leaf1->spine2").loss = 0.3;
  run.fault("spine2->leaf3").loss = 0.1;
  run.fault("leaf2->spine1").corrupt = 0.2;
  run.probe(800, 100);
  tell_pairs(run.seen);
  const Diagnosis diagnosis = diagnose(run.fabric, run.seen);
  ASSERT_EQ(diagnosis.links.size(), 3u);
  for (const LinkFinding& finding : diagnosis.links) {
    ASSERT_FALSE(finding.labels.empty());
    for (const LabelledLoss& label : finding.labels) {
      const Observation& probe = run.seen.probes[label.pair.label.value()];
      EXPECT_EQ(label.lost, finding.cause == Cause::corruption ? probe.corrupt : probe.lost);
      const auto path = run.seen.paths.channels(run.seen.paths.paths(probe.path).front());
      EXPECT_FALSE(std::ranges::count(path, run.channel("leaf1->spine2")) &&
                   std::ranges::count(path, run.channel("spine2->leaf3")))
          << "which of the two lost them is not known";
    }
  }
}

}  // namespace
}  // namespace weft::diagnosis
