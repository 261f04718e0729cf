// From which probability on a suspicion gets a name, and until which one further probes are asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "made_up_run.hpp"
#include "probes/diagnosis/report.hpp"
#include "tests/support/draws.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

Verdict verdict_at(double probability, Cause cause) {
  const MadeUpRun run(1);
  Report report(run.fabric);
  report.add(Found{.channels = {run.channel("leaf1->spine2")},
                   .cause = cause,
                   .estimate = Estimate{0.01, 0.01, 0.01},
                   .probability = probability});
  return std::move(report).finish({}).diagnosis.links.front().verdict;
}

TEST(Naming, CountedPacketsNameFromSevenInEightOnAndModelsOfNoiseAndCountersFromNineteenInTwenty) {
  for (const Cause cause : {Cause::loss, Cause::down, Cause::mtu, Cause::corruption}) {
    EXPECT_EQ(verdict_at(0.86, cause), Verdict::unknown) << to_string(cause);
    EXPECT_EQ(verdict_at(0.88, cause), verdict_of(cause, 0.01)) << to_string(cause);
  }
  for (const Cause cause : {Cause::delay, Cause::rate, Cause::congestion, Cause::counter}) {
    EXPECT_EQ(verdict_at(0.91, cause), Verdict::unknown) << to_string(cause);
    EXPECT_EQ(verdict_at(0.96, cause), verdict_of(cause, 0.01)) << to_string(cause);
  }
}

/// What is said of a cable of which the one direction has `first`, the other `second`.
double joined(std::string_view channel, Cause cause, double first, double second) {
  const MadeUpRun run(1);
  Report report(run.fabric);
  for (const double value : {first, second})
    report.add(
        Found{.channels = {value == first ? run.channel(channel) : Fabric::reverse(run.channel(channel))},
              .cause = cause,
              .estimate = Estimate{value, value, value},
              .probability = 0.99});
  const Diagnosis diagnosis = std::move(report).finish({}).diagnosis;
  return diagnosis.links.empty() ? diagnosis.hosts.at(0).estimate->value
                                 : diagnosis.links.at(0).estimate->value;
}

TEST(Naming, OfACableThatIsBadBothWaysTheWorseIsStated) {
  for (const auto* cable : {"leaf1->spine2", "host1->leaf1"})
    for (const auto& [a, b] : {std::pair{0.01, 0.04}, std::pair{0.04, 0.01}}) {
      EXPECT_EQ(joined(cable, Cause::loss, a, b), 0.04) << cable;
      EXPECT_EQ(joined(cable, Cause::delay, a, b), 0.04) << cable;
      EXPECT_EQ(joined(cable, Cause::rate, a, b), 0.01) << cable;
      EXPECT_EQ(joined(cable, Cause::mtu, a, b), 0.01) << cable;
    }
}

TEST(Naming, AnIntervalHoldsItsValue) {
  const MadeUpRun run(1);
  Report report(run.fabric);
  report.add(Found{.channels = {run.channel("leaf1->spine2")},
                   .estimate = Estimate{0.5, 0.50000001, 0.49999999},
                   .probability = 0.99});
  const Estimate said = *std::move(report).finish({}).diagnosis.links.at(0).estimate;
  EXPECT_LE(said.low, said.value);
  EXPECT_GE(said.high, said.value);
}

TEST(Naming, AGroupOfNeighboursListsEachChannelOnce) {
  const MadeUpRun run(1);
  Report report(run.fabric);
  report.add(Found{.nodes = {*run.fabric.find_node("leaf1"), *run.fabric.find_node("host1")},
                   .cause = Cause::loss,
                   .probability = 0.99});
  const auto channels = std::move(report).finish({}).diagnosis.groups.at(0).channels;
  EXPECT_EQ(std::set(channels.begin(), channels.end()).size(), channels.size());
}

TEST(Naming, OfASetOfManyTheLikeliestAreListedAndThatThereAreMoreIsSaid) {
  const MadeUpRun run(1);
  for (const std::size_t count : {6u, 7u}) {
    Report report(run.fabric);
    Found found{.cause = Cause::rate, .probability = 0.99};
    for (std::uint32_t i = 0; i < count; ++i)
      found.alternatives.push_back({run.channel(fmt::format("host{}->leaf{}", 16 - i, (15 - i) / 4 + 1))});
    report.add(found);
    const Diagnosis diagnosis = std::move(report).finish({}).diagnosis;
    ASSERT_EQ(diagnosis.sets.size(), 1u);
    const OpenSet& set = diagnosis.sets[0];
    EXPECT_EQ(set.alternatives, std::vector(found.alternatives.begin(), found.alternatives.begin() + 6));
    EXPECT_EQ(set.more, count > 6);
    EXPECT_EQ(diagnosis.groups.at(0).channels.size(), count) << "the one that is not listed may be at fault";
  }
}

TEST(Naming, WhatIsNamedAndNotYetSureIsStillAsked) {
  std::size_t met = 0;
  for (std::uint64_t seed = 1; seed <= 900 && met < 3; ++seed) {
    MadeUpRun run(seed);
    run.fault("leaf2->spine3").loss = 0.0015;
    run.background = 5e-5;
    run.probe(1000, 100);
    const Assessment assessment = assess(run.fabric, run.seen);
    for (const LinkFinding& finding : assessment.diagnosis.links) {
      if (finding.verdict == Verdict::unknown || finding.confidence >= kSure) continue;
      ++met;
      EXPECT_TRUE(std::ranges::any_of(assessment.hypotheses, [&](const Hypothesis& hypothesis) {
        return std::ranges::find(hypothesis.channels, *finding.channel) != hypothesis.channels.end();
      })) << seed;
    }
  }
  EXPECT_EQ(met, 3u);
}

