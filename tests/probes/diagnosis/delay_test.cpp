// Delays: drawn sets of delayed cables on small fabrics. Round trips are made as the simulator makes them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "probes/diagnosis/diagnose.hpp"
#include "tests/support/draws.hpp"
#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

/// Round trips between NICs of a fabric over its shortest paths, with delays that the test knows.
class RoundTrips {
 public:
  RoundTrips(Fabric made, std::uint64_t seed) : fabric(std::move(made)), random_(seed) {}

  Fabric fabric;
  Observations seen;
  std::map<ChannelId, double> delay;  // microseconds
  double fastest_delay = 1e300;       // the least that any round trip was delayed by
  double background = 0;              // microseconds that every path takes longer

  ChannelId channel(std::string_view name) const { return *fabric.find_channel(name); }
  void delay_cable(std::string_view name, double micros) {
    const LinkId link = *fabric.find_link(name);
    delay[Fabric::a_to_b(link)] = delay[Fabric::b_to_a(link)] = micros;
  }

  /// Some `pairs` pairs of NICs, each over each of its paths and back over another, small and large.
  void probe(std::size_t pairs, bool under_one_leaf) {
    const auto nics = fabric.nics();
    std::vector<std::pair<PortId, PortId>> all;
    for (const PortId a : nics)
      for (const PortId b : nics)
        if (fabric.port(a).node != fabric.port(b).node && (under_one_leaf || leaf_of(a) != leaf_of(b)))
          all.emplace_back(a, b);
    std::ranges::shuffle(all, random_);
    const double share = static_cast<double>(pairs) / static_cast<double>(all.size());
    std::map<std::pair<NodeId, NodeId>, int> used;
    for (const auto& [a, b] : all) {
      const bool first = used[{leaf_of(a), leaf_of(b)}]++ < 2;  // every pair of leaves is probed
      if (first || std::uniform_real_distribution()(random_) < share) probe(a, b);
    }
  }

  Diagnosis diagnosed() const { return diagnose(fabric, seen); }

 private:
  NodeId leaf_of(PortId nic) const { return fabric.target_node(*fabric.channel_from(nic)); }

  std::vector<std::vector<ChannelId>> paths_between(PortId src, PortId dst) const {
    const ChannelId last = *fabric.channel_into(dst);
    std::vector<std::vector<ChannelId>> paths, ways{{*fabric.channel_from(src)}};
    while (paths.empty()) {
      std::vector<std::vector<ChannelId>> longer;
      for (const auto& way : ways)
        for (const PortId port : fabric.ports_of(fabric.target_node(way.back()))) {
          const auto next = fabric.channel_from(port);
          if (!next || *next == Fabric::reverse(way.back())) continue;
          if (fabric.is_host(fabric.target_node(*next)) && *next != last) continue;
          longer.push_back(way);
          longer.back().push_back(*next);
          if (*next == last) paths.push_back(longer.back());
        }
      ways = std::move(longer);
    }
    return paths;
  }

  void probe(PortId src, PortId dst) {
    const auto there = paths_between(src, dst);
    const auto back = paths_between(dst, src);
    std::size_t turn = turn_++;
    for (const auto& path : there) {
      const auto& answer = back[turn++ % back.size()];
      for (const Bytes size : {Bytes(128), Bytes(4160)}) add(path, answer, size);
    }
  }

  void add(const std::vector<ChannelId>& there, const std::vector<ChannelId>& back, Bytes size) {
    double fixed = 4 + background, late = 0;
    for (const auto& way : {there, back})
      for (const ChannelId c : way) {
        fixed += 0.6 + static_cast<double>(size.count()) * 8 / 400'000;
        if (const auto at = delay.find(c); at != delay.end()) late += at->second;
      }
    fastest_delay = std::min(fastest_delay, late);
    const double mean = 0.15 * static_cast<double>(there.size() + back.size());
    const auto quantile = [&](double q) {
      const double scattered =
          -std::log1p(-q) + std::normal_distribution()(random_) * std::sqrt(q / (1 - q) / 30);
      return Nanoseconds(static_cast<std::int64_t>(1e3 * (fixed + late + mean * std::max(scattered, 0.0))));
    };
    const Nanoseconds p50 = quantile(0.5);
    seen.probes.push_back({.path = seen.paths.only(seen.paths.intern(there)),
                           .back = seen.paths.only(seen.paths.intern(back)),
                           .sent = 1000,
                           .size = size,
                           .rtt = RttQuantiles{p50, std::max(p50, quantile(0.99))}});
  }

