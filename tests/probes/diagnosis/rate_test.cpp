// Channels held below their rate: many of them, in small fabrics, through the planner of a sweep and the
// simulator's sharing of load.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "swept.hpp"
#include "tests/support/draws.hpp"
#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

std::set<ChannelId> directions(LinkId link, std::optional<ChannelId> channel) {
  if (channel) return {*channel};
  return {Fabric::a_to_b(link), Fabric::b_to_a(link)};
}

/// The channels that a diagnosis names, by cause.
std::set<ChannelId> named(const Diagnosis& diagnosis, Cause cause) {
  std::set<ChannelId> channels;
  for (const LinkFinding& found : diagnosis.links)
    if (found.cause == cause && found.verdict != Verdict::unknown)
      channels.merge(directions(found.link, found.channel));
  for (const HostFinding& found : diagnosis.hosts)
    if (found.link && found.cause == cause && found.verdict != Verdict::unknown)
      channels.merge(directions(*found.link, found.channel));
  return channels;
}
/// Those of open sets, or under suspicion.
std::set<ChannelId> suspected(const Diagnosis& diagnosis) {
  std::set<ChannelId> channels;
  for (const OpenSet& set : diagnosis.sets)
    for (const auto& alternative : set.alternatives) channels.insert(alternative.begin(), alternative.end());
  return channels;
}

std::string told(const Fabric& fabric, const Diagnosis& diagnosis) {
  std::string text = fmt::format("verdict {}\n", to_string(diagnosis.verdict));
  const auto one = [&](const std::string& where, Verdict verdict, Cause cause, auto confidence,
                       auto& estimate) {
    text += fmt::format("  {}: {} {} confidence {:.3f} estimate {:.3f}\n", where, to_string(verdict),
                        to_string(cause), confidence, estimate ? estimate->value : -1.0);
  };
  for (const LinkFinding& found : diagnosis.links)
    one(found.channel ? fabric.name_of(*found.channel) : fabric.name_of(found.link), found.verdict,
        found.cause, found.confidence, found.estimate);
  for (const HostFinding& found : diagnosis.hosts)
    one(found.channel ? fabric.name_of(*found.channel) : fabric.name_of(found.host), found.verdict,
        found.cause.value_or(Cause::counter), found.confidence.value_or(-1), found.estimate);
  for (const OpenSet& set : diagnosis.sets) {
    text += fmt::format("  set {} {} {:.3f}:", to_string(set.verdict), to_string(set.cause), set.confidence);
    for (const auto& alternative : set.alternatives) {
      text += " {";
      for (const ChannelId channel : alternative) text += fabric.name_of(channel) + " ";
      text += "}";
    }
    text += "\n";
  }
  for (const ChannelId channel : diagnosis.coverage.rate_untested)
    text += "  untested " + fabric.name_of(channel) + "\n";
  const AccountLine& slow = diagnosis.account.slow;
  text += fmt::format("  slow {} found {} open {} excused {} tolerated {} unexplained {}\n", slow.all,
                      slow.found, slow.open, slow.excused, slow.tolerated, slow.unexplained);
  return text;
}

Fabric clos(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts) {
  return make_clos({.leaves = leaves, .spines = spines, .hosts_per_leaf = hosts}).value();
}

TEST(Rate, TheSameShareOnEveryLeafAndSpineOnceIsNamedAllFourTimes) {
  const Fabric fabric = clos(4, 4, 4);
  std::vector<std::string> faults;
  std::set<ChannelId> slow;
  for (int i = 1; i <= 4; ++i) {
    faults.push_back(fmt::format("leaf{}--spine{}:rate=100G", i, i));
    slow.merge(directions(*fabric.find_link(fmt::format("leaf{}--spine{}", i, i)), std::nullopt));
  }
  const Diagnosis diagnosis = swept(fabric, faults, {.seed = 1});
  EXPECT_EQ(named(diagnosis, Cause::rate), slow) << told(fabric, diagnosis);
  EXPECT_EQ(diagnosis.verdict, Verdict::degraded);
  for (const LinkFinding& found : diagnosis.links) EXPECT_NEAR(found.estimate->value, 0.25, 0.02);
}

