// A noon dip is no fault, and a real change beside it is one.
#include "collectors/compare/daily_cycle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/compare/comparison.hpp"
#include "collectors/compare/run_times.hpp"
#include "tests/support/day_cycle_runs.hpp"

namespace weft::compare {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

Comparison compared(const DayRuns& days, std::uint64_t seed, bool with_times = true) {
  SplitMix64 random(seed);
  auto sides = days.draw(random);
  if (!with_times)
    for (auto* side : {&sides.a, &sides.b})
      for (Run& run : *side) run.moment.reset();
  return *compare(sides.a, sides.b, {.margin = 0.005});
}

constexpr double kQuiet = 0.01;  // noise of a run in these tests

TEST(DailyCycle, ANoonDipIsNoDifference) {
  int with = 0, without = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    with += compared({.noise = kQuiet}, seed).cells.front().proven();
    without += compared({.noise = kQuiet}, seed, false).cells.front().proven();
  }
  EXPECT_LE(with, 12) << "5 of 100 are expected";
  EXPECT_GE(without, 95) << "the runs at noon are slower";
}

TEST(DailyCycle, ARealChangeBesideItIsFoundAndNothingElseOfIt) {
  int found = 0, covered = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto comparison = compared({.ratio = 0.98, .noise = kQuiet}, seed);
    const CellResult& cell = comparison.cells.front();
    found += cell.decision == Decision::differs;
    covered += cell.test->low <= 0.98 && 0.98 <= cell.test->high;
  }
  EXPECT_GE(found, 95);
  EXPECT_GE(covered, 89);
}

TEST(DailyCycle, IsShownWithItsIntervalAndItsHour) {
  int covered = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto comparison = compared({.noise = kQuiet}, seed);
    ASSERT_TRUE(comparison.cells.front().cycle);
    const DailyCycle& cycle = *comparison.cells.front().cycle;
    EXPECT_TRUE(cycle.proven);
    constexpr double kSwing = 1 / 0.98 - 1;
    covered += cycle.swing.low <= kSwing && kSwing <= cycle.swing.high;
    const double from_midnight = std::min(cycle.highest_at, 24 - cycle.highest_at);
    EXPECT_LT(from_midnight, 2.5) << seed;
  }
  EXPECT_GE(covered, 89);
  EXPECT_THAT(to_string(*compared({.noise = kQuiet}, 1).cells.front().cycle),
              testing::ContainsRegex("^[12]\\.?[0-9]? % \\(.* to .*\\) up and down each day, highest at"));
}

TEST(DailyCycle, WithoutOneNoneIsProven) {
  int proven = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed)
    proven += compared({.dip = 0, .noise = kQuiet}, seed).cells.front().cycle->proven;
  EXPECT_LE(proven, 12);
  EXPECT_THAT(to_string(DailyCycle{.swing = {.high = 0.011}}), HasSubstr("no daily cycle is proven"));
}

TEST(DailyCycle, TemperatureIsCorrectedForToo) {
  SplitMix64 random(5);
  auto sides = DayRuns{.dip = 0, .noise = 0.005, .per_degree = 0.004}.draw(random);
  for (compare::Run& run : sides.b) {  // ten degrees warmer
    run.moment->celsius = *run.moment->celsius + 10;
    for (auto& [cell, value] : run.cells) value.number *= std::exp(-0.04);
  }
  const auto comparison = *compare(sides.a, sides.b, {});
  EXPECT_NEAR(comparison.cells.front().ratio(), 1, 0.015);
  ASSERT_TRUE(comparison.cells.front().cycle->per_degree);
  EXPECT_NEAR(comparison.cells.front().cycle->per_degree->share, -0.004, 0.001);
}

