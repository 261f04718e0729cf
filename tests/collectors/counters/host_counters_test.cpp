// What agents tell of their own NICs: when it is told, what a watcher takes of it, and what it refuses.
#include "collectors/counters/host_counters.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "collectors/counters/port_history.hpp"
#include "collectors/counters/port_warnings.hpp"
#include "tests/support/schema.hpp"
#include "topology/base/instant.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Nanoseconds kNow = hours(480'000) + minutes(30);  // in two hours of their own
constexpr const char* kBoot = "0d5b1c9e-6f2a-4a53-9f65-0f3c2b1a7788";

NicAt nic(Nanoseconds at, std::uint64_t lost, const char* serial = nullptr) {
  NicReading reading{.interface = "eth2", .driver = "mlx5_core", .firmware = "28.39.1002", .fec = "RS"};
  reading.kernel = {
      {"uncorrectable_blocks", lost}, {"corrected_blocks", 1000 * lost}, {"carrier_changes", 1}};
  if (serial != nullptr) reading.module = ModuleState{.form = "OSFP", .part = "P1", .serial = serial};
  return {at, "10.0.0.1", std::move(reading)};
}

struct Site {
  Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  PortId port = fabric.find_nic("host1").value();
  HostPorts own{host_source("host1"), {{"10.0.0.1", port}}};
  HostCounters hosts;

  Result<std::vector<std::string>> take(const std::string& text, Nanoseconds now = kNow) {
    return hosts.take(fabric, own, text, now);
  }
  CounterTable table(Nanoseconds now = kNow) const {
    CounterTable all;
    hosts.add_to(fabric, now, all);
    all.sort_points();
    return all;
  }
  /// Uncorrectable codewords of the windows that there are.
  std::uint64_t lost(Nanoseconds now) const {
    auto all = table(now);
    std::uint64_t sum = 0;
    each_history(fabric, all, [&](std::span<const SeriesHistory> of_port) {
      for (const SeriesHistory& one : of_port)
        for (const CounterWindow& window : one.windows)
          if (one.key.counter == PortCounter::fec_uncorrectable) sum += window.grew;
    });
    return sum;
  }
};

/// A line as an agent writes it, with `member` in its place.
std::string line(const std::string& port, const std::string& more = "", Nanoseconds at = kNow) {
  return fmt::format(
      "{{\"schema\":\"weft.counters/"
      "1\"}}\n{{\"at\":\"{}\",\"port\":\"{}\"{},\"counters\":{{\"fcs_errors\":7}}}}\n",
      instant_text(at), port, more);
}

TEST(HostCounters, WhatAnAgentWritesIsReadAsOfItsOwnPort) {
  Site site;
  auto told = nic(kNow, 5, "S1");
  told.reading.temperatures = {.device = 61.5, .module = 47.0};
  told.reading.pci = "0000:3b:00.0";
  told.reading.speed = Bandwidth::gbit(400);
  const auto text = host_text(kBoot, {told});
  std::istringstream lines(text);
  for (std::string one; std::getline(lines, one);) expect_matches_schema(one, "counters");
  ASSERT_TRUE(site.take(text));
  const auto table = site.table();
  ASSERT_FALSE(table.empty());
  for (const CounterSeries& series : table.series()) {
    EXPECT_EQ(series.port, site.port);
    EXPECT_EQ(table.source_name(series.source), "agent host1");
    EXPECT_EQ(table.epoch_words()[series.points.at(0).epoch], (EpochWords{kBoot, "", "S1"}));
  }
  ASSERT_THAT(table.temperatures, SizeIs(1));
  EXPECT_EQ(table.temperatures.begin()->second,
            (std::vector<PortTemperatures>{{kNow, {.device = 61.5, .module = 47.0}}}));
  EXPECT_EQ(table.modules.at(site.port).state.part, "P1");
}

TEST(HostCounters, TheNicsOfAHostAreKnownAsItToldThemLast) {
  Site site;
  auto told = nic(kNow, 5, "S1");
  told.reading.pci = "0000:3b:00.0";
  told.reading.pci_id = "15b3:1021";
  ASSERT_TRUE(site.take(host_text(kBoot, {told}, "0.9")));
  auto later = nic(kNow + minutes(1), 5);
  later.reading.firmware = "28.41.1000";
  ASSERT_TRUE(site.take(host_text(kBoot, {later}, "0.10"), kNow + minutes(1)));
  const auto nics = site.hosts.nics_of(host_source("host1"));
  ASSERT_THAT(nics, SizeIs(1));
  EXPECT_EQ(nics[0].port, site.port);
  EXPECT_EQ(nics[0].device.firmware, "28.41.1000");
  EXPECT_EQ(nics[0].device.id, "15b3:1021") << "what is not told any more stays";
  EXPECT_EQ(nics[0].device.interface, "eth2");
  EXPECT_EQ(nics[0].device.agent, "0.10");
  EXPECT_EQ(nics[0].device.at, kNow + minutes(1));
  EXPECT_EQ(nics[0].module.serial, "S1");
  EXPECT_THAT(site.hosts.nics_of(host_source("host2")), IsEmpty());
  const std::string long_version(100, '1');
  ASSERT_TRUE(site.take(host_text(kBoot, {nic(kNow + minutes(2), 6)}, long_version), kNow + minutes(2)));
  EXPECT_EQ(site.hosts.nics_of(host_source("host1"))[0].device.agent, "") << "words have 64 characters";
}

