// Faults that are there for less than half of the time: what most packets met shows nothing of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_run.hpp"
#include "probes/diagnosis/concentration.hpp"
#include "swept.hpp"

namespace weft::diagnosis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Every pair of hosts of two leaves over each of four spines, again and again.
class Flows {
 public:
  explicit Flows(std::size_t times, std::uint32_t hosts = 4)
      : run_(1, {.leaves = 2, .spines = 4, .hosts_per_leaf = hosts}) {
    for (std::uint32_t from = 0; from < hosts; ++from)
      for (std::uint32_t to = hosts; to < 2 * hosts; ++to)
        for (std::uint32_t spine = 0; spine < 4; ++spine) paths_.push_back(run_.path(from, to, spine));
    for (std::size_t i = 0; i < times; ++i)
      for (const auto& path : paths_) all.push_back({path, false});
  }
  bool crosses(std::size_t i, std::string_view channel) const {
    return std::ranges::count(all[i].channels, run_.channel(channel)) > 0;
  }
  std::vector<std::string> found(double least) const {
    std::vector<std::string> names;
    for (const Concentration& one : concentrations(run_.fabric, all, least))
      names.push_back((one.of_one_host ? "a host's " : "") + run_.fabric.name_of(one.channels.front()));
    return names;
  }
  std::vector<Traversal> all;

 private:
  MadeUpRun run_;
  std::vector<std::vector<ChannelId>> paths_;
};

TEST(Concentrations, AreOfChannelsThatHaveMoreThanElsewhereOneByOne) {
  Flows flows(10);
  std::size_t first = 0, second = 0;
  for (std::size_t i = 0; i < flows.all.size(); ++i)
    flows.all[i].odd = (flows.crosses(i, "leaf1->spine2") && ++first % 4 != 0) ||
                       (flows.crosses(i, "leaf1->spine4") && ++second % 3 == 0);
  EXPECT_THAT(flows.found(0.01), ElementsAre("leaf1->spine2", "leaf1->spine4"));
}

TEST(Concentrations, AreNoneWhereWhatIsOddLiesEverywhereOrIsFew) {
  Flows even(10);
  for (std::size_t i = 0; i < even.all.size(); ++i) even.all[i].odd = i % 3 == 0;
  EXPECT_THAT(even.found(0.01), IsEmpty());
  Flows few(10);
  few.all[1].odd = few.all[17].odd = true;
  EXPECT_THAT(few.found(0.05), IsEmpty());
}

TEST(Concentrations, OfOneHostAreToldAsSuchWhateverUplinkItsPacketsTook) {
  Flows own(10);
  for (std::size_t i = 0; i < own.all.size(); ++i)
    own.all[i].odd = own.crosses(i, "host2->leaf1") && i % 2 == 0;
  EXPECT_THAT(own.found(0.01), ElementsAre("a host's host2->leaf1"));
  Flows uplink(10);
  for (std::size_t i = 0; i < uplink.all.size(); ++i)
    uplink.all[i].odd = uplink.crosses(i, "host2->leaf1") && uplink.crosses(i, "leaf1->spine3");
  EXPECT_THAT(uplink.found(0.01), ElementsAre(testing::StartsWith("a host's ")));
  Flows lone(10, 1);
  for (std::size_t i = 0; i < lone.all.size(); ++i) lone.all[i].odd = lone.crosses(i, "leaf1->spine3");
  EXPECT_THAT(lone.found(0.01), ElementsAre(testing::AnyOf("leaf1->spine3", "spine3->leaf2")))
      << "all that crosses it is of one pair of hosts, as all else";
}

/// Round trips of 20 us whose slowest take 40, but for those over `late` (every other one): these take
/// `slowest`.
Diagnosis with_tails(std::string_view late, Nanoseconds slowest) {
  MadeUpRun run(1);
  run.probe(4000, 5, Bytes(128));
  std::size_t crossed = 0;
  for (Observation& probe : run.seen.probes) {
    probe.rtt = RttQuantiles{std::chrono::microseconds(20), std::chrono::microseconds(40)};
    const auto channels = run.seen.paths.channels(run.seen.paths.paths(probe.path).front());
    if (std::ranges::count(channels, run.channel(late)) > 0 && ++crossed % 2 == 0) probe.rtt->p99 = slowest;
  }
  return run.diagnosed();
}

TEST(ComeAndGo, RoundTripsOfWhichTheSlowestAreLateOnOneCableAreASuspicion) {
  const auto found = with_tails("leaf2->spine3", std::chrono::milliseconds(3));
  EXPECT_EQ(found.verdict, Verdict::unknown);
  ASSERT_THAT(found.links, SizeIs(1));
  EXPECT_EQ(found.links[0].cause, Cause::delay);
  EXPECT_EQ(found.links[0].verdict, Verdict::unknown);
  EXPECT_THAT(found.links[0].evidence.front(), HasSubstr("a delay that comes and goes, or queues"));
  EXPECT_GT(found.account.late.open, 50u);
  EXPECT_EQ(found.account.late.unexplained, 0u);
}

TEST(ComeAndGo, WhatIsToleratedAndWhatAHostsLoopMayDoIsHealthy) {
  EXPECT_EQ(with_tails("leaf2->spine3", std::chrono::microseconds(900)).verdict, Verdict::healthy);
  const auto of_host = with_tails("host3->leaf1", std::chrono::milliseconds(3));
  EXPECT_EQ(of_host.verdict, Verdict::healthy);
  EXPECT_GT(of_host.account.late.tolerated, 20u);
}

