// Counts of ports as observations: what they name alone, together and with probes, and what excludes them.
#include "probes/diagnosis/counters/port_counts.hpp"

#include <gmock/gmock.h>

#include <array>
#include <limits>

#include "made_up_run.hpp"

namespace weft::diagnosis {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kExposure = 5e9;

ChannelCount counted(ChannelId channel, CounterKind kind, std::uint64_t errors, double exposure = kExposure) {
  return {.channel = channel,
          .kind = kind,
          .errors = errors,
          .exposure = exposure,
          .gain = {kind == CounterKind::codewords ? 2.0 : 1.0, 0.5},
          .end = seconds(600),
          .source = "leaf1 Ethernet1/1"};
}

struct CountedRun : MadeUpRun {
  CountedRun() : MadeUpRun(1) { probe(1500, 100); }
  void count(CounterKind kind, std::uint64_t errors, double exposure = kExposure) {
    seen.counts.push_back(counted(channel("spine2->leaf1"), kind, errors, exposure));
  }
};

std::string all_of(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "; "));
}

TEST(PortCounts, OneCounterAloneLeavesTheFabricHealthyWithARemark) {
  for (const std::uint64_t errors : {3u, 500u, 4'000'000u}) {
    CountedRun run;
    run.count(CounterKind::codewords, errors);
    const Diagnosis diagnosis = run.diagnosed();
    EXPECT_EQ(diagnosis.verdict, Verdict::healthy);
    EXPECT_THAT(diagnosis.links, IsEmpty());
    ASSERT_EQ(diagnosis.counters.size(), 1u);
    EXPECT_EQ(diagnosis.counters[0].channel, run.channel("spine2->leaf1"));
    EXPECT_LE(diagnosis.counters[0].probability, kMaxOfOneCounter);
  }
}

TEST(PortCounts, OneCounterThatCountsInEachWindowIsARemarkToo) {
  CountedRun run;
  for (int w = 0; w < 10; ++w) run.count(CounterKind::frames, 50);
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_EQ(diagnosis.verdict, Verdict::healthy);
  ASSERT_EQ(diagnosis.counters.size(), 1u);
  EXPECT_GT(diagnosis.counters[0].probability, 0.5);
  EXPECT_THAT(all_of(diagnosis.counters[0].texts), HasSubstr("in 10 of 10 windows"));
}

TEST(PortCounts, TwoCountersThatAgreeNameTheChannelThatNoProbeSees) {
  CountedRun run;
  run.count(CounterKind::codewords, 250);
  run.count(CounterKind::frames, 510);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, run.channel("spine2->leaf1"));
  EXPECT_EQ(diagnosis.links[0].cause, Cause::counter);
  EXPECT_EQ(diagnosis.verdict, Verdict::degraded);
  EXPECT_THAT(all_of(diagnosis.links[0].evidence),
              HasSubstr("leaf1 Ethernet1/1: 250 of 5e+09 codewords failed in 600 s"));
  EXPECT_THAT(diagnosis.counters, IsEmpty());
}

TEST(PortCounts, TwoSourcesOfOneCounterAreOne) {
  CountedRun run;
  run.count(CounterKind::frames, 510);
  run.count(CounterKind::frames, 510);
  run.seen.counts.back().source = "another exporter";
  run.count(CounterKind::packets, 510);
  EXPECT_THAT(run.diagnosed().links, IsEmpty());
}

/// `exporters`: of the codewords and of the frames.
Diagnosis told_by(std::array<const char*, 2> exporters, std::uint64_t errors) {
  CountedRun run;
  for (int w = 0; w < 10; ++w) {
    run.count(CounterKind::codewords, errors / 2);
    run.seen.counts.back().source = fmt::format("{}: codewords", exporters[0]);
    run.count(CounterKind::frames, errors);
    run.seen.counts.back().source = fmt::format("{}: frames", exporters[1]);
  }
  return run.diagnosed();
}