  std::mt19937_64 random_;
  std::size_t turn_ = 0;
};

std::vector<std::pair<std::string, Fabric>> small_fabrics() {
  std::vector<std::pair<std::string, Fabric>> fabrics;
  for (const auto& [leaves, spines] : {std::pair(2, 2), {2, 4}, {3, 2}, {4, 4}, {6, 6}})
    fabrics.emplace_back(fmt::format("{}x{}", leaves, spines),
                         *make_clos({.leaves = static_cast<std::uint32_t>(leaves),
                                     .spines = static_cast<std::uint32_t>(spines),
                                     .hosts_per_leaf = 2}));
  fabrics.emplace_back(
      "pods", *make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 4, .hosts_per_leaf = 2}));
  fabrics.emplace_back("rails", *make_rails({.groups = 2, .hosts_per_group = 2, .rails = 2, .spines = 2}));
  return fabrics;
}

/// What a diagnosis says of cables.
struct Blamed {
  std::set<LinkId> named;
  std::set<LinkId> in_sets;  // of at most six alternatives
};

Blamed blamed(const Diagnosis& diagnosis) {
  Blamed cables;
  for (const LinkFinding& finding : diagnosis.links)
    if (finding.verdict != Verdict::unknown) cables.named.insert(finding.link);
  for (const HostFinding& finding : diagnosis.hosts)
    if (finding.verdict != Verdict::unknown && finding.link) cables.named.insert(*finding.link);
  for (const OpenSet& set : diagnosis.sets)
    if (set.alternatives.size() <= 6)
      for (const auto& alternative : set.alternatives)
        for (const ChannelId channel : alternative) cables.in_sets.insert(Fabric::link_of(channel));
  return cables;
}

struct Tally {
  std::size_t faults = 0, hits = 0, names = 0, wrong = 0, healthy = 0;
};

/// Delays of 50 us to 5 ms, log-uniform, alike or not, in one direction or both of `cables` cables.
std::set<LinkId> draw_faults(RoundTrips& run, std::size_t cables, std::mt19937_64& random) {
  std::vector<std::uint32_t> links(run.fabric.link_count());
  for (std::uint32_t i = 0; i < links.size(); ++i) links[i] = i;
  std::ranges::shuffle(links, random);
  const auto amount = [&] { return 50 * std::pow(100.0, std::uniform_real_distribution()(random)); };
  const bool alike = random() % 3 == 0;
  const double common = amount();
  const auto directions = random() % 3;  // both, one, either
  std::set<LinkId> faulty;
  for (std::size_t i = 0; i < cables; ++i) {
    const LinkId link(links[i]);
    faulty.insert(link);
    const double micros = alike ? common : amount();
    const bool both = directions == 0 || (directions == 2 && random() % 2 == 0);
    const ChannelId one(2 * links[i] + static_cast<std::uint32_t>(random() % 2));
    run.delay[one] = micros;
    if (both) run.delay[Fabric::reverse(one)] = micros;
  }
  return faulty;
}

void score(const RoundTrips& run, const std::set<LinkId>& faulty, Tally& tally) {
  const Diagnosis diagnosis = run.diagnosed();
  const Blamed cables = blamed(diagnosis);
  tally.healthy += run_verdict(diagnosis) == Verdict::healthy;
  for (const LinkId link : faulty) {
    const bool hit = cables.named.contains(link) || cables.in_sets.contains(link);
    ++tally.faults;
    tally.hits += hit;
  }
  for (const LinkId link : cables.named) {
    ++tally.names;
    tally.wrong += !faulty.contains(link) && !cables.in_sets.contains(link);
  }
}