TEST(DailyCycle, IsRefusedUnderTwoDaysAndWhereTheSidesRanAtOtherHours) {
  const auto short_one = compared({.days_of_a = 1, .days_of_b = 1}, 1);
  EXPECT_FALSE(short_one.cells.front().cycle);
  EXPECT_THAT(short_one.remarks, Contains(HasSubstr("a daily cycle is told over 48 at least")));
  SplitMix64 random(1);
  auto sides = DayRuns{.first_hour_of_b = 12, .last_hour_of_b = 12.2}.draw(random);
  for (std::size_t i = 0; i < sides.a.size(); ++i)  // A at eight each day
    sides.a[i].moment->at =
        std::chrono::hours(24 * (20'000 + i / 12) + 8) + std::chrono::seconds(60 * (i % 12));
  const auto apart = *compare(sides.a, sides.b, {});
  EXPECT_FALSE(apart.cells.front().cycle);
  EXPECT_THAT(apart.remarks, Contains(HasSubstr("cannot be told apart")));
  for (auto* const side : {&sides.a, &sides.b})  // all within some minutes of noon
    for (std::size_t i = 0; i < side->size(); ++i)
      (*side)[i].moment->at = std::chrono::hours(24 * (20'000 + i) + 12) + std::chrono::seconds(20 * (i % 5));
  const auto noon = *compare(sides.a, sides.b, {});
  EXPECT_FALSE(noon.cells.front().cycle);
  EXPECT_THAT(noon.remarks, Contains(HasSubstr("spread over the day")));
}

TEST(DailyCycle, RunsWithoutTimesAreCountedAndNothingIsCorrected) {
  SplitMix64 random(1);
  auto sides = DayRuns{}.draw(random);
  sides.a[3].moment.reset();
  const auto comparison = *compare(sides.a, sides.b, {});
  EXPECT_FALSE(comparison.cells.front().cycle);
  EXPECT_THAT(comparison.remarks, Contains(HasSubstr("of 1 run nobody says")));
  EXPECT_THAT(compared({}, 1, false).remarks, IsEmpty());
}

TEST(DailyCycle, DoesNotDependOnTheEpochOrTheOrderOfRuns) {
  SplitMix64 random(3);
  auto sides = DayRuns{.noise = kQuiet}.draw(random);
  const auto before = *compare(sides.a, sides.b, {});
  std::ranges::reverse(sides.a);
  for (auto* side : {&sides.a, &sides.b})
    for (compare::Run& run : *side) run.moment->at += std::chrono::hours(24 * 1000);
  const auto after = *compare(sides.a, sides.b, {});
  EXPECT_NEAR(before.cells.front().ratio(), after.cells.front().ratio(), 1e-9);
  EXPECT_NEAR(before.cells.front().test->low, after.cells.front().test->low, 1e-9);
}

TEST(RunTimes, NamesTheLineThatIsWrong) {
  const auto times = parse_run_times(
      "file,time,celsius\na,b.log,2026-11-28T10:00:00Z,41.5\nc.log,2026-11-28T11:00:00Z,\n", "t");
  ASSERT_TRUE(times) << times.error().message;
  EXPECT_EQ(*times->at("a,b.log").celsius, 41.5);
  EXPECT_FALSE(times->at("c.log").celsius);
  for (const auto& [text, said] :
       {std::pair("", "no run has a time"), std::pair("time,file\n", "line 1: expected the columns"),
        std::pair("file,time\n", "no run has a time"),
        std::pair("file,time\na.log\n", "line 2: expected a file"),
        std::pair("file,time\na.log,noon\n", "line 2: expected a time as in"),
        std::pair("file,time,celsius\na,2026-11-28T10:00:00Z,hot\n", "line 2: expected degrees"),
        std::pair("file,time,celsius\na,2026-11-28T10:00:00Z,nan\n", "line 2: expected degrees"),
        std::pair("file,time\na,2026-11-28T10:00:00Z\na,2026-11-28T11:00:00Z\n",
                  "line 3: a stands there twice")}) {
    const auto wrong = parse_run_times(text, "t");
    ASSERT_FALSE(wrong) << text;
    EXPECT_THAT(wrong.error().message, HasSubstr(said));
  }
}

}  // namespace
}  // namespace weft::compare