struct Named {
  int hosts = 0, links = 0;
};
/// Most hosts' cables lose, both ways and so many packets at a time. Routed by destination, all that comes to
/// a host comes by one channel, which no other host's packets take: what it loses is the host's cable's but
/// for what comes from beside it, and there chance misleads.
Named named_behind_bad_hosts(std::uint64_t seed, std::uint64_t run) {
  constexpr std::uint32_t kHosts = 10, kSpines = 5;
  constexpr double kLosses[kHosts] = {.039, .013, .025, .1, .05, .064, 0, .01, .399, .118};
  MadeUpRun made(seed, {.leaves = 5, .spines = kSpines, .hosts_per_leaf = 2});
  for (std::uint32_t host = 0; host < kHosts; ++host)
    for (const char* way : {"host{0}->leaf{1}", "leaf{1}->host{0}"}) {
      MadeUpFault& fault = made.fault(fmt::format(fmt::runtime(way), host + 1, host / 2 + 1));
      fault.loss = kLosses[host], fault.run = run;
    }
  for (std::uint32_t from = 0; from < kHosts; ++from)
    for (std::uint32_t to = 0; to < kHosts; ++to) {
      if (from == to) continue;
      auto path = made.path(from, to, to % kSpines);
      if (from / 2 == to / 2) path = {path.front(), path.back()};
      for (int row = 0; row < 2; ++row) made.probe_over(path, 900);
    }
  const Diagnosis diagnosis = made.diagnosed();
  const auto is_named = [](const auto& it) { return it.verdict > Verdict::unknown; };
  return {static_cast<int>(std::ranges::count_if(diagnosis.hosts, is_named)),
          static_cast<int>(std::ranges::count_if(diagnosis.links, is_named))};
}

TEST(Naming, WhatTheErrorsOfOtherFaultsMakeIsNotNamed) {
  // Of runs the order is not known here: how far they scatter is an estimate.
  for (const auto& [run, most] : {std::pair(1u, 50), {10u, 4}}) {
    Named all;
    for (int seed = 1; seed <= draws(8); ++seed) {
      const Named its = named_behind_bad_hosts(static_cast<std::uint64_t>(seed), run);
      all.hosts += its.hosts, all.links += its.links;
    }
    EXPECT_LE(all.links, all.hosts / most) << run;
    EXPECT_GE(all.hosts, draws(8) * 4) << run;
  }
}

TEST(Naming, AHostIsNamedWhereItsCableOrAllOfItIsAtFaultAndNobodyCanTellWhich) {
  MadeUpRun run(1);
  const auto add = [&](std::uint32_t from, std::uint32_t to, std::uint32_t spine, std::uint64_t lost) {
    run.seen.probes.push_back({.path = run.seen.paths.only(run.seen.paths.intern(run.path(from, to, spine))),
                               .sent = 100,
                               .lost = lost});
  };
  for (std::uint32_t from = 1; from < 16; ++from)
    for (std::uint32_t to = 1; to < 16; ++to)
      for (std::uint32_t spine = 0; from / 4 != to / 4 && spine < 4; ++spine) add(from, to, spine, 0);
  // host1 sends 4,800 packets, of which 16 are lost; that it got all of 300 says little.
  for (std::uint32_t to = 4; to < 16; ++to)
    for (std::uint32_t spine = 0; spine < 4; ++spine) add(0, to, spine, (to + spine) % 3 == 0 ? 1 : 0);
  for (const std::uint32_t from : {4u, 8u, 12u}) add(from, 0, 0, 0);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.hosts.size(), 1u);
  EXPECT_EQ(diagnosis.hosts[0].host, *run.fabric.find_node("host1"));
  EXPECT_EQ(diagnosis.hosts[0].verdict, Verdict::degraded);
  EXPECT_EQ(diagnosis.hosts[0].cause, Cause::loss);
  EXPECT_EQ(diagnosis.hosts[0].evidence.back(), "not enough evidence to tell which");
  EXPECT_TRUE(diagnosis.links.empty() && diagnosis.groups.empty());
}

TEST(Naming, WhatTimeWasTooShortToChallengeIsOpen) {
  MadeUpRun run(5);
  std::set<ChannelId> bad;
  for (const char* name :
       {"leaf1->spine2", "leaf2->spine2", "spine3->leaf4", "leaf3->spine1", "host7->leaf2"}) {
    run.fault(name).loss = 0.02;
    bad.insert(run.channel(name));
  }
  run.probe(600, 200);
  const auto named_of = [](const Diagnosis& diagnosis) {
    std::set<ChannelId> named;
    for (const LinkFinding& finding : diagnosis.links)
      if (finding.verdict > Verdict::unknown && finding.channel) named.insert(*finding.channel);
    for (const HostFinding& finding : diagnosis.hosts)
      if (finding.verdict > Verdict::unknown && finding.channel) named.insert(*finding.channel);
    return named;
  };
  ASSERT_EQ(named_of(run.diagnosed()), bad);
  std::set<std::size_t> counts;
  std::set<ChannelId> named;
  for (int most = 0; named != bad; most += 1 + most / 4) {
    ASSERT_LT(most, 100'000);
    int polled = 0;
    const auto diagnosis = diagnose(run.fabric, run.seen, {}, [&] { return ++polled > most; });
    EXPECT_NE(diagnosis.verdict, Verdict::healthy) << most;
    named = named_of(diagnosis);
    counts.insert(named.size());
    for (const ChannelId channel : named) EXPECT_TRUE(bad.contains(channel)) << most;
  }
  EXPECT_TRUE(counts.contains(0) && counts.size() > 2) << ::testing::PrintToString(counts);
}

}  // namespace
}  // namespace weft::diagnosis