Tally tally_of(const Fabric& fabric, bool few, bool under_one_leaf, int draws) {
  Tally tally;
  for (int draw = 0; draw < draws; ++draw) {
    std::mt19937_64 random(static_cast<std::uint64_t>(draw) * 7919 + (few ? 1 : 2));
    RoundTrips run(fabric, random());
    const std::size_t half = fabric.link_count() / 2;
    const std::size_t cables = few ? 1 + random() % 3 : 4 + random() % (std::max<std::size_t>(half, 4) - 3);
    const auto faulty = draw_faults(run, cables, random);
    run.probe(100, under_one_leaf);
    if (run.fastest_delay > 0) continue;  // what all round trips share is not told of channels
    score(run, faulty, tally);
  }
  return tally;
}

void expect_found(bool few, bool under_one_leaf, double hits, double wrong) {
  Tally all;
  for (const auto& [name, fabric] : small_fabrics()) {
    const Tally tally = tally_of(fabric, few, under_one_leaf, draws(fabric.link_count() > 40 ? 6 : 20));
    EXPECT_EQ(tally.healthy, 0u) << name;
    EXPECT_GE(static_cast<double>(tally.hits), hits * static_cast<double>(tally.faults)) << name;
    all.names += tally.names;
    all.wrong += tally.wrong;
  }
  EXPECT_LE(static_cast<double>(all.wrong), wrong * static_cast<double>(all.names));
}

TEST(Delay, LongTailsOfBusyHostsDoNotHideWhatLiesFarApart) {
  RoundTrips run(*make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}), 1);
  std::set<LinkId> late;
  for (const auto* cable : {"leaf1--spine1", "leaf2--spine2", "leaf3--spine3", "leaf4--spine4"}) {
    run.delay_cable(cable, 3000);
    late.insert(*run.fabric.find_link(cable));
  }
  run.probe(40, false);
  for (Observation& probe : run.seen.probes)
    probe.rtt->p99 = probe.rtt->p50 + std::chrono::microseconds(probe.size == Bytes(128) ? 2500 : 100);
  EXPECT_EQ(blamed(run.diagnosed()).named, late);
}

TEST(Delays, OfOneToThreeCablesAreNamedOrInASet) { expect_found(true, false, 0.97, 0.005); }
TEST(Delays, OfUpToHalfOfAllCablesAreNamedOrInASet) { expect_found(false, false, 0.90, 0.02); }
TEST(Delays, OfAFewAreToldFromWhatAllPathsShareByHostsUnderOneLeaf) { expect_found(true, true, 0.97, 0.005); }
TEST(Delays, OfManyAreToldFromWhatAllPathsShareByHostsUnderOneLeaf) { expect_found(false, true, 0.90, 0.02); }

Fabric clos(std::uint32_t leaves, std::uint32_t spines) {
  return *make_clos({.leaves = leaves, .spines = spines, .hosts_per_leaf = 2});
}

TEST(Delays, AreNotFoundWhereThereAreNone) {
  for (const auto& [name, fabric] : small_fabrics())
    for (std::uint64_t seed = 1; seed <= draws(10u); ++seed) {
      RoundTrips run(fabric, seed);
      run.probe(100, seed % 2 == 0);
      const Diagnosis diagnosis = run.diagnosed();
      EXPECT_EQ(diagnosis.verdict, Verdict::healthy) << name << seed;
      EXPECT_EQ(diagnosis.account.late, AccountLine{}) << name << seed;
      ASSERT_TRUE(diagnosis.sensitivity.delay) << name;
      EXPECT_LT(*diagnosis.sensitivity.delay, std::chrono::microseconds(50)) << name;
    }
}

TEST(Delays, OfAChannelOnAllPathsShowFromTheToleratedOneOn) {
  RoundTrips run(*make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}), 1);
  run.probe(100, false);
  EXPECT_EQ(run.diagnosed().sensitivity.delay, Tolerance{}.delay);
}

