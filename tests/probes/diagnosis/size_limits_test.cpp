// Limits of packet size, and large packets that are all harmed, of many cables at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "made_up_run.hpp"
#include "swept.hpp"
#include "topology/model/clos.hpp"

namespace weft::diagnosis {
namespace {

std::set<LinkId> links_of(const Fabric& fabric, const std::vector<std::string>& names) {
  std::set<LinkId> links;
  for (const auto& name : names) links.insert(*fabric.find_link(name));
  return links;
}

Diagnosis swept_with_limits(const Fabric& fabric, const std::vector<std::string>& cables,
                            const std::string& fault, std::uint64_t seed) {
  std::vector<std::string> faults;
  for (const auto& cable : cables) faults.push_back(cable + ":" + fault);
  return swept(fabric, faults, {.seed = seed});
}

/// No good cable is named, by itself or as one of a switch or host that is.
void expect_names_within(const Fabric& fabric, const Diagnosis& diagnosis, const std::set<LinkId>& bad) {
  for (const LinkFinding& finding : diagnosis.links)
    EXPECT_TRUE(finding.verdict <= Verdict::unknown || bad.contains(finding.link))
        << fabric.name_of(finding.link);
  for (const HostFinding& finding : diagnosis.hosts)
    EXPECT_TRUE(finding.verdict <= Verdict::unknown || (finding.link && bad.contains(*finding.link)))
        << fabric.name_of(finding.host);
  if (!diagnosis.sets.empty()) return;
  for (const GroupFinding& finding : diagnosis.groups)
    for (const ChannelId channel : finding.channels)
      EXPECT_TRUE(finding.verdict <= Verdict::unknown || bad.contains(Fabric::link_of(channel)))
          << fabric.name_of(channel);
}

bool has_alternative_of(const Diagnosis& diagnosis, const std::set<LinkId>& bad) {
  std::vector<ChannelId> channels;
  for (const LinkId link : bad) channels.insert(channels.end(), {Fabric::a_to_b(link), Fabric::b_to_a(link)});
  std::ranges::sort(channels);
  return std::ranges::any_of(diagnosis.sets, [&](const OpenSet& set) {
    return std::ranges::find(set.alternatives, channels) != set.alternatives.end();
  });
}

TEST(SizeLimits, AGoodHostAmongLimitedCablesOfItsLeafIsNotNamed) {
  for (const std::uint32_t leaves : {2, 4}) {
    const Fabric fabric = make_clos({.leaves = leaves, .spines = 4, .hosts_per_leaf = 3}).value();
    const std::vector<std::string> cables{"host1--leaf1",  "host2--leaf1",  "leaf1--spine1",
                                          "leaf1--spine2", "leaf1--spine3", "leaf1--spine4"};
    for (const std::uint64_t seed : {1, 2}) {
      const Diagnosis diagnosis = swept_with_limits(fabric, cables, "mtu=2000", seed);
      const auto bad = links_of(fabric, cables);
      EXPECT_NE(diagnosis.verdict, Verdict::healthy);
      expect_names_within(fabric, diagnosis, bad);
      EXPECT_TRUE(diagnosis.verdict == Verdict::unknown || has_alternative_of(diagnosis, bad)) << leaves;
    }
  }
}

TEST(SizeLimits, WhatEveryPathDoesToLargePacketsIsLaidToTheWholeFabric) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 3}).value();
  std::vector<std::string> cables;
  for (int host = 1; host <= 11; ++host)
    cables.push_back(fmt::format("host{}--leaf{}", host, (host + 2) / 3));
  for (const auto* fault : {"mtu=1500", "mtu=2000"}) {
    const Diagnosis diagnosis = swept_with_limits(fabric, cables, fault, 1);
    expect_names_within(fabric, diagnosis, links_of(fabric, cables));
    ASSERT_EQ(diagnosis.fabric.size(), 1u);
    EXPECT_EQ(diagnosis.fabric[0].cause, Cause::mtu);
    EXPECT_EQ(diagnosis.fabric[0].estimate->value, 1500);
    EXPECT_EQ(diagnosis.account.slow.unexplained, 0u);
    EXPECT_EQ(diagnosis.verdict, Verdict::failed);
  }
}

TEST(SizeLimits, LargePacketsThatOnlyDeadCablesCarriedTellNothingOfTheWholeFabric) {
  for (const std::uint64_t lost : {500u, 490u}) {
    MadeUpRun run(1, {.leaves = 4, .spines = 2, .hosts_per_leaf = 1});
    for (std::uint32_t from = 0; from < 4; ++from)
      for (std::uint32_t to = 0; to < 4; ++to)
        for (std::uint32_t spine = 0; spine < 2 && from != to; ++spine) {
          const auto path = run.seen.paths.only(run.seen.paths.intern(run.path(from, to, spine)));
          const bool dead = (from == 0 && spine == 0) || (from == 2 && spine == 1);
          run.seen.probes.push_back({.path = path, .sent = 500, .lost = dead ? lost : 0, .size = Bytes(128)});
          if (dead) run.seen.probes.push_back({.path = path, .sent = 20, .lost = 20, .size = Bytes(4160)});
        }
    const Diagnosis diagnosis = run.diagnosed();
    EXPECT_TRUE(diagnosis.fabric.empty()) << lost;
    expect_names_within(run.fabric, diagnosis, links_of(run.fabric, {"leaf1--spine1", "leaf3--spine2"}));
  }
}

