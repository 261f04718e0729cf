// Which ports a watch shows by their counters, and which readings it keeps.
#include "collectors/counters/port_warnings.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "collectors/counters/counter_file.hpp"
#include "tests/support/schema.hpp"
#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Nanoseconds kBegin = hours(480'000);  // a multiple of two hours
constexpr int kHours = 300;
constexpr Nanoseconds kEnd = kBegin + hours(kHours - 1);

struct Site {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  CounterTable table = {};

  void add(const char* port, PortCounter counter, int hour, double value, const EpochWords& words = {}) {
    auto& series = table.at(*fabric.find_port(port), {counter}, table.source("phy"));
    ASSERT_TRUE(
        table.add(series, {kBegin + hours(hour), static_cast<std::uint64_t>(value), table.epoch(words)}));
  }
  /// Corrected codewords of a port at 400 Gb/s whose bit error rate rises by .6 decades a day from `since`.
  void rise(const char* port, int since, const EpochWords& words = {}) {
    double errors = 1000;
    for (int hour = 0; hour < kHours; ++hour) {
      const double level = -8 + 0.6 * std::max(hour - since, 0) / 24.0;
      errors += 78.125e6 * 3600 * (1 - std::exp(-5440 * std::pow(10, level)));
      add(port, PortCounter::fec_corrected, hour, errors, words);
    }
  }
};

TEST(PortWarnings, TellTheDegradingPortFirstWithValueWindowSourceAndTime) {
  Site site;
  site.rise("leaf1/p4", 200);
  for (int hour = 0; hour < kHours; ++hour) {
    site.add("leaf1/p3", PortCounter::fec_corrected, hour, 1000.0 * hour);
    site.add("leaf1/p3", PortCounter::fec_uncorrectable, hour, hour);
  }
  const auto found = port_warnings(site.fabric, site.table, kEnd + minutes(5));
  ASSERT_THAT(found.ports, SizeIs(2));
  EXPECT_EQ(site.fabric.name_of(found.ports[0].port), "leaf1/p4");
  EXPECT_TRUE(found.ports[0].degrading);
  EXPECT_THAT(found.ports[0].text, HasSubstr("decades a day since"));
  EXPECT_GT(found.ports[0].loss.value().days, 0.5);
  EXPECT_EQ(found.ports[0].at, kEnd);
  EXPECT_FALSE(found.ports[1].degrading);
  EXPECT_EQ(found.ports[1].source, "phy: fec_uncorrectable of leaf1/p3");
  EXPECT_NEAR(found.ports[1].errors, 24, 8) << "of a day";
  EXPECT_EQ(found.told, 2u);
}

TEST(PortWarnings, OfTemperaturesTheNewestOfTwoHoursIsKeptBesideTheCounters) {
  Site site;
  for (int hour = 0; hour < 4; ++hour) {
    site.add("leaf1/p4", PortCounter::fcs_errors, hour, hour, {.boot = "b", .cleared = {}, .serial = {}});
    site.table.temperatures[{*site.fabric.find_port("leaf1/p4"), site.table.source("phy")}].push_back(
        {kBegin + hours(hour), {.device = 60.0 + hour, .module = std::nullopt}});
  }
  site.table.temperatures[{*site.fabric.find_port("leaf1/p3"), site.table.source("phy")}] = {
      {kBegin, {.device = std::nullopt, .module = -3.5, .gpu = 71}}};
  const auto texts = readings_to_keep(site.fabric, site.table, kBegin);
  ASSERT_THAT(texts, SizeIs(2));
  CounterTable read;
  for (const auto& [begin, text] : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) expect_matches_schema(line, "counters");
    ASSERT_TRUE(read_counter_file(site.fabric, text, "kept", "", kEnd, read));
  }
  const auto of = [&](const char* port) {
    return read.temperatures.at({*site.fabric.find_port(port), read.source("phy")});
  };
  EXPECT_EQ(of("leaf1/p4"), (std::vector<PortTemperatures>{{kBegin + hours(1), {.device = 61.0}},
                                                           {kBegin + hours(3), {.device = 63.0}}}));
  EXPECT_EQ(of("leaf1/p3"),
            (std::vector<PortTemperatures>{{kBegin, {.device = {}, .module = -3.5, .gpu = 71}}}));
  EXPECT_EQ(texts.begin()->second.find("\"celsius\":61.0,\"counters\":{}"), std::string::npos)
      << "in the line of its counters";
}