TEST(Delays, OfACableBetweenSwitchesWithTwoNeighboursAreASetOfBothCables) {
  RoundTrips run(clos(2, 2), 1);
  run.delay_cable("leaf1--spine1", 2000);
  run.probe(100, false);
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_EQ(diagnosis.verdict, Verdict::degraded);
  ASSERT_EQ(diagnosis.sets.size(), 1u);
  const auto cable = [&](std::string_view name) {
    const LinkId link = *run.fabric.find_link(name);
    return std::vector{Fabric::a_to_b(link), Fabric::b_to_a(link)};
  };
  EXPECT_EQ((std::set(diagnosis.sets[0].alternatives.begin(), diagnosis.sets[0].alternatives.end())),
            (std::set{cable("leaf1--spine1"), cable("leaf2--spine1")}));
  EXPECT_TRUE(diagnosis.links.empty());
  EXPECT_GT(diagnosis.account.late.open, 0u);
  EXPECT_EQ(diagnosis.account.late.open, diagnosis.account.late.all);
}

/// What all round trips over the spine add is 1.5 ms each way, and 1.5 ms more on one way of two cables.
TEST(Delays, OfTwoChannelsOutOfASwitchWithTwoNeighboursHoldBothWaysOutInTheirSets) {
  RoundTrips run(clos(2, 2), 1);
  run.delay[run.channel("spine2->leaf1")] = 1500;
  run.delay[run.channel("spine2->leaf2")] = 3000;
  run.probe(100, false);
  const Diagnosis diagnosis = run.diagnosed();
  std::set<std::vector<ChannelId>> options;
  for (const auto& set : diagnosis.sets) options.insert(set.alternatives.begin(), set.alternatives.end());
  std::vector ways_out{run.channel("spine2->leaf1"), run.channel("spine2->leaf2")};
  std::ranges::sort(ways_out);
  EXPECT_TRUE(options.contains(ways_out));
  EXPECT_TRUE(options.contains({run.channel("spine2->leaf2")}));
}

TEST(Delays, ThatAHostOnItsOwnMayAddHoldTheCableInTheirSet) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    RoundTrips run(*make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 1}), seed);
    run.delay_cable("leaf2--spine2", 100);
    run.probe(100, false);
    const Blamed cables = blamed(run.diagnosed());
    const LinkId bad = *run.fabric.find_link("leaf2--spine2");
    EXPECT_TRUE(cables.named.contains(bad) || cables.in_sets.contains(bad)) << seed;
  }
}

TEST(Delays, OfAllCablesOfASpineAreASetOfItsUplinksAndItsDownlinks) {
  RoundTrips run(clos(4, 4), 1);
  for (int leaf = 1; leaf <= 4; ++leaf) run.delay_cable(fmt::format("leaf{}--spine1", leaf), 2000);
  run.probe(100, false);
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_EQ(diagnosis.verdict, Verdict::degraded);
  ASSERT_EQ(diagnosis.sets.size(), 1u);
  ASSERT_EQ(diagnosis.sets[0].alternatives.size(), 2u);
  for (const auto& alternative : diagnosis.sets[0].alternatives) {
    EXPECT_EQ(alternative.size(), 4u);
    for (const ChannelId channel : alternative)
      EXPECT_TRUE(run.fabric.name_of(channel).find("spine1") != std::string::npos);
  }
}

/// The fastest round trip of either length crosses a fault.
TEST(Delays, ThatLeaveNoRoundTripOfALengthAloneAreFoundWithTheBase) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    RoundTrips run(clos(2, 2), seed);
    run.delay_cable("host2--leaf1", 220);
    run.delay_cable("host3--leaf2", 2070);
    run.delay_cable("host4--leaf2", 2611);
    run.delay_cable("leaf2--spine2", 140);
    run.probe(100, true);
    const Diagnosis diagnosis = run.diagnosed();
    std::map<std::string, double> told;
    for (const HostFinding& finding : diagnosis.hosts)
      told[run.fabric.name_of(finding.host)] = finding.estimate.value_or(Estimate{}).value * 1e6;
    ASSERT_EQ(told.size(), 3u) << seed;
    EXPECT_NEAR(told["host2"], 440, 5);
    EXPECT_NEAR(told["host3"], 4140, 5);
    EXPECT_NEAR(told["host4"], 5222, 5);
    EXPECT_TRUE(blamed(diagnosis).in_sets.contains(*run.fabric.find_link("leaf2--spine2"))) << seed;
  }
}

