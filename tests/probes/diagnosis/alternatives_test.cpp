// Faults that other faults look like: what is named, and what stands in a set with the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "made_up_run.hpp"
#include "probes/diagnosis/counts/alternatives.hpp"
#include "swept.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::diagnosis {
namespace {

/// 4x4 with two hosts a leaf; every pair of hosts by every spine loses its share of `sent` packets, to the
/// packet, so that nothing here is chance.
class ExactRun {
 public:
  MadeUpRun run{1, {.leaves = 4, .spines = 4, .hosts_per_leaf = 2}};

  /// Both ways.
  void lose(const std::string& a, const std::string& b, double share) {
    loss_[run.channel(a + "->" + b)] = share;
    loss_[run.channel(b + "->" + a)] = share;
  }
  Diagnosis diagnosed(std::uint64_t sent) {
    run.seen = {};
    for (std::uint32_t from = 0; from < 8; ++from)
      for (std::uint32_t to = 0; to < 8; ++to)
        for (std::uint32_t spine = 0; spine < (from / 2 == to / 2 ? 1 : 4) && from != to; ++spine) {
          auto path = run.path(from, to, spine);
          if (from / 2 == to / 2) path = {path.front(), path.back()};
          double passes = 1;
          for (const ChannelId channel : path) passes *= 1 - loss_[channel];
          const auto lost = std::llround(static_cast<double>(sent) * (1 - passes));
          run.seen.probes.push_back({.path = run.seen.paths.only(run.seen.paths.intern(path)),
                                     .sent = sent,
                                     .lost = static_cast<std::uint64_t>(lost)});
        }
    return run.diagnosed();
  }

 private:
  std::map<ChannelId, double> loss_;
};

bool in_a_set(const Fabric& fabric, const Diagnosis& diagnosis, std::string_view name) {
  const ChannelId wanted = *fabric.find_channel(name);
  return std::ranges::any_of(diagnosis.sets, [&](const OpenSet& set) {
    return std::ranges::any_of(set.alternatives, [&](const auto& alternative) {
      return std::ranges::find(alternative, wanted) != alternative.end();
    });
  });
}

bool is_likeliest(const Fabric& fabric, const Diagnosis& diagnosis, std::string_view name) {
  const ChannelId wanted = *fabric.find_channel(name);
  return std::ranges::any_of(diagnosis.sets, [&](const OpenSet& set) {
    return std::ranges::find(set.alternatives.front(), wanted) != set.alternatives.front().end();
  });
}

bool is_named(const Fabric& fabric, const Diagnosis& diagnosis, std::string_view name) {
  const ChannelId wanted = *fabric.find_channel(name);
  const auto names = [&](const auto& found) {
    return found.verdict > Verdict::unknown && found.link == Fabric::link_of(wanted) &&
           found.channel.value_or(wanted) == wanted;
  };
  const auto is_whole_host = [&](const HostFinding& found) {
    return found.verdict > Verdict::unknown && !found.link &&
           (found.host == fabric.source_node(wanted) || found.host == fabric.target_node(wanted));
  };
  return std::ranges::any_of(diagnosis.links, names) || std::ranges::any_of(diagnosis.hosts, names) ||
         std::ranges::any_of(diagnosis.hosts, is_whole_host);
}

/// The same sweeps as `weft simulate --seed N` of a fabric file with these faults.
Diagnosis swept_4x4(const Fabric& fabric, std::uint64_t seed, const std::vector<std::string>& faults) {
  return swept(fabric, faults, {.seed = seed, .probes_per_second = 1500});
}

TEST(Alternatives, CablesThatFitAsWellAsTheirSwitchStandBesideIt) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}).value();
  // leaf4--spine1, and then leaf2--spine1, are good. Neither sweep tells them from the whole of spine1.
  const Diagnosis one =
      swept_4x4(fabric, 105105832260214,
                {"host2--leaf1:loss=0.378%", "host8--leaf4:loss=0.971%", "leaf1--spine1:loss=0.461%",
                 "leaf1--spine2:loss=2.253%", "leaf2--spine1:loss=0.464%", "leaf3--spine1:loss=0.225%",
                 "leaf4--spine2:loss=0.328%", "leaf4--spine3:loss=0.639%"});
  const Diagnosis other = swept_4x4(
      fabric, 97308203739633,
      {"host3--leaf2:loss=0.25%", "leaf1--spine1:loss=0.246%", "leaf1--spine3:loss=0.605%",
       "leaf2--spine4:loss=1.372%,from=spine4", "leaf3--spine1:loss=2.418%",
       "leaf3--spine4:loss=3.368%,from=spine4", "leaf4--spine1:loss=4.302%", "leaf4--spine2:loss=2.031%"});
  for (const auto* channel : {"leaf1->spine1", "leaf2->spine1", "leaf3->spine1"})
    EXPECT_TRUE(in_a_set(fabric, one, channel)) << channel;
  EXPECT_TRUE(in_a_set(fabric, other, "leaf1->spine1"));
  // What is sure is no part of the question.
  EXPECT_TRUE(is_named(fabric, other, "leaf3->spine1"));
  EXPECT_FALSE(in_a_set(fabric, other, "leaf3->spine1"));
}