TEST(ComeAndGo, ACableThatIsLateNowAndThenIsNotHealthyAndNoOtherIsBlamed) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value();
  for (const char* fault : {"leaf1--spine1:delay=5ms,on=100ms,off=400ms",
                            "leaf3--spine2:delay=2ms,on=30ms,off=300ms,from=leaf3"}) {
    const auto found = swept(fabric, std::vector<std::string>{fault}, {.seed = 3});
    EXPECT_EQ(found.verdict, Verdict::unknown) << fault;
    EXPECT_GE(found.links.size(), 1u) << fault;
    for (const LinkFinding& link : found.links)
      EXPECT_THAT(fault, testing::StartsWith(fabric.name_of(link.link))) << "another cable is blamed";
    EXPECT_TRUE(found.hosts.empty() && found.groups.empty() && found.sets.empty()) << fault;
  }
}

TEST(ComeAndGo, BothWaysOfACableAreToldFromTheChannelsThatAllOfItsRoundTripsCross) {
  // A round trip goes out by one core and comes back by another: each way of the bad cable has half of what
  // is late, the leaf's uplink, or a leaf's only host, all of it.
  const auto pods =
      make_pod_clos({.pods = 3, .leaves = 1, .spines = 1, .cores = 2, .hosts_per_leaf = 2}).value();
  const auto lone = make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 1}).value();
  for (const auto& [fabric, cable] : {std::pair(&pods, "spine1--core1"), {&lone, "leaf1--spine1"}})
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const auto found =
          swept(*fabric, std::vector{std::string(cable) + ":delay=20ms,on=0.2s,off=0.8s"}, {.seed = seed});
      EXPECT_EQ(found.verdict, Verdict::unknown) << cable << " " << seed;
      for (const LinkFinding& link : found.links) EXPECT_EQ(fabric->name_of(link.link), cable) << seed;
      EXPECT_TRUE(found.hosts.empty() && found.groups.empty() && found.sets.empty()) << cable << " " << seed;
    }
}

/// Rounds of a flow of each host, over spines in turn; every third of them leaf1->spine1 is held to a
/// quarter.
Diagnosis with_rounds(std::uint32_t rounds, std::string_view slow) {
  MadeUpRun run(1);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    run.fault(slow).rate = round % 3 == 0 ? 0.25 : 1;
    std::vector<std::vector<ChannelId>> paths;
    for (std::uint32_t host = 0; host < 16; ++host)
      paths.push_back(run.path(host, (host + 4 + 4 * (round / 3 % 3)) % 16, (host + round) % 4));
    run.load(round, paths, 0.9);
  }
  run.probe(20'000, 20);
  return run.diagnosed();
}

TEST(ComeAndGo, FlowsHeldBackOnOneCableInAThirdOfTheRoundsAreASuspicion) {
  const auto found = with_rounds(90, "leaf1->spine1");
  EXPECT_EQ(found.verdict, Verdict::unknown);
  ASSERT_THAT(found.links, SizeIs(1));
  EXPECT_EQ(found.links[0].cause, Cause::rate);
  EXPECT_THAT(found.links[0].evidence.front(), HasSubstr("a rate that comes and goes, or other traffic"));
  EXPECT_GT(found.account.slow.open, 15u);
  EXPECT_EQ(found.account.slow.unexplained, 0u);
  const auto of_host = with_rounds(90, "host6->leaf2");
  EXPECT_TRUE(of_host.links.empty()) << "its own loop may have held them back";
}

TEST(ComeAndGo, ACableOfALoneHostIsNotClearedByTheFlowsThatPassedItWhole) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 3, .hosts_per_leaf = 1}).value();
  const auto named = [&](const std::string& fault, std::uint64_t seed) {
    const auto found = swept(fabric, std::vector{fault}, {.seed = seed});
    EXPECT_NE(found.verdict, Verdict::healthy) << fault << " " << seed;
    std::vector<std::string> names;
    for (const LinkFinding& link : found.links)
      if (link.verdict != Verdict::unknown) names.push_back(fabric.name_of(link.link));
    return names;
  };
  for (const std::uint64_t seed : {1, 8, 14, 19})  // two of them named an uplink, at .99
    EXPECT_THAT(named("host3--leaf3:rate=20G,on=2s,off=1s", seed), IsEmpty()) << seed;
  EXPECT_THAT(named("leaf3--spine2:rate=20G", 1), testing::Each("leaf3--spine2"));
}

TEST(ComeAndGo, HostsBehindACableThatTheLastRoundsNameAreNotSlow) {
  const Fabric fabric = make_clos({.leaves = 4, .spines = 1, .hosts_per_leaf = 6}).value();
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto found = swept(
        fabric, std::vector<std::string>{"leaf4--spine1:down", "leaf2--spine1:rate=100G,on=0.5s,off=5ms"},
        {.seed = seed, .pattern = LoadPattern::incast});
    EXPECT_TRUE(found.hosts.empty()) << seed;
    EXPECT_EQ(found.links.size(), 2u) << seed;
  }
}

}  // namespace
}  // namespace weft::diagnosis