TEST(SizeLimits, OneSwitchThatAllPathsCrossIsNoMatterOfTheWholeFabric) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 1, .hosts_per_leaf = 1}).value();
  const std::vector<std::string> cables{"leaf1--spine1", "leaf2--spine1", "leaf3--spine1", "leaf4--spine1"};
  const Diagnosis diagnosis = swept_with_limits(fabric, cables, "mtu=1500", 1);
  EXPECT_TRUE(diagnosis.fabric.empty());
  EXPECT_EQ(diagnosis.verdict, Verdict::failed);
}

TEST(SizeLimits, WhatALossyHostLosesOfLargePacketsIsNoFaultBehindIt) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 2}).value();
  const auto bad = links_of(fabric, {"host3--leaf2", "host4--leaf2"});
  // Large packets go at other times than small ones, of which the outages take another share.
  for (const std::uint64_t seed : {53, 55, 56, 57})
    expect_names_within(fabric,
                        swept(fabric,
                              std::vector<std::string>{"host4--leaf2:loss=50%,on=1s,off=1s,from=host4",
                                                       "host3--leaf2:down,from=host3"},
                              {.seed = seed, .probes_per_second = 1500}),
                        bad);
}

TEST(SizeLimits, OfFourCablesOfASpineAnyThreeStandInOneSet) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2}).value();
  const std::vector<std::string> cables{"leaf1--spine1", "leaf2--spine1", "leaf3--spine1"};
  for (const std::uint64_t seed : {1, 2}) {
    const Diagnosis diagnosis = swept_with_limits(fabric, cables, "mtu=1500", seed);
    EXPECT_EQ(diagnosis.sets.size(), 1u);
    EXPECT_TRUE(has_alternative_of(diagnosis, links_of(fabric, cables)));
  }
}

TEST(SizeLimits, ASwitchOfTwoTiersStandsBesideItsCablesOfWhichOneIsGood) {
  const Fabric fabric =
      make_pod_clos({.pods = 4, .leaves = 3, .spines = 2, .cores = 2, .hosts_per_leaf = 2}).value();
  const std::vector<std::string> cables{"leaf7--spine5", "leaf8--spine5", "spine5--core1"};
  const auto bad = links_of(fabric, cables);
  for (const std::uint64_t seed : {3, 4, 5}) {
    const Diagnosis diagnosis = swept_with_limits(fabric, cables, "mtu=1500", seed);
    ASSERT_EQ(diagnosis.sets.size(), 1u) << seed;
    EXPECT_TRUE(has_alternative_of(diagnosis, bad)) << seed;
    expect_names_within(fabric, diagnosis, bad);
  }
}

TEST(SizeLimits, ASizeThatNeverCrossedAChannelIsNotSaidToPass) {
  MadeUpRun run(1);
  const ChannelId bad = run.channel("leaf1->spine1");
  run.fault("leaf1->spine1").largest = Bytes(1500);
  for (const std::int64_t size : {1500, 2112, 4160}) run.probe(400, 20, Bytes(size));
  std::erase_if(run.seen.probes, [&](const Observation& row) {
    const auto channels = run.seen.paths.channels(run.seen.paths.paths(row.path).front());
    return row.size == Bytes(2112) && std::ranges::find(channels, bad) != channels.end();
  });
  const Diagnosis diagnosis = run.diagnosed();
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, bad);
  EXPECT_EQ(diagnosis.links[0].cause, Cause::mtu);
  EXPECT_EQ(diagnosis.links[0].estimate->value, 1500);
  EXPECT_EQ(diagnosis.links[0].estimate->high, 4159);
}

TEST(SizeLimits, ALimitBesideALossIsNamedHoweverLongTheRun) {
  // Rows of many losses, each of no number by itself, beside rows of few: their products once left the range
  // of a double for some hazards, and a rival that is no number took the limit's place.
  const auto fabric = make_rails({.groups = 3, .hosts_per_group = 3, .rails = 3, .spines = 2}).value();
  for (const std::uint64_t seed : {1, 3, 5, 7}) {
    const auto found = swept(
        fabric, std::vector<std::string>{"leaf2--spine2:loss=0.5%", "leaf2--spine1:mtu=1500,from=leaf2"},
        {.budget = std::chrono::seconds(60), .seed = seed});
    EXPECT_EQ(found.account.lost.unexplained, 0u) << seed;
    EXPECT_TRUE(std::ranges::any_of(found.links, [&](const LinkFinding& link) {
      return link.cause == Cause::mtu && fabric.name_of(*link.channel) == "leaf2->spine1";
    })) << seed;
  }
}

}  // namespace
}  // namespace weft::diagnosis
