// When corrected errors of a port warn, and what looks like a rise and is none.
#include "collectors/counters/corrected_trend.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "topology/base/splitmix.hpp"
#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using std::chrono::hours;
using ::testing::DoubleNear;
using ::testing::HasSubstr;

constexpr Nanoseconds kFirstHour = hours(480'000);
using LevelOf = std::function<double(int hour)>;

/// A rate an hour, with some noise.
std::vector<ErrorRate> rates_of(int count, const LevelOf& level, int event = -1) {
  SplitMix64 random(7);
  std::vector<ErrorRate> rates;
  for (int hour = 0; hour < count; ++hour) {
    const double noise = 0.04 * (static_cast<double>(random() % 1000) / 1000 - 0.5);
    rates.push_back({kFirstHour + hours(hour), level(hour) + noise, hour == event});
  }
  return rates;
}
double daily(int hour) { return 0.25 * std::cos(2 * std::numbers::pi * hour / 24); }

/// Whether any of the hours warns.
bool ever_degrades(const std::vector<ErrorRate>& rates) {
  for (std::size_t n = 24; n <= rates.size(); n += 3)
    if (const auto trend = corrected_trend(std::span(rates).first(n)); trend && trend->degrading) return true;
  return false;
}

TEST(CorrectedTrend, ARiseTowardsLossIsDegradingWithTheDaysThatAreLeft) {
  const auto rises = [](int hour) { return -8 + daily(hour) + 0.5 * std::max(hour - 240, 0) / 24.0; };
  const auto trend = corrected_trend(rates_of(240 + 96, rises));
  ASSERT_TRUE(trend);
  EXPECT_TRUE(trend->degrading);
  EXPECT_THAT(trend->a_day, DoubleNear(0.5, 0.1));
  EXPECT_THAT(trend->now - trend->usual, DoubleNear(1.9, 0.3));
  ASSERT_TRUE(trend->loss);
  EXPECT_THAT(trend->loss->days, DoubleNear((kLossAt - (-6)) / 0.5, 1.2));
  EXPECT_LT(trend->loss->low, trend->loss->days);
}

TEST(CorrectedTrend, ADailyCycleASlowDriftAndAHighLevelAreNone) {
  EXPECT_FALSE(ever_degrades(rates_of(900, [](int hour) { return -7 + daily(hour); })));
  EXPECT_FALSE(ever_degrades(rates_of(900, [](int hour) { return -7 + 0.03 * hour / 24; })));
  EXPECT_FALSE(ever_degrades(rates_of(900, [](int) { return -4.2; }))) << "it stands there";
}

TEST(CorrectedTrend, AStepIsNoneWithAFlapOrWithoutAndIsOneWhereItGoesOn) {
  for (const int event : {-1, 400}) {
    EXPECT_FALSE(ever_degrades(rates_of(
        900, [](int hour) { return -8 + daily(hour) + (hour >= 400 ? 2.0 : 0.0); }, event)));
    EXPECT_TRUE(ever_degrades(rates_of(
        496, [](int hour) { return hour < 400 ? -8 : -6.5 + 0.5 * (hour - 400) / 24.0; }, event)));
  }
}

TEST(CorrectedTrend, OfLessThanADayNothingIsSaid) {
  const auto steady = [](int) { return -8.0; };
  EXPECT_FALSE(corrected_trend({}));
  EXPECT_FALSE(corrected_trend(rates_of(20, steady)));
  EXPECT_FALSE(corrected_trend(rates_of(400, steady, 390))) << "ten hours after a flap";
  EXPECT_TRUE(corrected_trend(rates_of(400, steady, 320)));
}

TEST(CorrectedTrend, OneWildRateDecidesNothing) {
  auto rates = rates_of(400, [](int hour) { return -8 + daily(hour); });
  rates.back().log10_rate = -3;
  EXPECT_FALSE(corrected_trend(rates)->degrading);
}

struct CorrectedSite {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  CounterTable table = {};

  /// Readings an hour of corrected codewords of a port, as bit error rates make them.
  void read(const char* port, const LevelOf& level, int count,
            PortCounter counter = PortCounter::fec_corrected, const char* source = "phy") {
    const double codewords = 78.125e6 * 3600;  // at 400 Gb/s
    double errors = 1000;
    for (int hour = 0; hour < count; ++hour) {
      const double bits = 5440 * std::pow(10, level(hour));
      errors += codewords * (counter == PortCounter::fec_bits ? bits : 1 - std::exp(-bits));
      auto& series = table.at(*fabric.find_port(port), {counter}, table.source(source));
      ASSERT_TRUE(table.add(series, {kFirstHour + hours(hour), static_cast<std::uint64_t>(errors), 0}));
    }
  }
};

TEST(PortTrends, ComeFromCodewordsOrBitsAlikeAndNameTheDegradingPortFirst) {
  for (const auto counter : {PortCounter::fec_corrected, PortCounter::fec_bits}) {
    CorrectedSite site;
    site.read(
        "leaf1/p3", [](int) { return -6.0; }, 300, counter);
    site.read(
        "leaf1/p4", [](int hour) { return -8 + 0.6 * std::max(hour - 200, 0) / 24.0; }, 300, counter);
    const auto found = port_trends(site.fabric, site.table);
    const auto& trends = found.trends;
    ASSERT_EQ(trends.size(), 2u);
    EXPECT_EQ(site.fabric.name_of(trends[0].port), "leaf1/p4");
    EXPECT_TRUE(trends[0].trend.degrading);
    EXPECT_FALSE(trends[1].trend.degrading);
    EXPECT_THAT(trends[1].trend.now, DoubleNear(-6.0, 0.01));
    const auto text = trends_text(site.fabric, site.table, found, 80);
    EXPECT_THAT(text, HasSubstr("1 of 2 ports are degrading"));
    EXPECT_THAT(text, HasSubstr("leaf1/p4"));
  }
}

TEST(PortTrends, PeersAreThePortsWithTheSameModuleAndFecWhereTheseAreTold) {
  CorrectedSite site{*make_clos({.leaves = 8, .spines = 2, .hosts_per_leaf = 2})};
  const auto port = [&](int leaf, int number) { return fmt::format("leaf{}/p{}", leaf, number); };
  for (int leaf = 1; leaf <= 8; ++leaf)
    for (int number = 3; number <= 4; ++number) {
      const bool is_worse_kind = number == 4 && leaf <= 6;
      site.read(
          port(leaf, number).c_str(), [&](int) { return is_worse_kind ? -6.0 : -9.0; }, 60);
      site.table.modules[*site.fabric.find_port(port(leaf, number))].state.part = is_worse_kind ? "B" : "A";
    }
  site.table.modules[*site.fabric.find_port("leaf8/p3")].state.part = "rare";
  for (const PortTrend& one : port_trends(site.fabric, site.table).trends)
    EXPECT_NEAR(one.beside_peers, 0, 0.01) << site.fabric.name_of(one.port);
  for (auto& [port_id, module] : site.table.modules) {
    site.table.fec_modes[port_id].mode = module.state.part == "B" ? "off" : "RS";
    module.state.part = "A";
  }
  for (const PortTrend& one : port_trends(site.fabric, site.table).trends)
    EXPECT_NEAR(one.beside_peers, 0, 0.01)
        << "of one part, with FEC or without: " << site.fabric.name_of(one.port);
  site.table.modules.clear();
  site.table.fec_modes.clear();
  for (const PortTrend& one : port_trends(site.fabric, site.table).trends)
    EXPECT_NEAR(one.beside_peers, site.fabric.name_of(one.port).ends_with("p4") && one.trend.now > -7 ? 3 : 0,
                0.01);
}

TEST(PortTrends, OfWhichTwoSourcesTellArePortsOnce) {
  CorrectedSite site;
  const auto rises = [](int hour) { return -8 + 0.6 * std::max(hour - 200, 0) / 24.0; };
  site.read("leaf1/p4", rises, 300);
  site.read("leaf1/p4", rises, 300, PortCounter::fec_corrected, "gnmi");
  const auto found = port_trends(site.fabric, site.table);
  EXPECT_EQ(found.trends.size(), 2u);
  EXPECT_THAT(trends_text(site.fabric, site.table, found, 80), HasSubstr("1 of 1 ports are degrading"));
}

TEST(PortTrends, APortWithoutErrorsIsOneOfThoseThatDoNotDegrade) {
  const auto told = [](int hours_read, bool others_move) {
    CorrectedSite site;
    site.read(
        "leaf1/p3", [](int) { return -30.0; }, hours_read);
    if (others_move)
      site.read(
          "leaf1/p3", [](int) { return -5.0; }, hours_read, PortCounter::fec_codewords);
    const auto found = port_trends(site.fabric, site.table);
    EXPECT_TRUE(found.trends.empty());
    return trends_text(site.fabric, site.table, found, 80);
  };
  EXPECT_THAT(told(100, true), HasSubstr("0 of 1 ports are degrading"));
  EXPECT_THAT(told(10, true), HasSubstr("0 of 0 ports"));
  EXPECT_THAT(told(100, false), HasSubstr("0 of 0 ports")) << "a source that stands still does not look";
}

TEST(PortTrends, APortThatLosesCodewordsAlreadyIsNamedAsThat) {
  CorrectedSite site;
  site.read(
      "leaf1/p3", [](int) { return -3.4; }, 100);
  auto& lost = site.table.at(*site.fabric.find_port("leaf1/p3"), {PortCounter::fec_uncorrectable},
                             site.table.source("phy"));
  for (int hour = 0; hour < 100; ++hour)
    ASSERT_TRUE(site.table.add(lost, {kFirstHour + hours(hour), static_cast<std::uint64_t>(hour), 0}));
  const auto found = port_trends(site.fabric, site.table);
  ASSERT_EQ(found.losses.size(), 1u);
  EXPECT_EQ(found.losses[0].lost, 24u);
  EXPECT_THAT(trends_text(site.fabric, site.table, found, 80), HasSubstr("1 port loses frames already"));
}

}  // namespace
}  // namespace weft::counters
