#include "collectors/counters/counter_evidence.hpp"

#include <gmock/gmock.h>

#include "probes/discover/subnet_discovery.hpp"
#include "tests/fakes/fake_subnet.hpp"
#include "topology/findings/counter_step.hpp"
#include "topology/model/fabric.hpp"

namespace weft::counters {
namespace {

using fakes::FakeSubnet;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Counted {
  FakeSubnet subnet{fakes::make_subnet(3, 2, 2)};
  InfinibandFabric fabric =
      build_infiniband_fabric(discover::discover_subnet(subnet)->subnet, "counted").value();

  std::uint64_t& counter(std::uint64_t guid, std::uint8_t port, mad::IbCounter which) {
    return subnet.counters[{Guid(guid), port}][static_cast<std::size_t>(which)];
  }
  CounterReading read(Nanoseconds at) {
    auto reading = read_counters(subnet, fabric).value();
    reading.at = at;
    return reading;
  }
  std::string name(ChannelId channel) const { return fabric.fabric.name_of(channel); }
};

TEST(Counters, EveryCabledPortIsReadAndASilentNodeLeavesOnlyItsOwnOut) {
  Counted c;
  c.counter(0x2001, 1, mad::IbCounter::xmit_data) = 77;
  const auto whole = c.read(seconds(1));
  EXPECT_EQ(whole.unread, 0u);
  c.subnet.silent.insert(Guid(0x1002));
  const auto start = c.subnet.now();
  const auto part = read_counters(c.subnet, c.fabric, {.timeout = milliseconds(300)});
  EXPECT_EQ(part->unread, 1u);
  EXPECT_LE(c.subnet.now() - start, milliseconds(310));
}

TEST(Counters, AHealthyFabricGivesNoEvidence) {
  Counted c;
  const auto before = c.read(seconds(1));
  c.counter(0x2001, 1, mad::IbCounter::xmit_data) = 4'000'000'000;
  c.counter(0x2001, 1, mad::IbCounter::vl15_dropped) = 9;
  const auto evidence = counter_evidence(c.fabric, &before, c.read(seconds(11)));
  EXPECT_THAT(evidence.channels, IsEmpty());
  EXPECT_FALSE(evidence.counts.empty());
  for (const ChannelCount& count : evidence.counts) EXPECT_EQ(count.errors, 0u) << count.source;
}

TEST(Counters, SymbolErrorsAreCountsOnTheChannelThatEntersThePort) {
  Counted c;
  c.counter(0x3001, 1, mad::IbCounter::symbol_error) = 77;  // spine1's port to leaf1
  const auto evidence = counter_evidence(c.fabric, nullptr, c.read(seconds(1)));
  EXPECT_THAT(evidence.channels, IsEmpty());
  ASSERT_EQ(evidence.counts.size(), 1u) << "zero since an unknown time is no count";
  const ChannelCount& count = evidence.counts[0];
  EXPECT_EQ(c.name(count.channel), "leaf1->spine1");
  EXPECT_EQ(count.kind, CounterKind::symbols);
  EXPECT_EQ(count.errors, 77u);
  EXPECT_TRUE(count.link_event) << "when it counted them is not known";
  EXPECT_EQ(count.source, "SymbolErrorCounter of spine1/p1");
}

TEST(Counters, BetweenTwoReadingsOnlyWhatGrewCounts) {
  Counted c;
  c.counter(0x3001, 1, mad::IbCounter::symbol_error) = 77;
  const auto before = c.read(seconds(1));
  c.counter(0x3001, 1, mad::IbCounter::symbol_error) = 80;
  const auto evidence = counter_evidence(c.fabric, &before, c.read(seconds(11)));
  const auto spine = std::ranges::find(evidence.counts, 3u, &ChannelCount::errors);
  ASSERT_NE(spine, evidence.counts.end());
  EXPECT_EQ(c.name(spine->channel), "leaf1->spine1");
  EXPECT_FALSE(spine->link_event);
  EXPECT_EQ(spine->end - spine->begin, seconds(10));
}

TEST(Counters, WaitingIsCongestionOfTheChannelThatLeavesThePort) {
  Counted c;
  const auto before = c.read(seconds(1));
  c.counter(0x2001, 3, mad::IbCounter::xmit_wait) = 600'000;  // leaf1's port to spine1
  c.counter(0x2001, 3, mad::IbCounter::xmit_data) = 400'000;
  c.counter(0x2002, 3, mad::IbCounter::xmit_wait) = 5'000;  // a burst
  c.counter(0x2002, 3, mad::IbCounter::xmit_data) = 900'000;
  const auto after = c.read(seconds(11));
  const auto evidence = counter_evidence(c.fabric, &before, after).channels;
  ASSERT_EQ(evidence.size(), 1u);
  EXPECT_EQ(c.name(evidence[0].channel), "leaf1->spine1");
  EXPECT_EQ(evidence[0].cause, Cause::congestion);
  EXPECT_THAT(evidence[0].text, HasSubstr("60 %"));
}

TEST(Counters, RemotePhysicalErrorsAreFollowedToThePortThatMadeThem) {
  Counted c;
  c.counter(0x2003, 3, mad::IbCounter::rcv_remote_physical_errors) = 40;  // leaf3, from spine1
  c.counter(0x3001, 1, mad::IbCounter::rcv_errors) = 40;                  // spine1, from leaf1
  const auto evidence = counter_evidence(c.fabric, nullptr, c.read(seconds(1))).channels;
  ASSERT_FALSE(evidence.empty());
  for (const auto& sign : evidence) EXPECT_EQ(c.name(sign.channel), "leaf1->spine1") << sign.text;
}

TEST(CounterStep, KnowsAdvanceSaturationAndReset) {
  EXPECT_EQ(counter_step(5, 9, 255), CounterStep(Advanced{4}));
  EXPECT_EQ(counter_step(5, 255, 255), CounterStep(Saturated{}));
  EXPECT_EQ(counter_step(9, 2, 255), CounterStep(WentBack{2}));
}

TEST(Counters, AnErrorCounterThatSticksIsReadWideWhereTheNodeHasItAndSaidToStickElsewhere) {
  Counted c;
  c.subnet.wide_errors.insert(Guid(0x3001));
  c.counter(0x3001, 1, mad::IbCounter::symbol_error) = 70'000;  // beyond the 16 bits of the narrow counter
  c.counter(0x3002, 1, mad::IbCounter::symbol_error) = 70'000;
  const auto before = c.read(seconds(1));
  c.counter(0x3001, 1, mad::IbCounter::symbol_error) = 70'500;
  std::string said;
  for (const auto& count : counter_evidence(c.fabric, &before, c.read(seconds(11))).counts)
    if (count.errors > 0) said += fmt::format("{}: {}\n", count.source, count.errors);
  EXPECT_THAT(said, AllOf(HasSubstr("SymbolErrorCounter of spine1/p1: 500"),
                          HasSubstr("SymbolErrorCounter of spine2/p1 (its maximum: really more): 65535")));
}

TEST(Counters, WhatErrorCorrectionCountedIsReadOnlyWhereTheCableMadeItselfNoticed) {
  Counted c;
  c.counter(0x3001, 1, mad::IbCounter::symbol_error) = 77;
  c.subnet.fec_mode[Guid(0x3001)] = mad::FecMode::over_port;
  c.subnet.fec[{Guid(0x3001), 1}] = {40'112, 12, {10, 20, 9'000, 5}};
  const auto evidence = counter_evidence(c.fabric, nullptr, c.read(seconds(1)));
  ASSERT_EQ(evidence.counts.size(), 1u);
  EXPECT_EQ(evidence.counts[0].source,
            "SymbolErrorCounter of spine1/p1; its error correction repaired 40112 blocks and could not "
            "repair 12 (most on lane 2)");
  EXPECT_EQ(c.subnet.asked[0x1F], 1u);
  EXPECT_EQ(c.subnet.asked[0x33], 1u);
}

TEST(Counters, ANodeThatDoesNotTellItsFecModeHasItsBlocksByLane) {
  Counted c;
  c.counter(0x3001, 1, mad::IbCounter::link_downed) = 1;
  c.subnet.fec[{Guid(0x3001), 1}] = {30, 4'000, {10, 20}};
  const auto read = c.read(seconds(1));
  const auto port = c.fabric.fabric.find_channel("spine1->leaf1");
  const auto& fec = read.ports[c.fabric.fabric.source(*port).value()]->fec;
  ASSERT_TRUE(fec);
  EXPECT_EQ(fec->corrected_blocks, 30u);
  EXPECT_EQ(fec->uncorrected_blocks, 4'000u);
  EXPECT_THAT(
      counter_evidence(c.fabric, nullptr, read).counts,
      ::testing::Contains(::testing::Field(&ChannelCount::source, HasSubstr("could not repair 4000"))));
}

TEST(Counters, APortThatRefusesOrIsTooSlowForErrorCorrectionHasNone) {
  Counted c;
  c.counter(0x3001, 1, mad::IbCounter::symbol_error) = 77;
  c.fabric.inventory.ports[c.fabric.fabric.source(*c.fabric.fabric.find_channel("spine2->leaf1")).value()]
      .speed = LinkSpeed::qdr;
  c.counter(0x3002, 1, mad::IbCounter::symbol_error) = 77;
  const auto read = c.read(seconds(1));
  EXPECT_EQ(c.subnet.asked[0x33], 1u);
  for (const auto& port : read.ports) EXPECT_FALSE(port && port->fec);
}

}  // namespace
}  // namespace weft::counters