TEST(Alternatives, OneHostsCableIsAtLeastAsLikelyAsItsLeafsUplinks) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}).value();
  const Diagnosis diagnosis =
      swept_4x4(fabric, 272189995080038,
                {"host4--leaf2:loss=0.413%", "host5--leaf3:loss=0.206%", "host7--leaf4:loss=4.666%",
                 "host8--leaf4:loss=0.223%", "leaf1--spine3:loss=0.827%", "leaf1--spine4:loss=0.832%",
                 "leaf2--spine1:loss=0.213%", "leaf3--spine2:loss=2.933%", "leaf3--spine3:loss=0.245%",
                 "leaf4--spine2:loss=1.552%"});
  for (const auto* channel : {"host8->leaf4", "leaf4->host8"})
    EXPECT_TRUE(is_named(fabric, diagnosis, channel) || is_likeliest(fabric, diagnosis, channel)) << channel;
  for (const auto* channel : {"leaf4->spine1", "leaf4->spine3", "leaf4->spine4"})
    EXPECT_FALSE(is_named(fabric, diagnosis, channel)) << channel;
}

TEST(Alternatives, UplinksThatLookLikeAHostsCableStandBesideIt) {
  ExactRun exact;
  const Fabric& fabric = exact.run.fabric;
  exact.lose("host8", "leaf4", 0.0376);
  exact.lose("leaf4", "spine1", 0.0407);
  exact.lose("leaf4", "spine2", 0.0043);
  exact.lose("leaf4", "spine3", 0.0105);
  exact.lose("leaf4", "spine4", 0.0035);
  for (const std::uint64_t sent : {1000, 2000, 3000, 4000, 6000}) {
    const Diagnosis diagnosis = exact.diagnosed(sent);
    for (const auto* channel : {"leaf4->spine2", "spine2->leaf4"})
      EXPECT_TRUE(is_named(fabric, diagnosis, channel) || in_a_set(fabric, diagnosis, channel))
          << sent << " " << channel;
  }
}

/// Some set has the alternative of exactly these channels.
bool has_alternative(const Fabric& fabric, const Diagnosis& diagnosis,
                     const std::vector<std::string>& names) {
  std::vector<ChannelId> wanted;
  for (const auto& name : names) wanted.push_back(*fabric.find_channel(name));
  std::ranges::sort(wanted);
  return std::ranges::any_of(diagnosis.sets, [&](const OpenSet& set) {
    return std::ranges::find(set.alternatives, wanted) != set.alternatives.end();
  });
}

/// No channel of a good cable is named.
void expect_no_wrong_name(const Diagnosis& diagnosis, const std::set<LinkId>& bad) {
  for (const LinkFinding& finding : diagnosis.links)
    EXPECT_TRUE(finding.verdict <= Verdict::unknown || bad.contains(finding.link))
        << finding.evidence.front();
}

TEST(Alternatives, OfThreeCablesOfASpineAnyTwoLookAlike) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 2}).value();
  for (const auto* setting : {"mtu=1500", "corruption=100%"})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const auto fault = [&](const char* cable) { return fmt::format("{}:{}", cable, setting); };
      const Diagnosis diagnosis =
          swept(fabric, {fault("leaf1--spine1"), fault("leaf2--spine1")}, {.seed = seed});
      for (const auto* channel : {"leaf1->spine1", "spine1->leaf1", "leaf2->spine1", "spine1->leaf2"})
        EXPECT_TRUE(in_a_set(fabric, diagnosis, channel)) << setting << " " << seed << " " << channel;
      expect_no_wrong_name(diagnosis,
                           {*fabric.find_link("leaf1--spine1"), *fabric.find_link("leaf2--spine1")});
    }
}