TEST(PortCounts, OneExporterThatLiesAboutBothCountersNamesNothing) {
  for (const std::uint64_t errors : {4u, 500u, 50'000u, 5'000'000u}) {
    const Diagnosis diagnosis = told_by({"snmp leaf1", "snmp leaf1"}, errors);
    EXPECT_EQ(diagnosis.verdict, Verdict::healthy) << errors;
    EXPECT_THAT(diagnosis.links, IsEmpty()) << errors;
    ASSERT_EQ(diagnosis.counters.size(), 1u) << errors;
    EXPECT_LE(diagnosis.counters[0].probability, kMaxOfOneCounter) << errors;
  }
  EXPECT_THAT(all_of(told_by({"snmp leaf1", "snmp leaf1"}, 500).counters[0].texts),
              HasSubstr("told by one exporter"));
}

TEST(PortCounts, TwoExportersOfACounterEachNameTheChannel) {
  EXPECT_EQ(told_by({"snmp leaf1", "phy leaf1"}, 500).links.size(), 1u);
}

/// The one tells of both counters, the other of the frames alone, and it agrees.
TEST(PortCounts, ASecondExporterOfOneOfTheCountersBearsOutTheOther) {
  CountedRun run;
  const auto count = [&](CounterKind kind, const char* exporter) {
    run.count(kind, kind == CounterKind::codewords ? 250 : 500);
    run.seen.counts.back().source = fmt::format("{}: a counter", exporter);
  };
  count(CounterKind::codewords, "snmp leaf1");
  count(CounterKind::frames, "snmp leaf1");
  EXPECT_THAT(run.diagnosed().links, IsEmpty());
  count(CounterKind::frames, "gnmic leaf1");
  EXPECT_EQ(run.diagnosed().links.size(), 1u);
}

/// Probes lost a few, as many as a healthy run: a false exporter does not make a name of them.
TEST(PortCounts, OneExporterRaisesTheOddsOfProbesByOneCounterAlone) {
  std::vector<ChannelCount> counts;
  for (const auto kind : {CounterKind::codewords, CounterKind::frames}) {
    counts.push_back(counted(ChannelId(0), kind, 5'000'000));
    counts.back().source = "snmp leaf1: a counter";
  }
  EXPECT_LE(nats_for_loss(counts), kMaxForProbes);
  counts[1].source = "gnmic leaf1: a counter";
  EXPECT_GT(nats_for_loss(counts), kMaxForProbes);
}

TEST(PortCounts, ProbesThatLoseNoneExcludeWhatACounterSaysAndTheTextSaysSo) {
  CountedRun run;
  run.count(CounterKind::frames, 10'000'000);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.counters.size(), 1u);
  EXPECT_LT(diagnosis.counters[0].probability, 0.01);
  EXPECT_THAT(all_of(diagnosis.counters[0].texts), HasSubstr("none was lost: it counts what is no loss"));
}

TEST(PortCounts, ASecondCounterThatCountsNoneSpeaksForHealth) {
  const ProbedChannel none;
  const ChannelId channel(0);
  const std::vector one{counted(channel, CounterKind::codewords, 250)};
  const std::vector both{one[0], counted(channel, CounterKind::frames, 0)};
  const auto alone = judge_channel(one, none), beside = judge_channel(both, none);
  EXPECT_LT(beside->probability, alone->probability / 5);
  EXPECT_TRUE(beside->excluded_by_zero);
}

TEST(PortCounts, ACounterTipsTheScalesForALossThatProbesAloneLeaveOpen) {
  MadeUpRun run(3);
  run.fault("leaf2->spine1").loss = 0.0006;
  run.background = 2e-5;
  run.probe(1200, 100);
  const double before = run.confidence_of("leaf2->spine1");
  run.seen.counts.push_back(counted(run.channel("leaf2->spine1"), CounterKind::frames, 3'000'000));
  const double with_one = run.confidence_of("leaf2->spine1");
  EXPECT_GT(with_one, before);
  run.seen.counts.push_back(counted(run.channel("leaf2->spine1"), CounterKind::codewords, 1'500'000));
  EXPECT_GT(run.confidence_of("leaf2->spine1"), std::max(with_one, 0.9));
}

TEST(PortCounts, ALieOfOneWindowIsToldFromALossThatGoesOn) {
  const ProbedChannel none;
  std::vector<ChannelCount> even, heaped;
  for (int w = 0; w < 10; ++w) {
    even.push_back(counted(ChannelId(0), CounterKind::frames, 50, kExposure / 10));
    heaped.push_back(counted(ChannelId(0), CounterKind::frames, w == 4 ? 500 : 0, kExposure / 10));
  }
  EXPECT_GT(judge_channel(even, none)->probability, 3 * judge_channel(heaped, none)->probability);
}

/// 64 clean windows and then 200 bad ones, in either order.
TEST(PortCounts, NoWindowIsPassedOverHoweverManyThereAre) {
  std::vector<ChannelCount> counts;
  for (int w = 0; w < 264; ++w)
    for (const auto kind : {CounterKind::frames, CounterKind::codewords}) {
      counts.push_back(counted(ChannelId(0), kind,
                               w < 64                        ? 0
                               : kind == CounterKind::frames ? 800
                                                             : 400,
                               1e9));
      counts.back().begin = seconds(60 * w), counts.back().end = seconds(60 * w + 60);
    }
  const auto in_order = judge_channel(counts, {});
  std::ranges::reverse(counts);
  EXPECT_GT(in_order->probability, 0.95);
  EXPECT_EQ(judge_channel(counts, {})->probability, in_order->probability);
}