TEST(Rate, OneCableAmongManyHostsOfASmallFabricIsNotHealthy) {
  const Fabric fabric = clos(2, 2, 6);
  const Diagnosis diagnosis = swept(fabric, {"leaf1--spine1:rate=100G"}, {.seed = 1});
  EXPECT_NE(diagnosis.verdict, Verdict::healthy) << told(fabric, diagnosis);
  EXPECT_TRUE(suspected(diagnosis).contains(*fabric.find_channel("leaf1->spine1")))
      << told(fabric, diagnosis);
  EXPECT_TRUE(suspected(diagnosis).contains(*fabric.find_channel("spine1->leaf1")))
      << told(fabric, diagnosis);
}

TEST(Rate, WhatHeavyLossTakesFromFlowsIsNeitherSlownessNorCongestion) {
  const Fabric fabric = clos(4, 4, 4);
  std::vector<std::string> faults;
  for (int i = 1; i <= 4; ++i) faults.push_back(fmt::format("leaf{}--spine{}:loss=20%,from=leaf{}", i, i, i));
  const Diagnosis diagnosis = swept(fabric, faults, {.seed = 1});
  EXPECT_TRUE(named(diagnosis, Cause::rate).empty()) << told(fabric, diagnosis);
  EXPECT_TRUE(named(diagnosis, Cause::congestion).empty()) << told(fabric, diagnosis);
}

/// How the rates of drawn cables are judged.
struct Score {
  int runs = 0, healthy = 0, faults = 0, told = 0, named = 0, wrong = 0, bad_estimates = 0;
  std::string worst;
  void add(const Score& other) {
    runs += other.runs, healthy += other.healthy, faults += other.faults, told += other.told;
    named += other.named, wrong += other.wrong, bad_estimates += other.bad_estimates;
    worst += other.worst;
  }
  std::string text() const {
    return fmt::format("{} runs, {} healthy; {} faults, {} told, {} named; {} wrong, {} estimates off\n",
                       runs, healthy, faults, told, named, wrong, bad_estimates) +
           worst;
  }
};

/// `most` cables at most (at least `least`) are held to .1 to .8 of their rate, in one direction or both.
void judge(const Fabric& fabric, std::size_t least, std::size_t most, int draws, Score& score) {
  for (int draw = 0; draw < draws; ++draw) {
    std::mt19937_64 random(static_cast<std::uint64_t>(draw) * 977 + most + fabric.channel_count());
    std::vector<std::uint32_t> links(fabric.links().size());
    std::iota(links.begin(), links.end(), 0U);
    std::ranges::shuffle(links, random);
    links.resize(std::uniform_int_distribution<std::size_t>(least, most)(random));
    std::map<ChannelId, double> slow;
    std::vector<FaultSpec> faults;
    for (const std::uint32_t at : links) {
      const LinkId link(at);
      const double share = std::uniform_real_distribution(0.1, 0.8)(random);
      FaultSpec fault{.link = link, .rate = fabric.link(link).rate * share};
      if (const auto way = random() % 3; way > 0)
        fault.channel = way == 1 ? Fabric::a_to_b(link) : Fabric::b_to_a(link);
      for (const ChannelId channel : directions(link, fault.channel)) slow[channel] = share;
      faults.push_back(fault);
    }
    const Diagnosis diagnosis = swept(fabric, faults, {.seed = static_cast<std::uint64_t>(draw) + 1});
    ++score.runs;
    bool odd = diagnosis.verdict == Verdict::healthy;
    if (odd) ++score.healthy;
    const auto names = named(diagnosis, Cause::rate);
    const auto others = named(diagnosis, Cause::congestion);
    const auto sets = suspected(diagnosis);
    for (const auto& [channel, share] : slow) {
      ++score.faults;
      if (names.contains(channel)) ++score.named;
      if (names.contains(channel) || sets.contains(channel))
        ++score.told;
      else
        odd = true;
    }
    for (const auto& list : {names, others})
      for (const ChannelId channel : list)
        if (!slow.contains(channel) || &list != &names) {
          if (!slow.contains(channel) || others.contains(channel)) ++score.wrong, odd = true;
        }
    for (const LinkFinding& found : diagnosis.links)
      if (found.estimate && found.channel && found.cause == Cause::rate && slow.contains(*found.channel) &&
          std::abs(found.estimate->value - slow[*found.channel]) > 0.03)
        ++score.bad_estimates, odd = true;
    if (odd && score.worst.size() < 6000) {
      score.worst += fmt::format("draw {}:\n", draw);
      for (const FaultSpec& fault : faults) score.worst += "  fault " + to_string(fabric, fault) + "\n";
      score.worst += told(fabric, diagnosis);
    }
  }
}