TEST(Alternatives, AllCablesOfALoneSpineOneWayStandBesideTheOtherWay) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 1, .hosts_per_leaf = 2}).value();
  const Diagnosis diagnosis = swept(
      fabric,
      std::vector<std::string>{"leaf1--spine1:mtu=600,from=spine1", "leaf2--spine1:mtu=600,from=spine1",
                               "leaf3--spine1:mtu=600,from=spine1", "leaf4--spine1:mtu=600,from=spine1"},
      {.seed = 1});
  EXPECT_TRUE(has_alternative(fabric, diagnosis,
                              {"spine1->leaf1", "spine1->leaf2", "spine1->leaf3", "spine1->leaf4"}));
  expect_no_wrong_name(diagnosis, {});
}

TEST(Alternatives, OfThreeHostsTwoWithLimitsAreAnyTwo) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 5, .hosts_per_leaf = 1}).value();
  const Diagnosis diagnosis =
      swept(fabric, std::vector<std::string>{"host2--leaf2:mtu=1500", "host3--leaf3:mtu=1500"}, {.seed = 1});
  EXPECT_TRUE(
      has_alternative(fabric, diagnosis, {"host2->leaf2", "leaf2->host2", "host3->leaf3", "leaf3->host3"}));
}

/// Two leaves, two cables between each leaf and each spine, two hosts a leaf.
Fabric parallel_cables(int spines = 1) {
  FabricBuilder builder("parallel", FabricKind::roce);
  const auto node = [&](const std::string& name, NodeKind kind, Tier tier) {
    return builder.add_node({.name = name, .kind = kind, .tier = tier}).value();
  };
  std::vector<NodeId> tops;
  for (int spine = 1; spine <= spines; ++spine)
    tops.push_back(node(fmt::format("spine{}", spine), NodeKind::switch_, Tier::spine));
  for (int leaf = 1; leaf <= 2; ++leaf) {
    const NodeId at = node(fmt::format("leaf{}", leaf), NodeKind::switch_, Tier::leaf);
    for (int host = 1; host <= 2; ++host)
      builder.connect(node(fmt::format("host{}", 2 * leaf + host - 2), NodeKind::host, Tier::host), at,
                      Bandwidth::gbit(100));
    for (const NodeId spine : tops)
      for (int cable = 0; cable < 2; ++cable) builder.connect(at, spine, Bandwidth::gbit(100));
  }
  return std::move(builder).build();
}

TEST(Alternatives, OfTwoHostsAndTheOnlyUplinkOfALeafAnyTwoLookAlike) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 2}).value();
  for (const auto* fault : {"mtu=1500", "corruption=100%"})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Diagnosis diagnosis = swept(
          fabric, std::vector{fmt::format("host1--leaf1:{}", fault), fmt::format("host2--leaf1:{}", fault)},
          {.seed = seed});
      std::vector<ChannelId> truth;
      for (const auto* host : {"host1", "host2"})
        for (const auto* channel : {"{}->leaf1", "leaf1->{}"})
          truth.push_back(*fabric.find_channel(fmt::format(fmt::runtime(channel), host)));
      std::ranges::sort(truth);
      ASSERT_EQ(diagnosis.sets.size(), 1u) << fault << seed;
      EXPECT_LE(diagnosis.sets[0].alternatives.size(), 6u);
      EXPECT_NE(std::ranges::find(diagnosis.sets[0].alternatives, truth),
                diagnosis.sets[0].alternatives.end())
          << fault << seed;
    }
}

TEST(Alternatives, EvenLossOfParallelCablesIsNotLaidToOneLeaf) {
  const Fabric fabric = parallel_cables();
  const Diagnosis diagnosis =
      swept(fabric,
            std::vector<std::string>{"leaf1/p3--spine1/p1:loss=2%", "leaf1/p4--spine1/p2:loss=2%",
                                     "leaf2/p3--spine1/p3:loss=2%", "leaf2/p4--spine1/p4:loss=2%"},
            {.seed = 1});
  EXPECT_TRUE(diagnosis.links.empty());
  ASSERT_EQ(diagnosis.sets.size(), 1u);
  EXPECT_GE(diagnosis.sets[0].alternatives.size(), 2u);
}

