#include "collectors/counters/counter_observations.hpp"

#include <gmock/gmock.h>

#include "collectors/counters/counter_check.hpp"
#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Nanoseconds kStart = std::chrono::hours(480'000);

/// Of 400 Gb/s links.
struct Site {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  CounterTable table = {};

  /// One reading a minute.
  void read(const char* port, PortCounter counter, std::initializer_list<std::uint64_t> values,
            const char* source = "snmp", Nanoseconds ahead = {}) {
    auto& series = table.at(*fabric.find_port(port), {.counter = counter}, table.source(source));
    Nanoseconds at = kStart + ahead;
    for (const auto value : values) {
      ASSERT_TRUE(table.add(series, {at, value, 0}));
      at += seconds(60);
    }
  }
  std::vector<ChannelCount> counts() { return channel_counts(fabric, table); }
};

std::vector<std::string> told(const Site& site, const std::vector<ChannelCount>& counts) {
  std::vector<std::string> all;
  for (const auto& one : counts)
    all.push_back(fmt::format("{} {} of {:.0f}", site.fabric.name_of(one.channel), one.errors, one.exposure));
  return all;
}

TEST(ChannelCounts, OfUncorrectableCodewordsAreOfTheChannelIntoThePort) {
  Site site;
  site.read("leaf1/p3", PortCounter::fec_uncorrectable, {5, 7, 7});
  site.read("leaf1/p3", PortCounter::fec_codewords,
            {1'000'000'000'000, 1'004'687'500'000, 1'009'375'000'000});
  const auto counts = site.counts();
  EXPECT_THAT(told(site, counts),
              ElementsAre("spine1->leaf1 2 of 4687500000", "spine1->leaf1 0 of 4687500000"));
  EXPECT_EQ(counts[0].kind, CounterKind::codewords);
  EXPECT_EQ(counts[0].end - counts[0].begin, seconds(60));
  EXPECT_EQ(counts[0].period, seconds(60));
  EXPECT_THAT(counts[0].source, HasSubstr("snmp: fec_uncorrectable of leaf1/p3"));
}

TEST(ChannelCounts, WithoutCodewordsAreOfThoseThatTheRateMakes) {
  Site site;
  site.read("leaf1/p3", PortCounter::fec_uncorrectable, {5, 7});
  EXPECT_THAT(told(site, site.counts()), ElementsAre("spine1->leaf1 2 of 4687500000"));
}

TEST(ChannelCounts, OfZeroErrorsAreToldToo) {
  Site site;
  site.read("leaf1/p3", PortCounter::fcs_errors, {0, 0});
  site.read("leaf1/p3", PortCounter::frames_in, {1'000'000, 2'000'000});
  EXPECT_THAT(told(site, site.counts()), ElementsAre("spine1->leaf1 0 of 1000000"));
}

TEST(ChannelCounts, OfZeroErrorsAreNotToldWhereNothingOfThePortMoves) {
  Site site;
  site.read("leaf1/p3", PortCounter::fec_uncorrectable, {0, 0});
  EXPECT_THAT(site.counts(), IsEmpty()) << "its source may show what it saw last week";
}

