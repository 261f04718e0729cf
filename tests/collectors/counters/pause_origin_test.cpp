// Pause frames, followed to who began.
#include "collectors/counters/pause_origin.hpp"

#include <gmock/gmock.h>

#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

/// 2 leaves, 2 spines, hosts 1 and 2 at leaf1, 3 and 4 at leaf2.
struct PausedSite {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  std::map<PortId, PortPause> pauses = {};

  ChannelId channel(const char* name) const {
    for (std::uint32_t c = 0; c < fabric.channel_count(); ++c)
      if (fabric.name_of(ChannelId(c)) == name) return ChannelId(c);
    ADD_FAILURE() << name;
    return ChannelId(0);
  }
  /// The channel's receiver told its sender to wait, and both ends count that.
  void stop(const char* name, double frames, bool sender_tells = true, bool receiver_tells = true) {
    const PortId from = fabric.source(channel(name)), to = fabric.target(channel(name));
    if (sender_tells) pauses.try_emplace(from, PortPause{from}).first->second.received += frames;
    if (receiver_tells) pauses.try_emplace(to, PortPause{to}).first->second.sent += frames;
  }
  std::vector<PauseOrigin> origins() const {
    std::vector<PortPause> all;
    for (const auto& [port, pause] : pauses) all.push_back(pause);
    return pause_origins(fabric, all);
  }
  std::vector<std::string> names(const std::vector<PortId>& ports) const {
    std::vector<std::string> all;
    for (const PortId port : ports) all.push_back(fabric.name_of(fabric.port(port).node));
    return all;
  }
};