TEST(HostCounters, ErrorsBetweenTheFirstReadingAndTheLastAreCounted) {
  Site site;
  for (int i = 0; i < 50; ++i) {
    const auto at = kNow + minutes(i);
    ASSERT_TRUE(site.take(host_text(kBoot, {nic(at, static_cast<std::uint64_t>(10 + i))}), at));
  }
  EXPECT_EQ(site.lost(kNow + hours(1)), 49u);
  EXPECT_THAT(site.table(kNow + hours(1)).series().at(0).points, SizeIs(2))
      << "those between them are not needed";
}

TEST(HostCounters, ABootOrAModuleInBetweenTakesNothingOfWhatWasCountedBefore) {
  Site site;
  const auto told = [&](int minute, std::uint64_t lost, const char* boot, const char* serial) {
    const auto at = kNow + minutes(minute);
    ASSERT_TRUE(site.take(host_text(boot, {nic(at, lost, serial)}), at));
  };
  told(0, 10, kBoot, "S1");
  told(10, 14, kBoot, nullptr);
  told(20, 15, kBoot, "S1");
  told(30, 0, "another-boot", "S1");
  told(40, 2, "another-boot", "S2");
  told(50, 5, "another-boot", nullptr);
  EXPECT_EQ(site.lost(kNow + hours(1)), 5u + 3u);
  const auto changes = module_changes(site.table(kNow + hours(1)));
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].before + changes[0].after, "S1S2");
}

TEST(HostCounters, OfTheTwoHoursBeforeTheLastReadingStays) {
  Site site;
  for (const int minute : {0, 30, 60, 95})
    ASSERT_TRUE(site.take(host_text(kBoot, {nic(kNow + minutes(minute), static_cast<std::uint64_t>(minute))}),
                          kNow + minutes(minute)));
  EXPECT_EQ(site.lost(kNow + hours(2)), 35u) << "what is earlier is kept for days, elsewhere";
}