TEST(Alternatives, ParallelCablesDelayedAlikeStandBesideThoseOfTheOtherLeafOnceEach) {
  const Fabric fabric = parallel_cables(2);
  const NodeId leaf = *fabric.find_node("leaf1"), spine = *fabric.find_node("spine1");
  std::vector<ChannelId> truth;
  std::vector<std::string> faults;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
    if (fabric.source_node(ChannelId(c)) == leaf && fabric.target_node(ChannelId(c)) == spine) {
      truth.emplace_back(c);
      faults.push_back(
          fmt::format("{}:delay=50us,from=leaf1", fabric.name_of(Fabric::link_of(ChannelId(c)))));
    }
  ASSERT_EQ(truth.size(), 2u);
  const Diagnosis diagnosis = swept(fabric, faults, {.seed = 1});
  ASSERT_EQ(diagnosis.sets.size(), 1u);
  const auto& alternatives = diagnosis.sets[0].alternatives;
  EXPECT_NE(std::ranges::find(alternatives, truth), alternatives.end());
  EXPECT_EQ(std::set(alternatives.begin(), alternatives.end()).size(), alternatives.size());
  expect_no_wrong_name(diagnosis, {});
}

TEST(Alternatives, WhatPassesSomeOfParallelCablesIsToldOnce) {
  const Fabric fabric = parallel_cables();
  const Diagnosis diagnosis =
      swept(fabric, std::vector<std::string>{"leaf1/p3--spine1/p1:loss=99%"}, {.seed = 1});
  ASSERT_FALSE(diagnosis.links.empty());
  for (const LinkFinding& finding : diagnosis.links) {
    EXPECT_EQ(finding.link, fabric.find_link("leaf1/p3--spine1/p1"));
    EXPECT_EQ(finding.cause, Cause::loss);
  }
}

TEST(Alternatives, AWholeSpineIsNamedWhereItsLossesHideWhichPathFlowsTook) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}).value();
  const Diagnosis diagnosis =
      swept(fabric,
            std::vector<std::string>{"leaf1--spine1:loss=30%", "leaf2--spine1:loss=30%",
                                     "leaf3--spine1:loss=30%", "leaf4--spine1:loss=30%"},
            {.seed = 1});
  ASSERT_EQ(diagnosis.groups.size(), 1u);
  EXPECT_EQ(diagnosis.groups[0].nodes, std::vector{*fabric.find_node("spine1")});
  expect_no_wrong_name(diagnosis, {});
}

TEST(Alternatives, ASwitchInTheSetWithACableOfItsHoldsThatCableToo) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}).value();
  const Diagnosis diagnosis =
      swept(fabric,
            std::vector<std::string>{"host1--leaf1:loss=0.686%", "leaf1--spine2:loss=3.983%",
                                     "leaf1--spine4:loss=0.432%", "leaf2--spine1:loss=0.695%",
                                     "leaf2--spine2:loss=0.883%", "leaf4--spine2:loss=0.314%",
                                     "leaf4--spine3:loss=3.262%"},
            {.seed = 232005228000403, .probes_per_second = 1500});
  const ChannelId bad = *fabric.find_channel("leaf4->spine2");
  bool told = is_named(fabric, diagnosis, "leaf4->spine2");
  for (const OpenSet& set : diagnosis.sets)
    told |= std::ranges::all_of(set.alternatives, [&](const auto& alternative) {
      return std::ranges::find(alternative, bad) != alternative.end();
    });
  EXPECT_TRUE(told);
}