TEST(PortWarnings, OlderThanTwoPeriodsIsNone) {
  Site site;
  site.rise("leaf1/p4", 200);
  EXPECT_THAT(port_warnings(site.fabric, site.table, kEnd + hours(3)).ports, SizeIs(1));
  EXPECT_THAT(port_warnings(site.fabric, site.table, kEnd + hours(5)).ports, IsEmpty());
}

TEST(ReadingsToKeep, AreTheNewestOfEveryTwoHoursAndWarnAsAllDo) {
  Site site;
  site.rise("leaf1/p4", 200, {.boot = "b1", .cleared = "", .serial = "MT1"});
  site.add("leaf1/p4", PortCounter::pause_in, 0, 1);
  const auto kept = readings_to_keep(site.fabric, site.table, kBegin);
  ASSERT_THAT(kept, SizeIs(kHours / 2));
  EXPECT_EQ(kept.begin()->first, kBegin);
  EXPECT_THAT(kept.begin()->second, HasSubstr("\"boot\":\"b1\",\"serial\":\"MT1\""));
  EXPECT_THAT(kept.begin()->second, Not(HasSubstr("pause_in")));
  EXPECT_THAT(readings_to_keep(site.fabric, site.table, kBegin + hours(100)), SizeIs(kHours / 2 - 50));
  std::istringstream lines(kept.begin()->second);
  for (std::string line; std::getline(lines, line);) expect_matches_schema(line, "counters");
  CounterTable again;
  for (const auto& [begin, text] : kept)
    ASSERT_TRUE(read_counter_file(site.fabric, text, "kept", "", kEnd, again));
  EXPECT_EQ(again.source_name(0), "phy");
  EXPECT_EQ(again.points(), kHours / 2u);
  const auto found = port_warnings(site.fabric, again, kEnd);
  ASSERT_THAT(found.ports, SizeIs(1));
  EXPECT_TRUE(found.ports[0].degrading);
}

TEST(ModuleChanges, AreTheLastNewSerialOfAPortAsOneSourceTellsIt) {
  Site site;
  const auto told = [&](const char* port, int hour, const char* serial, const char* source = "phy") {
    auto& series =
        site.table.at(*site.fabric.find_port(port), {PortCounter::fec_corrected}, site.table.source(source));
    ASSERT_TRUE(site.table.add(series, {kBegin + hours(hour), 7, site.table.epoch({.serial = serial})}));
  };
  for (const char* source : {"phy", "late"}) {
    const int late = std::string_view(source) == "late" ? 4 : 0;
    told("leaf1/p3", 0 + late, "A", source);
    told("leaf1/p3", 10 + late, "B", source);
    told("leaf1/p3", 20 + late, "C", source);
    told("leaf1/p3", 30 + late, "C", source);
  }
  told("leaf1/p4", 0, "A"), told("leaf1/p4", 10, "A"), told("leaf1/p4", 20, "");
  told("leaf2/p3", 0, "A"), told("leaf2/p3", 10, "B"), told("leaf2/p3", 20, "A");
  told("leaf2/p4", 0, "A"), told("leaf2/p4", 5, "B", "another");
  const auto changes = module_changes(site.table);
  ASSERT_THAT(changes, SizeIs(1)) << "two sources may write one serial in two ways";
  EXPECT_EQ(site.fabric.name_of(changes[0].port), "leaf1/p3");
  EXPECT_EQ(changes[0].before + changes[0].after, "BC");
  EXPECT_EQ(changes[0].at, kBegin + hours(20));
}

}  // namespace
}  // namespace weft::counters