TEST(PauseOrigins, OfASlowReceiverIsItsNicHoweverFarThePausesSpread) {
  PausedSite site;
  site.stop("leaf2->host3", 50'000);
  site.stop("spine1->leaf2", 40'000);
  site.stop("spine2->leaf2", 30'000);
  site.stop("leaf1->spine1", 20'000);
  site.stop("host1->leaf1", 9'000);
  const auto origins = site.origins();
  ASSERT_THAT(origins, SizeIs(1));
  EXPECT_EQ(origins[0].cause, PauseCause::slow_host);
  EXPECT_THAT(site.names(origins[0].ports), ElementsAre("host3"));
  EXPECT_THAT(site.names(origins[0].stopped),
              UnorderedElementsAre("leaf2", "spine1", "spine2", "leaf1", "host1"));
  EXPECT_THAT(pause_text(site.fabric, origins, 80), HasSubstr("host3 does not take what comes"));
}

TEST(PauseOrigins, AreToldOfEachChannelThatStood) {
  PausedSite site;
  site.stop("leaf2->host3", 50'000);
  site.stop("spine1->leaf2", 40'000);
  PortPauses pauses;
  for (const auto& [port, pause] : site.pauses) pauses.by_priority[3].push_back(pause);
  const auto told = paused_channels(site.fabric, pauses);
  ASSERT_THAT(told, SizeIs(2));
  for (const ChannelEvidence& one : told) {
    EXPECT_THAT(site.fabric.name_of(one.channel), testing::AnyOf("leaf2->host3", "spine1->leaf2"));
    EXPECT_EQ(one.cause, Cause::congestion);
    EXPECT_EQ(one.log_ratio, 0) << "alone it is a sign of nothing";
    EXPECT_THAT(one.text, HasSubstr("of priority 3 stopped its sender: host3 does not take what comes"));
    EXPECT_THAT(one.text, HasSubstr("(50000 frames)"));
  }
}

TEST(PauseOrigins, OfASwitchThatNothingStoppedIsItsPort) {
  PausedSite site;
  site.stop("spine1->leaf2", 40'000);
  site.stop("leaf1->spine1", 20'000);
  const auto origins = site.origins();
  ASSERT_THAT(origins, SizeIs(1));
  EXPECT_EQ(origins[0].cause, PauseCause::slow_switch);
  EXPECT_THAT(site.names(origins[0].ports), ElementsAre("leaf2"));
}

TEST(PauseOrigins, OfSwitchesThatStopEachOtherAreTheRing) {
  PausedSite site;
  for (const char* name : {"leaf1->spine1", "spine1->leaf2", "leaf2->spine2", "spine2->leaf1"})
    site.stop(name, 10'000);
  site.stop("host1->leaf1", 5'000);
  const auto origins = site.origins();
  ASSERT_THAT(origins, SizeIs(1));
  EXPECT_EQ(origins[0].cause, PauseCause::ring);
  EXPECT_THAT(origins[0].ports, SizeIs(4));
  EXPECT_THAT(origins[0].stopped, SizeIs(5));
  EXPECT_THAT(pause_text(site.fabric, origins, 80), HasSubstr("in a ring"));
}

TEST(PauseOrigins, TwoSlowReceiversAreTwoAndTheGreaterIsFirst) {
  PausedSite site;
  site.stop("leaf2->host3", 500);
  site.stop("leaf1->host2", 90'000);
  const auto origins = site.origins();
  ASSERT_THAT(origins, SizeIs(2));
  EXPECT_THAT(site.names(origins[0].ports), ElementsAre("host2"));
}

/// An exporter that says that host4 paused for ever is not borne out by the leaf, which was never stopped.
TEST(PauseOrigins, WhatOneEndDeniesIsNotBelievedAndWhatOneEndAloneTellsIs) {
  PausedSite denied;
  denied.stop("leaf2->host4", 1e12, false, true);
  denied.stop("leaf2->host4", 0, true, false);
  EXPECT_THAT(denied.origins(), IsEmpty());
  PausedSite alone;
  alone.stop("leaf2->host4", 1'000, true, false);
  EXPECT_THAT(alone.origins(), SizeIs(1)) << "the host tells nothing";
}

TEST(PauseOrigins, SomePausesOfANicDoNotExplainMillions) {
  PausedSite site;
  site.stop("spine1->leaf2", 4'000'000);
  site.stop("leaf2->host3", 20);
  const auto origins = site.origins();
  ASSERT_THAT(origins, SizeIs(2));
  EXPECT_EQ(origins[0].cause, PauseCause::slow_switch);
  EXPECT_THAT(PausedSite().origins(), IsEmpty());
}

TEST(PortPauses, AreByPriorityAndOverTheLastHourOfAllReadings) {
  PausedSite site;
  CounterTable table;
  const PortId port = *site.fabric.find_port("leaf1/p3");
  for (const auto& [key, a_minute] : {std::pair(CounterKey{PortCounter::pause_in, 3}, 100),
                                      std::pair(CounterKey{PortCounter::pause_out, 3}, 7),
                                      std::pair(CounterKey{PortCounter::pause_in, {}}, 300)})
    for (int minute = 0; minute < 4; ++minute)
      ASSERT_TRUE(table.add(table.at(port, key, table.source("snmp")),
                            {std::chrono::hours(480'000) + std::chrono::minutes(minute),
                             static_cast<std::uint64_t>(minute * a_minute), 0}));
  // Another port stood the week before: that is none of this.
  for (const int minute : {0, 1})
    ASSERT_TRUE(table.add(
        table.at(*site.fabric.find_port("leaf2/p3"), {PortCounter::pause_in, 3}, table.source("snmp")),
        {std::chrono::hours(479'832) + std::chrono::minutes(minute),
         static_cast<std::uint64_t>(minute * 5'000), 0}));
  // The clock of a source may be two hours behind: its port stood as well.
  for (const int minute : {0, 1})
    ASSERT_TRUE(table.add(
        table.at(*site.fabric.find_port("leaf2/p4"), {PortCounter::pause_in, 2}, table.source("behind")),
        {std::chrono::hours(479'998) + std::chrono::minutes(minute), static_cast<std::uint64_t>(minute * 50),
         0}));
  const auto [from, to, pauses] = port_pauses(site.fabric, table);
  EXPECT_EQ(from, std::chrono::hours(479'998));
  EXPECT_EQ(to, std::chrono::hours(480'000) + std::chrono::minutes(3));
  EXPECT_EQ(pauses.at(2).at(0).received, 50);
  ASSERT_THAT(pauses.at(3), SizeIs(1));
  ASSERT_THAT(pauses, SizeIs(3));
  EXPECT_EQ(pauses.at(3).at(0).received, 300);
  EXPECT_EQ(pauses.at(3).at(0).sent, 21);
  EXPECT_EQ(pauses.at(std::nullopt).at(0).received, 900);
}

}  // namespace
}  // namespace weft::counters