TEST(Alternatives, AHostWhoseCableIsNamedByItselfStillHasAPlace) {
  const MadeUpRun rig(1, {.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  const auto channel = [&](const char* name) { return rig.channel(name); };
  CountProblem problem;
  problem.suspects = {{.channels = {channel("host1->leaf1")}},
                      {.channels = {channel("leaf1->host1")}},
                      {.nodes = {rig.fabric.hosts()[0]}},
                      {.channels = {channel("leaf1->spine1")}},
                      {.channels = {channel("spine1->leaf1")}}};
  const std::vector<Suspicion> suspicions{{.suspect = 0, .probability = 1},
                                          {.suspect = 1, .probability = 1},
                                          {.suspect = 2, .probability = 1},
                                          {.suspect = 3, .probability = .03}};
  const auto alternatives =
      channels_of_alternatives(rig.fabric, problem, suspicions, {{2}, {3, 4}}, .5).channels;
  ASSERT_EQ(alternatives.size(), 2u);
  for (const auto& alternative : alternatives) EXPECT_EQ(alternative.size(), 2u);
}

TEST(Alternatives, AHostThatLosesByAnyExplanationIsNamed) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 2}).value();
  const Diagnosis diagnosis =
      swept(fabric,
            std::vector<std::string>{"host2--leaf1:loss=0.268%", "host5--leaf3:loss=0.262%",
                                     "host6--leaf3:loss=1.535%", "leaf2--spine1:loss=0.2%",
                                     "leaf3--spine1:loss=0.203%", "leaf4--spine2:loss=3.051%"},
            {.seed = 79886110298313, .probes_per_second = 1500});
  EXPECT_TRUE(std::ranges::any_of(diagnosis.hosts, [&](const HostFinding& finding) {
    return finding.host == *fabric.find_node("host6");
  }));
}

TEST(Alternatives, AHostThatHearsNothingStillTellsChannelsInSeriesApart) {
  const Fabric fabric =
      make_pod_clos({.pods = 3, .leaves = 2, .spines = 2, .cores = 2, .hosts_per_leaf = 1}).value();
  int named = 0;
  for (const std::uint64_t seed : {2, 4, 7}) {
    const Diagnosis diagnosis = swept(
        fabric, std::vector<std::string>{"spine4--core2:loss=1%,from=spine4", "host3--leaf3:down,from=leaf3"},
        {.seed = seed});
    named += is_named(fabric, diagnosis, "spine4->core2") ? 1 : 0;
    expect_no_wrong_name(diagnosis, {*fabric.find_link("spine4--core2")});
  }
  EXPECT_GE(named, 2);
}

TEST(Alternatives, AHostThatSentNextToNothingTellsOfNoEvenLoss) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 1}).value();
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    // Whom nothing reaches is not asked to send: what is left is between two hosts.
    const Diagnosis diagnosis =
        swept(fabric, std::vector<std::string>{"host3--leaf3:loss=100%,from=leaf3", "host1--leaf1:loss=0.5%"},
              {.seed = seed});
    EXPECT_TRUE(diagnosis.fabric.empty()) << seed;
    EXPECT_EQ(diagnosis.verdict, Verdict::failed);
    expect_no_wrong_name(diagnosis, {});
  }
}

TEST(Alternatives, AHostWhoseClassIsFaultyTellsOfNoEvenLoss) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 1, .hosts_per_leaf = 1}).value();
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    const Diagnosis diagnosis = swept(
        fabric, std::vector<std::string>{"host2--leaf2:loss=99%", "host3--leaf3:loss=15%"}, {.seed = seed});
    EXPECT_TRUE(diagnosis.fabric.empty()) << seed;
  }
}

TEST(Alternatives, WhatStandsInForAFaultIsNotLikelierForItsBeingKnown) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 1, .hosts_per_leaf = 1}).value();
  for (const auto* from : {"leaf1", "host1"})
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      // What comes from host3 to host1 is lost; all that could tell whose fault it is host2 swallows.
      const Diagnosis diagnosis =
          swept(fabric,
                std::vector<std::string>{fmt::format("host1--leaf1:loss=30%,from={}", from),
                                         "host2--leaf2:loss=99%"},
                {.seed = seed});
      EXPECT_EQ(diagnosis.verdict, Verdict::failed);
      for (const GroupFinding& finding : diagnosis.groups) {
        const bool of_leaf3 = std::ranges::all_of(finding.channels, [&](ChannelId channel) {
          return fabric.source_node(channel) == *fabric.find_node("leaf3") ||
                 fabric.target_node(channel) == *fabric.find_node("leaf3");
        });
        EXPECT_TRUE(finding.verdict <= Verdict::unknown || !of_leaf3) << from << seed;
      }
    }
}

TEST(Alternatives, OfTwoHostsLeftNoEvenLossIsTold) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 5, .hosts_per_leaf = 1}).value();
  const Diagnosis diagnosis =
      swept(fabric, std::vector<std::string>{"host2--leaf2:loss=99%", "host3--leaf3:loss=15%"}, {.seed = 1});
  EXPECT_TRUE(diagnosis.fabric.empty());
  EXPECT_TRUE(in_a_set(fabric, diagnosis, "host3->leaf3"));
}

}  // namespace
}  // namespace weft::diagnosis