struct Sized {
  std::string name;
  Fabric fabric;
};

std::vector<Sized> fabrics() {
  return {
      {"2x2", clos(2, 2, 2)},
      {"2x4", clos(2, 4, 2)},
      {"3x2", clos(3, 2, 2)},
      {"4x4", clos(4, 4, 2)},
      {"6x6", clos(6, 6, 2)},
      {"4x4, 6 hosts a leaf", clos(4, 4, 6)},
      {"pods", make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 2}).value()},
      {"rails", make_rails({.groups = 2, .hosts_per_group = 2, .rails = 2, .spines = 2}).value()}};
}

constexpr int kDraws = draws(12);

TEST(Rate, OneToThreeDrawnCablesAreNamedOrInASet) {
  Score all;
  for (const Sized& sized : fabrics()) {
    Score score;
    judge(sized.fabric, 1, 3, kDraws, score);
    EXPECT_EQ(score.healthy, 0) << sized.name << ": " << score.text();
    EXPECT_EQ(score.wrong, 0) << sized.name << ": " << score.text();
    EXPECT_EQ(score.bad_estimates, 0) << sized.name << ": " << score.text();
    all.add(score);
  }
  EXPECT_GE(all.told, 0.97 * all.faults) << all.text();
}

TEST(Rate, SoAreMostOfUpToHalfOfAllCables) {
  Score all;
  for (const Sized& sized : fabrics()) {
    Score score;
    judge(sized.fabric, 4, std::max<std::size_t>(sized.fabric.links().size() / 2, 4), kDraws, score);
    EXPECT_EQ(score.healthy, 0) << sized.name << ": " << score.text();
    if (!kSanitized) {
      EXPECT_GE(score.told, 0.85 * score.faults) << sized.name << ": " << score.text();
    }
    all.add(score);
  }
  EXPECT_GE(all.told, 0.90 * all.faults) << all.text();
  EXPECT_LE(all.wrong, 0.02 * all.named) << all.text();
  EXPECT_LE(all.bad_estimates, 0.02 * all.named) << all.text();
}

// Flows that fill a channel before another: it lets through what it carries, and no more reaches the other.

Diagnosis congested(const Fabric& fabric, const std::vector<std::string>& faults, std::uint64_t seed) {
  return swept(fabric, faults, {.seed = seed});
}

TEST(Congestion, AChannelIsNotPressedWithMoreThanTheOneBeforeItCarries) {
  const Fabric fabric =
      make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 1, .link = Bandwidth::gbit(100)}).value();
  const auto idle = fabric.find_channel("spine2->leaf1").value();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto diagnosis =
        congested(fabric, {"host1--leaf1:load=60G,from=leaf1", "leaf1--spine1:load=80G"}, seed);
    EXPECT_FALSE(named(diagnosis, Cause::congestion).contains(idle)) << told(fabric, diagnosis);
  }
}

