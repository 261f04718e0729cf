#include "probes/watch/standing_plan.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

std::vector<Fabric> fabrics() {
  std::vector<Fabric> all;
  all.push_back(*make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}));
  all.push_back(*make_clos({.leaves = 2, .spines = 3, .hosts_per_leaf = 1}));
  all.push_back(*make_clos({.leaves = 12, .spines = 8, .hosts_per_leaf = 6}));
  all.push_back(*make_pod_clos({.pods = 3, .leaves = 4, .spines = 2, .cores = 4, .hosts_per_leaf = 4}));
  all.push_back(*make_rails({.groups = 3, .hosts_per_group = 4, .rails = 4, .spines = 4}));
  all.push_back(
      *make_rails({.groups = 2, .hosts_per_group = 4, .rails = 2, .spines = 2, .pods = 2, .cores = 4}));
  return all;
}

/// By channel, probes and echoes a second, counted anew.
std::vector<double> crossings_of(const Fabric& fabric, const StandingPlan& plan) {
  std::vector<double> all(fabric.channel_count(), 0.0);
  for (const StandingNic& nic : plan.nics)
    for (const StandingStream& stream : nic.streams)
      for (const PathSetId set : {stream.there, stream.back})
        for (const ChannelId channel : plan.paths.channels(plan.paths.paths(set).front()))
          all[channel.value()] += nic.packets_per_second / static_cast<double>(nic.streams.size());
  return all;
}

TEST(StandingPlan, CrossesEachChannelTenTimesASecondOrSaysThatItDoesNot) {
  for (const Fabric& fabric : fabrics()) {
    const StandingPlan plan = fleet_plan(fabric, {});
    const auto crossings = crossings_of(fabric, plan);
    std::set<ChannelId> uncovered(plan.uncovered.begin(), plan.uncovered.end());
    std::set<ChannelId> thin(plan.thin.begin(), plan.thin.end());
    for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
      EXPECT_NEAR(crossings[c], plan.crossings[c], 1e-6);
      EXPECT_EQ(uncovered.contains(ChannelId(c)), crossings[c] == 0);
      EXPECT_EQ(thin.contains(ChannelId(c)), crossings[c] > 0 && crossings[c] < 10);
    }
    EXPECT_THAT(plan.uncovered, IsEmpty());
    EXPECT_THAT(plan.thin, IsEmpty());
  }
}

TEST(StandingPlan, KeepsToTheRateOfAHostAndToTheStreamsOfANic) {
  for (const Fabric& fabric : fabrics()) {
    const StandingPlan plan = fleet_plan(fabric, {.limits = {.packets_per_second = 200, .streams = 5}});
    for (const NodeId host : fabric.hosts()) {
      double rate = 0;
      for (const StandingNic& nic : plan.nics_of(host)) {
        rate += nic.packets_per_second;
        EXPECT_LE(nic.streams.size(), 5u);
        EXPECT_LE(nic.burst, nic.streams.size());
        EXPECT_EQ(nic.host, host);
      }
      EXPECT_NEAR(rate, 200, 1e-6);
    }
  }
}

TEST(StandingPlan, TellsHostCablesFromUplinksByPeersUnderTheSameLeaf) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const StandingPlan plan = fleet_plan(fabric, {});
  for (const StandingNic& nic : plan.nics)
    EXPECT_TRUE(std::ranges::any_of(nic.streams, [&](const StandingStream& stream) {
      return plan.paths.channels(plan.paths.paths(stream.there).front()).size() == 2;
    }));
}

TEST(StandingPlan, ABurstGoesOverDifferentWaysAndNoStreamTwice) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const StandingPlan plan = fleet_plan(fabric, {});
  for (const StandingNic& nic : plan.nics) {
    std::set<ChannelId> ways;
    for (std::uint32_t i = 0; i < nic.burst; ++i) {
      const auto path = plan.paths.channels(plan.paths.paths(nic.streams[i].there).front());
      if (path.size() > 2) ways.insert(path[1]);
    }
    EXPECT_THAT(ways, SizeIs(4));
    std::set<std::pair<PortId, PathLabel>> streams;
    for (const StandingStream& stream : nic.streams) streams.emplace(stream.peer, stream.label);
    EXPECT_THAT(streams, SizeIs(nic.streams.size()));
  }
}

TEST(StandingPlan, OfTheSameRoutesItIsTheSame) {
  const Fabric fabric =
      *make_pod_clos({.pods = 3, .leaves = 4, .spines = 2, .cores = 4, .hosts_per_leaf = 4});
  const StandingPlan a = fleet_plan(fabric, {}), b = fleet_plan(fabric, {});
  ASSERT_EQ(a.nics.size(), b.nics.size());
  for (std::size_t n = 0; n < a.nics.size(); ++n) EXPECT_EQ(a.nics[n].streams, b.nics[n].streams);
}

TEST(StandingPlan, AnAssignmentHasTheStreamsOfAHostAndAllWhoAskIt) {
  const Fabric fabric = *make_rails({.groups = 2, .hosts_per_group = 3, .rails = 2, .spines = 2});
  const StandingPlan plan = fleet_plan(fabric, {});
  const StandingEnds ends = fleet_ends(fabric, plan);
  for (const NodeId host : fabric.hosts()) {
    const Assignment told = assignment_of(fabric, plan, host, PlanVersion(3), ends, KeyEpochs({}, {}), {});
    EXPECT_EQ(told.plan, PlanVersion(3));
    ASSERT_EQ(told.nics.size(), plan.nics_of(host).size());
    for (std::size_t n = 0; n < told.nics.size(); ++n) {
      const StandingNic& nic = plan.nics_of(host)[n];
      ASSERT_EQ(told.nics[n].streams.size(), nic.streams.size());
      EXPECT_EQ(told.nics[n].interface, ends.at(nic.nic).interface);
      for (std::size_t s = 0; s < nic.streams.size(); ++s)
        EXPECT_EQ(told.peers[told.nics[n].streams[s].peer].nic, nic.streams[s].peer);
    }
    for (const StandingNic& nic : plan.nics)
      for (const StandingStream& stream : nic.streams)
        if (fabric.port(stream.peer).node == host) {
          EXPECT_EQ(std::ranges::count(told.asked, nic.nic, &datapath::RunNic::nic), 1);
        }
  }
}

TEST(StandingPlan, FindsTheNicOfARow) {
  const StandingPlan plan = fleet_plan(*make_clos({.leaves = 3, .spines = 2, .hosts_per_leaf = 2}), {});
  for (std::uint32_t n = 0; n < plan.nics.size(); ++n)
    for (std::uint32_t s = 0; s < plan.nics[n].streams.size(); ++s)
      EXPECT_EQ(plan.nic_of(plan.nics[n].first_row + s), n);
}

}  // namespace
}  // namespace weft::watch