TEST(PortCounts, TheIntervalHoldsWhatWasCountedAndIsAsWideAsItsGain) {
  for (const std::uint64_t errors : {100u, 10'000u, 1'000'000u}) {
    const double exposure = static_cast<double>(errors) / 1.6e-7;
    auto frames = counted(ChannelId(0), CounterKind::frames, errors, exposure);
    auto codewords = counted(ChannelId(0), CounterKind::codewords, errors / 2, exposure);
    frames.gain.spread = codewords.gain.spread = 0;
    const auto judged = judge_channel(std::vector{frames, codewords}, {});
    EXPECT_GT(judged->probability, 0.95) << errors;
    EXPECT_LT(judged->low, 1.6e-7) << errors;
    EXPECT_GT(judged->high, 1.6e-7) << errors;
    EXPECT_LT(judged->high / judged->low, 1.7) << errors;
  }
}

/// One source counts errors, the other reads none: neither silences the other.
TEST(PortCounts, SourcesThatContradictEachOtherAreASuspicionAndNoHealth) {
  CountedRun run;
  run.count(CounterKind::codewords, 4'000);
  run.count(CounterKind::frames, 8'000);
  for (const auto kind : {CounterKind::codewords, CounterKind::frames}) {
    run.count(kind, 0, 2 * kExposure);
    run.seen.counts.back().source = "another exporter";
  }
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_EQ(diagnosis.verdict, Verdict::unknown);
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_LE(diagnosis.links[0].confidence, kMaxOfOneCounter);
  EXPECT_THAT(all_of(diagnosis.links[0].evidence), HasSubstr("contradict each other"));
}

/// By the frames all are bad, which the probes exclude; by the codewords so few that they exclude nothing.
TEST(PortCounts, OfTwoThatSayOtherwiseOnlyThatWhichProbesExcludeIsSaidToCountNoLoss) {
  CountedRun run;
  run.count(CounterKind::frames, 4'000, 8'000);
  run.count(CounterKind::codewords, 20, 5e6);
  const auto diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.counters.size() + diagnosis.links.size(), 1u);
  const auto said =
      all_of(diagnosis.links.empty() ? diagnosis.counters[0].texts : diagnosis.links[0].evidence);
  EXPECT_THAT(said, HasSubstr("the counters say a loss of 8.0e-06"));
  EXPECT_EQ(said.find("it counts what is no loss"), std::string::npos) << said;
}

TEST(PortCounts, ALinkThatTrainedMakesItsCounterLessBelieved) {
  std::vector counts{counted(ChannelId(0), CounterKind::frames, 50)};
  const double before = judge_channel(counts, {})->probability;
  counts[0].link_event = true;
  EXPECT_LT(judge_channel(counts, {})->probability, before / 2);
}

TEST(PortCounts, WhatCannotBeOrIsOldIsPassedOverWithItsReason) {
  const auto bad = [](auto change) {
    auto count = counted(ChannelId(0), CounterKind::frames, 50);
    change(count);
    EXPECT_NE(why_unusable(count), nullptr);
    EXPECT_FALSE(judge_channel(std::vector{count}, {}));
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  bad([](ChannelCount& it) { it.exposure = 0; });
  bad([&](ChannelCount& it) { it.exposure = nan; });
  bad([&](ChannelCount& it) { it.gain.frames_per_error = nan; });
  bad([](ChannelCount& it) { it.gain.frames_per_error = -1; });
  bad([](ChannelCount& it) { it.gain.frames_per_error = 1e-320; });
  bad([](ChannelCount& it) { it.gain.spread = 1e200; });
  bad([](ChannelCount& it) { it.errors = ~std::uint64_t{0}; });
  bad([](ChannelCount& it) { it.kind = CounterKind::discards; });
  bad([](ChannelCount& it) { it.period = seconds(15), it.age = seconds(31); });
}

TEST(PortCounts, HugeCountsGiveProbabilitiesAndNoOtherNumbers) {
  for (const double exposure : {1.0, 1e3, 1e24})
    for (const std::uint64_t errors : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 53}) {
      const std::vector counts{counted(ChannelId(0), CounterKind::codewords, errors, exposure),
                               counted(ChannelId(0), CounterKind::frames, errors, exposure)};
      if (why_unusable(counts[0])) continue;
      const auto judged = judge_channel(counts, {1e6, 3, 1e-6});
      EXPECT_TRUE(judged->probability >= 0 && judged->probability <= 1) << exposure << " " << errors;
      EXPECT_TRUE(judged->low <= judged->loss && judged->loss <= judged->high);
    }
}

TEST(PortCounts, AWindowThatIsTinyBesideAnotherGivesProbabilitiesToo) {
  const std::vector counts{counted(ChannelId(0), CounterKind::frames, 1'000, 1e3),
                           counted(ChannelId(0), CounterKind::frames, 0, 1e24)};
  const auto judged = judge_channel(counts, {});
  EXPECT_TRUE(judged->probability >= 0 && judged->probability <= 1);
}

TEST(PortCounts, WithoutAnErrorNothingIsAddedToTheSearchForLosses) {
  CountedRun run;
  run.count(CounterKind::frames, 0);
  EXPECT_THAT(counted_nats(run.fabric, run.seen), IsEmpty());
  EXPECT_THAT(run.diagnosed().counters, IsEmpty());
}

TEST(PortCounts, AnUnknownChannelIsPassedOver) {
  CountedRun run;
  run.seen.counts.push_back(counted(ChannelId(1'000'000), CounterKind::frames, 50));
  EXPECT_THAT(run.diagnosed().counters, IsEmpty());
}

}  // namespace
}  // namespace weft::diagnosis