TEST(ChannelCounts, WithoutFramesOrAfterAResetErrorsAreOfNobodyKnowsHowMany) {
  Site site;
  site.read("leaf1/p3", PortCounter::fcs_errors, {0, 5});
  EXPECT_THAT(told(site, site.counts()), ElementsAre("spine1->leaf1 5 of 0"));
  const auto check = check_counters(site.fabric, site.table);
  EXPECT_THAT(check.troubles, ElementsAre(HasSubstr("no frames_in says of how many")));
  site.read("leaf1/p3", PortCounter::frames_in, {1'000'000, 2'000});
}

TEST(ChannelCounts, AreARowAWindowAndOfManyNeighboursAreOne) {
  for (const std::uint64_t readings : {3u, 1'000u}) {
    Site site;
    const auto read = [&](PortCounter counter, auto value) {
      auto& series =
          site.table.at(*site.fabric.find_port("leaf1/p3"), {.counter = counter}, site.table.source("snmp"));
      for (std::uint64_t i = 0; i < readings; ++i)
        ASSERT_TRUE(site.table.add(series, {kStart + i * seconds(60), value(i), 0}));
    };
    read(PortCounter::fcs_errors, [](std::uint64_t i) { return std::uint64_t{i > 0 ? 7u : 0u}; });
    read(PortCounter::frames_in, [](std::uint64_t i) { return i * 1'000; });
    const auto counts = site.counts();
    EXPECT_EQ(counts.size(), readings == 3 ? 2u : 63u);
    EXPECT_EQ(std::ranges::count(counts, 7u, &ChannelCount::errors), 1);
  }
}

TEST(ChannelCounts, OfACounterWithoutErrorsAreOneRowForAllItsWindows) {
  Site site;
  site.read("leaf1/p3", PortCounter::fcs_errors, {3, 3, 3, 3});
  site.read("leaf1/p3", PortCounter::frames_in, {0, 1'000'000, 2'000'000, 3'000'000});
  site.read("leaf1/p3", PortCounter::discards_in, {3, 3, 3, 3});
  const auto counts = site.counts();
  EXPECT_THAT(told(site, counts), ElementsAre("spine1->leaf1 0 of 3000000"));
  EXPECT_EQ(counts.at(0).end - counts.at(0).begin, seconds(180));
}

TEST(ChannelCounts, SayTheExporterFirst) {
  Site site;
  for (const auto& [counter, source] :
       {std::pair(PortCounter::fec_uncorrectable, "own"), std::pair(PortCounter::frames_in, "snmp")}) {
    site.read("leaf1/p3", counter, {1, 3}, source);
    auto& series =
        site.table.at(*site.fabric.find_port("leaf1/p3"), {.counter = counter}, site.table.source(source));
    series.exporter = site.table.exporter("sw leaf1:9116");
  }
  EXPECT_EQ(site.counts().at(0).source, "sw leaf1:9116: fec_uncorrectable of leaf1/p3 (own)");
}

TEST(ChannelCounts, OfDiscardsOnTheWayOutAreOfTheOtherDirectionAndOfNoCable) {
  Site site;
  site.read("leaf1/p3", PortCounter::discards_out, {0, 5});
  site.read("leaf1/p3", PortCounter::frames_out, {1'000'000, 2'000'000});
  const auto counts = site.counts();
  EXPECT_THAT(told(site, counts), ElementsAre("leaf1->spine1 5 of 1000005"));
  EXPECT_EQ(counts.at(0).kind, CounterKind::discards);
}

TEST(ChannelCounts, OfASumAreUsedWhereTheFcsIsNotCounted) {
  Site site;
  site.read("leaf1/p3", PortCounter::errors_in, {0, 5});
  site.read("leaf1/p3", PortCounter::frames_in, {1'000'000, 2'000'000});
  EXPECT_EQ(site.counts().at(0).kind, CounterKind::packets);
  site.read("leaf1/p3", PortCounter::fcs_errors, {0, 1});
  EXPECT_THAT(told(site, site.counts()), ElementsAre("spine1->leaf1 1 of 1000001"));
}

TEST(ChannelCounts, AgesAreThoseOfTheSourcesOwnClock) {
  Site site;
  site.read("leaf1/p3", PortCounter::fec_uncorrectable, {0, 1}, "gnmic", std::chrono::hours(1));
  site.read("leaf1/p4", PortCounter::fec_uncorrectable, {0, 1}, "snmp");
  site.read("leaf2/p3", PortCounter::fec_uncorrectable, {0, 1}, "snmp", -std::chrono::minutes(10));
  const auto counts = site.counts();
  ASSERT_THAT(counts, SizeIs(3));
  std::map<std::string, Nanoseconds> ages;
  for (const auto& one : counts) ages[site.fabric.name_of(one.channel)] = one.age;
  EXPECT_EQ(ages.at("spine1->leaf1"), seconds(0)) << "an hour ahead is the clock, not the age";
  EXPECT_EQ(ages.at("spine2->leaf1"), seconds(0));
  EXPECT_EQ(ages.at("spine1->leaf2"), std::chrono::minutes(10)) << "its series ended";
}

TEST(CounterCheck, SaysWhatIsThereAndWhatIsNot) {
  Site site;
  site.read("leaf1/p3", PortCounter::fec_uncorrectable, {5, 7});
  site.read("leaf1/p3", PortCounter::fec_codewords, {1'000'000'000'000, 1'001'171'875'000});
  site.read("leaf1/p4", PortCounter::frames_in, {0, 100'000'000'000'000});
  site.table.unplaced.add("leaf9 p1: no such node");
  const auto check = check_counters(site.fabric, site.table);
  EXPECT_EQ(check.ports, 16U);
  EXPECT_THAT(check.without, SizeIs(10)) << "of 12 ports of switches";
  const auto text = check_text(site.fabric, site.table, check, 80);
  for (const auto* part :
       {"snmp: counters of 2 of 16 ports, of 1 with readings to compare", "grows 0.25 times as fast",
        "grew by more than 400G carries", "leaf9 p1: no such node"})
    EXPECT_THAT(text, HasSubstr(part)) << text;
  EXPECT_FALSE(all_is_well(site.table, check));
}

TEST(CounterCheck, TellsSourcesThatContradictEachOther) {
  Site site;
  site.read("leaf1/p3", PortCounter::fcs_errors, {5, 1'005, 2'005});
  site.read("leaf1/p3", PortCounter::fcs_errors, {0, 3, 5}, "gnmi");
  site.read("leaf1/p4", PortCounter::fcs_errors, {5, 1'005, 2'005});
  site.read("leaf1/p4", PortCounter::fcs_errors, {7, 1'001, 2'000}, "gnmi", seconds(1));
  site.read("leaf2/p3", PortCounter::fcs_errors, {0, 9}, "snmp");
  site.read("leaf2/p3", PortCounter::fcs_errors, {0, 0}, "gnmi");
  const auto check = check_counters(site.fabric, site.table);
  EXPECT_THAT(check.troubles,
              Contains(HasSubstr("fcs_errors of leaf1/p3 grew by 2000 as snmp tells, by 5 as gnmi")));
  EXPECT_THAT(check.troubles, Not(Contains(HasSubstr("leaf1/p4 grew by"))));
  EXPECT_THAT(check.troubles, Not(Contains(HasSubstr("leaf2/p3 grew by")))) << "they read at other moments";
}

TEST(CounterCheck, CountsThePortsOfWhichOneExporterAloneTells) {
  Site site;
  const auto by = [&](const char* port, PortCounter counter, const char* exporter) {
    site.read(port, counter, {1, 2}, exporter);
    site.table.at(*site.fabric.find_port(port), {.counter = counter}, site.table.source(exporter)).exporter =
        site.table.exporter(exporter);
  };
  by("leaf1/p3", PortCounter::fcs_errors, "snmp");
  by("leaf1/p3", PortCounter::fec_uncorrectable, "snmp");
  by("leaf1/p4", PortCounter::fcs_errors, "snmp");
  by("leaf1/p4", PortCounter::fec_uncorrectable, "gnmi");
  const auto check = check_counters(site.fabric, site.table);
  EXPECT_EQ(check.of_one_exporter, 1u);
  EXPECT_THAT(check_text(site.fabric, site.table, check, 80),
              HasSubstr("one exporter alone tells: 1: that names"));
}

TEST(CounterCheck, OfAWholeFabricIsWell) {
  Site site;
  for (std::uint32_t p = 0; p < site.fabric.port_count(); ++p)
    site.read(site.fabric.name_of(PortId(p)).c_str(), PortCounter::frames_in, {100, 200});
  const auto check = check_counters(site.fabric, site.table);
  EXPECT_TRUE(all_is_well(site.table, check)) << check_text(site.fabric, site.table, check, 80);
}

}  // namespace
}  // namespace weft::counters