TEST(Delays, OfBothDirectionsOfACableAreTwoFindingsOfOneLink) {
  RoundTrips run(clos(4, 4), 1);
  run.delay_cable("leaf1--spine2", 300);
  run.delay[run.channel("leaf3->spine4")] = 700;
  run.probe(100, false);
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 2u);
  for (const LinkFinding& finding : diagnosis.links) {
    const bool both = run.fabric.name_of(finding.link) == "leaf1--spine2";
    EXPECT_EQ(finding.channel.has_value(), !both);
    ASSERT_TRUE(finding.estimate);
    EXPECT_NEAR(finding.estimate->value, both ? 300e-6 : 700e-6, 2e-6);
  }
  EXPECT_TRUE(diagnosis.sets.empty());
  EXPECT_EQ(diagnosis.account.late.found, diagnosis.account.late.all);
}

TEST(Delays, ThatAllPathsShareAreToldOfTheFabricFromTheCeilingOn) {
  for (const double shared : {0.0, 300.0, 3000.0}) {
    RoundTrips run(clos(4, 4), 1);
    run.background = shared;
    run.probe(100, false);
    const Diagnosis diagnosis = run.diagnosed();
    EXPECT_EQ(diagnosis.verdict, shared > 1000 ? Verdict::degraded : Verdict::healthy) << shared;
    EXPECT_EQ(diagnosis.fabric.size(), shared > 1000 ? 1u : 0u) << shared;
    EXPECT_TRUE(diagnosis.links.empty());
  }
}

TEST(Delays, ThatComeAndGoOnOneChannelAreNotExplained) {
  RoundTrips run(clos(4, 4), 1);
  run.probe(300, false);
  const ChannelId channel = run.channel("leaf2->spine3");
  int turn = 0;
  for (Observation& probe : run.seen.probes) {
    const auto crosses = [&](PathSetId set) {
      const auto path = run.seen.paths.channels(run.seen.paths.paths(set)[0]);
      return std::ranges::find(path, channel) != path.end();
    };
    if ((!crosses(probe.path) && !crosses(*probe.back)) || ++turn % 2 == 0) continue;
    probe.rtt->p50 += std::chrono::milliseconds(5);
    probe.rtt->p99 += std::chrono::milliseconds(5);
  }
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_EQ(diagnosis.verdict, Verdict::unknown);
  EXPECT_GT(diagnosis.account.late.unexplained, 0u);
}

TEST(Delays, OfAFewRoundTripsHereAndThereAreTheHostsWhims) {
  RoundTrips run(clos(4, 4), 1);
  run.probe(300, false);
  for (std::size_t i = 7; i < run.seen.probes.size(); i += 37) {
    run.seen.probes[i].rtt->p50 += std::chrono::milliseconds(3);
    run.seen.probes[i].rtt->p99 += std::chrono::milliseconds(3);
  }
  const Diagnosis diagnosis = run.diagnosed();
  EXPECT_EQ(diagnosis.verdict, Verdict::healthy);
  EXPECT_GT(diagnosis.account.late.tolerated, 0u);
  EXPECT_EQ(diagnosis.account.late.tolerated, diagnosis.account.late.all);
}

TEST(Delays, AreTheSameInAnyOrderOfTheObservations) {
  RoundTrips run(clos(3, 2), 1);
  run.delay_cable("leaf1--spine2", 300);
  run.delay_cable("host3--leaf2", 90);
  run.probe(100, false);
  const Blamed first = blamed(run.diagnosed());
  std::ranges::reverse(run.seen.probes);
  const Blamed again = blamed(run.diagnosed());
  EXPECT_EQ(first.named, again.named);
  EXPECT_EQ(first.in_sets, again.in_sets);
}

}  // namespace
}  // namespace weft::diagnosis