TEST(HostCounters, WhatAHostMayNotTellIsRefused) {
  Site site;
  EXPECT_FALSE(site.take(line("10.0.0.2"))) << "a port of another host";
  EXPECT_FALSE(site.take(line("leaf1/p1"))) << "of a switch, by its name in the fabric";
  EXPECT_FALSE(site.take(line("p1", ",\"switch\":\"leaf1\"")));
  EXPECT_FALSE(site.take(line("10.0.0.1", ",\"cleared\":\"x\"")));
  EXPECT_FALSE(site.take(line("10.0.0.1", ",\"serial\":\"x\""))) << "that of the module counts";
  EXPECT_FALSE(site.take(line("10.0.0.1", "", kNow + minutes(6)))) << "ahead";
  EXPECT_FALSE(site.take(line("10.0.0.1", "", kNow - hours(3)))) << "long ago";
  EXPECT_FALSE(site.take(line("10.0.0.1", ",\"boot\":\"" + std::string(65, 'x') + "\"")));
  for (const char* word : {R"(,"module":{"serial":")", R"(,"module":{"part":")"})
    EXPECT_FALSE(site.take(line("10.0.0.1", word + std::string(65, 'x') + "\"}")));
  for (const char* word : {R"(,"fec":")", R"(,"driver":")", R"(,"firmware":")"})
    EXPECT_FALSE(site.take(line("10.0.0.1", word + std::string(65, 'x') + '"')));
  EXPECT_FALSE(site.take(line("10.0.0.1", ",\"x\":" + std::string(50, '[') + std::string(50, ']'))))
      << "deep";
  EXPECT_FALSE(site.take(""));
  EXPECT_FALSE(site.take(std::string("\0\xff\n{", 4)));
  EXPECT_FALSE(site.take("{\"schema\":\"weft.counters/2\"}\n"));
  EXPECT_FALSE(site.take(std::string(kMaxHostCounters + 1, '\n') + line("10.0.0.1")));
  EXPECT_TRUE(site.hosts.empty()) << "nothing of it is kept";
  EXPECT_TRUE(site.table().empty());
}

TEST(HostCounters, ControlBytesStandAsEscapes) {
  Site site;
  const auto text =
      line("10.0.0.1", R"(,"boot":"a\u001b[2J","module":{"serial":"b\u202e"},"driver":"c\u0007")");
  ASSERT_TRUE(site.take(text));
  const auto table = site.table();
  const auto words = table.epoch_words()[table.series().at(0).points.at(0).epoch];
  EXPECT_EQ(words.boot, R"(a\x1b[2J)");
  EXPECT_TRUE(is_harmless(words.serial)) << words.serial;
  auto other = text;
  other.replace(other.find("c\\u"), 1, "d");
  other.replace(other.find("00:30:00"), 8, "00:31:00");
  const auto changes = site.take(other, kNow + minutes(1)).value();
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_TRUE(is_harmless(changes[0])) << changes[0];
}

TEST(HostCounters, WhatTheTextSaysOfItsSourceCountsForNothing) {
  Site site;
  ASSERT_TRUE(site.take(line("10.0.0.1", R"(,"source":"agent host2","host":"host2","switch":"leaf1")")));
  const auto table = site.table();
  ASSERT_THAT(table.series(), SizeIs(1));
  EXPECT_EQ(table.series()[0].port, site.port);
  EXPECT_EQ(table.source_name(table.series()[0].source), "agent host1");
}

TEST(HostCounters, APortHasOneLineSoAReadingIsOfOneTime) {
  Site site;
  std::string text = line("10.0.0.1");
  for (int i = 1; i < 100; ++i) text += line("10.0.0.1", "", kNow - seconds(i));
  ASSERT_TRUE(site.take(text));
  ASSERT_THAT(site.table().series(), SizeIs(1));
  EXPECT_THAT(site.table().series()[0].points, SizeIs(1));
}

TEST(HostCounters, AClockThatIsALittleAheadIsOfNow) {
  Site site;
  ASSERT_TRUE(site.take(line("10.0.0.1", "", kNow + minutes(4))));
  EXPECT_EQ(site.table().series().at(0).points.at(0).at, kNow);
}

TEST(HostCounters, AnotherFirmwareIsSaidOnceAndNotMoreThanOnceAnHour) {
  Site site;
  auto told = nic(kNow, 5, "S1");
  const auto changes = [&](int minute) {
    told.at = kNow + minutes(minute);
    return site.take(host_text(kBoot, {told}), told.at).value();
  };
  EXPECT_THAT(changes(0), IsEmpty()) << "it is the first";
  EXPECT_THAT(changes(1), IsEmpty());
  told.reading.firmware = "28.42.1000";
  told.reading.speed = Bandwidth::gbit(200);
  EXPECT_EQ(changes(2), std::vector<std::string>{"host1/p1: firmware 28.42.1000 instead of 28.39.1002"});
  EXPECT_THAT(changes(3), IsEmpty());
  told.reading.speed = Bandwidth::gbit(100);
  EXPECT_THAT(changes(4), IsEmpty()) << "a host fills no log";
  told.reading.speed = Bandwidth::gbit(400);
  EXPECT_EQ(changes(63), std::vector<std::string>{"host1/p1: speed 400 Gb/s instead of 100 Gb/s"});
}

TEST(HostCounters, OneThatTellsAgainAndAgainFillsNothing) {
  Site site;
  for (int i = 0; i < 2000; ++i) {
    const auto at = kNow + seconds(i);
    const auto boot = fmt::format(",\"boot\":\"b{}\"", i);
    ASSERT_TRUE(site.take(line("10.0.0.1", boot, at), at));
  }
  EXPECT_LE(site.table(kNow + hours(1)).points(), 6u);
}

TEST(ReportedOfHost, IsTheFirstReadingThenWhatChangedAndNotWhatAlwaysGrows) {
  ReportedOfHost told;
  EXPECT_TRUE(told.changes({nic(kNow, 5, "S1")}));
  EXPECT_FALSE(told.changes({nic(kNow, 5)})) << "a module that was not read did not change";
  auto more = nic(kNow, 5, "S1");
  more.reading.kernel["corrected_blocks"] += 1000;
  more.reading.kernel["rx_bytes"] = 7;
  more.reading.temperatures.device = 80;
  EXPECT_FALSE(told.changes({more}));
  EXPECT_TRUE(told.changes({nic(kNow, 6)})) << "lost frames";
  EXPECT_TRUE(told.changes({nic(kNow, 6, "S2")})) << "another module";
  auto upgraded = nic(kNow, 6);
  upgraded.reading.firmware = "28.42.1000";
  EXPECT_TRUE(told.changes({upgraded}));
  upgraded.reading.speed = Bandwidth::gbit(200);
  EXPECT_TRUE(told.changes({upgraded}));
  upgraded.reading.kernel["carrier_changes"] = 3;
  EXPECT_TRUE(told.changes({upgraded}));
  EXPECT_FALSE(told.changes({upgraded}));
}

}  // namespace
}  // namespace weft::counters