/// Sets whose alternatives all have a good channel.
std::size_t false_sets(const Diagnosis& diagnosis, const std::set<ChannelId>& bad) {
  return static_cast<std::size_t>(std::ranges::count_if(diagnosis.sets, [&](const OpenSet& set) {
    return std::ranges::none_of(set.alternatives, [&](const auto& alternative) {
      return std::ranges::all_of(alternative, [&](ChannelId channel) { return bad.contains(channel); });
    });
  }));
}

TEST(Congestion, AHostThatFillsItsCableForTwoCongestedOnesIsNoSuspect) {
  const Fabric fabric =
      make_clos({.leaves = 3, .spines = 1, .hosts_per_leaf = 1, .link = Bandwidth::gbit(100)}).value();
  std::set<ChannelId> bad;
  for (const auto* name : {"leaf1->host1", "host1->leaf1", "leaf2->host2", "host2->leaf2"})
    bad.insert(fabric.find_channel(name).value());
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const auto both = congested(fabric, {"host1--leaf1:load=95G", "host2--leaf2:load=60G"}, seed);
    EXPECT_EQ(false_sets(both, bad), 0u) << told(fabric, both);
    const auto one = congested(fabric, {"host1--leaf1:load=95G,from=leaf1", "host2--leaf2:load=60G"}, seed);
    EXPECT_EQ(false_sets(one, bad), 0u) << told(fabric, one);
  }
}

TEST(Congestion, IsNotSureWhereACableInSeriesIsLateAndOneIsSlow) {
  const Fabric fabric =
      make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 2, .hosts_per_leaf = 2}).value();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const auto diagnosis = congested(fabric, {"spine2--core2:rate=307G", "spine4--core2:delay=648us"}, seed);
    for (const OpenSet& set : diagnosis.sets) EXPECT_NE(set.verdict, Verdict::congested) << seed;
    EXPECT_EQ(diagnosis.verdict, Verdict::degraded) << told(fabric, diagnosis);
  }
}

// Loads of a job's patterns, whose flows are many and small.

Diagnosis loaded(std::uint64_t seed, LoadPattern pattern, const std::vector<std::string>& faults) {
  const auto fabric =
      make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2, .link = Bandwidth::gbit(100)}).value();
  return swept(fabric, faults, {.seed = seed, .pattern = pattern});
}

TEST(Congestion, OfACableIsNotThatOfASlowOneWhoseFlowsGoOnByIt) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 3, .hosts_per_leaf = 3}).value();
  for (const std::uint64_t seed : {1, 2, 3}) {  // all three named both for congestion
    const auto found =
        swept(fabric, std::vector<std::string>{"leaf2--spine2:rate=214G", "leaf1--spine2:load=468G"},
              {.seed = seed});
    std::vector<std::string> named;
    for (const LinkFinding& link : found.links)
      if (link.verdict != Verdict::unknown)
        named.push_back(fmt::format("{} {}", fabric.name_of(link.link), to_string(link.cause)));
    std::ranges::sort(named);
    EXPECT_EQ(named, (std::vector<std::string>{"leaf1--spine2 congestion", "leaf2--spine2 rate"})) << seed;
  }
}

TEST(PatternLoad, OfAnIncastWhoseFlowsAreSmallASlowCableIsNotHealthy) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto diagnosis = loaded(seed, LoadPattern::incast, {"leaf2--spine1:rate=30G"});
    EXPECT_NE(diagnosis.verdict, Verdict::healthy) << seed;
  }
}

TEST(PatternLoad, GoodHostsWhoseFlowsCrossASlowCableAreNotNamed) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const auto diagnosis = loaded(seed, LoadPattern::all_pairs, {"leaf2--spine1:rate=30G"});
    EXPECT_EQ(diagnosis.links.size(), 1u) << seed;
    EXPECT_TRUE(diagnosis.hosts.empty()) << seed;
  }
}

TEST(PatternLoad, AHealthyFabricIsHealthyUnderEach) {
  for (const auto pattern : {LoadPattern::incast, LoadPattern::all_pairs})
    EXPECT_EQ(loaded(1, pattern, {}).verdict, Verdict::healthy);
}

}  // namespace
}  // namespace weft::diagnosis
