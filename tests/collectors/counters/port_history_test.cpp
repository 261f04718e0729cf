#include "collectors/counters/port_history.hpp"

#include <gmock/gmock.h>

#include <numeric>

#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using std::chrono::seconds;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Nanoseconds kStart = std::chrono::hours(400'000);
constexpr std::uint64_t kTwoTo32 = std::uint64_t{1} << 32U;

/// One reading a minute.
CounterSeries series(PortCounter counter, std::initializer_list<std::uint64_t> values, bool narrow = false) {
  CounterSeries made{.port = PortId(0), .key = {.counter = counter}, .narrow = narrow};
  int minute = 0;
  for (const auto value : values) made.points.push_back({kStart + seconds(60 * minute++), value});
  return made;
}

/// Codewords of 400 Gb/s, which say that the source looks.
CounterSeries codewords(std::size_t readings) {
  CounterSeries made{.port = PortId(0), .key = {.counter = PortCounter::fec_codewords}};
  for (std::size_t i = 0; i < readings; ++i)
    made.points.push_back({kStart + seconds(60 * i), 1'000'000'000'000 + 4'687'500'000 * i});
  return made;
}

SeriesHistory history(std::vector<CounterSeries> all) {
  return port_history(all, Bandwidth::gbit(400)).at(0);
}
std::vector<std::uint64_t> growths(const SeriesHistory& history) {
  std::vector<std::uint64_t> all;
  for (const auto& window : history.windows) all.push_back(window.grew);
  return all;
}

TEST(PortHistory, AWindowIsWhatWasCountedBetweenTwoReadings) {
  const auto got = history({series(PortCounter::fec_uncorrectable, {5, 5, 9}), codewords(3)});
  ASSERT_THAT(growths(got), ElementsAre(0, 4));
  EXPECT_EQ(got.windows[1].from, kStart + seconds(60));
  EXPECT_EQ(got.windows[1].to, kStart + seconds(120));
  EXPECT_EQ(got.left_out, StepsLeftOut());
}

TEST(PortHistory, AResetIsNoRateThoughTheValueIsAboveTheOldOneAgain) {
  auto words = codewords(3);
  words.points[2].value = 3'000'000'000;  // the port was cleared
  const auto got = history({series(PortCounter::fec_uncorrectable, {5, 6, 9}), words});
  EXPECT_THAT(growths(got), ElementsAre(1));
  EXPECT_EQ(got.left_out.restarted, 1U);
}

TEST(PortHistory, AnotherBootOrModuleStartsAnew) {
  auto errors = series(PortCounter::fec_uncorrectable, {5, 6, 9, 9});
  errors.points[0].epoch = errors.points[1].epoch = 1;
  errors.points[2].epoch = errors.points[3].epoch = 2;
  EXPECT_THAT(growths(history({errors, codewords(4)})), ElementsAre(1, 0));
}

TEST(PortHistory, AWrapOf32BitsIsToldFromAResetByTheOtherCountersOfThePort) {
  const auto frames = series(PortCounter::frames_in, {4'000'000'000, 4'200'000'000, 105'032'704}, true);
  EXPECT_THAT(growths(history({frames})), IsEmpty()) << "400 Gb/s may wrap it nine times a minute";
  const std::vector<CounterSeries> slow{
      frames, series(PortCounter::bytes_in, {kTwoTo32 * 90, kTwoTo32 * 91, kTwoTo32 * 92})};
  const auto got = port_history(slow, Bandwidth::gbit(25)).at(0);
  EXPECT_THAT(growths(got), ElementsAre(200'000'000, 200'000'000));
  EXPECT_EQ(got.wraps, 1U);
  EXPECT_THAT(growths(port_history({slow.data(), 1}, Bandwidth::gbit(25)).at(0)), ElementsAre(200'000'000))
      << "alone it may have been cleared";
}

TEST(PortHistory, ASourceThatStandsStillSaysNothingUntilItLooksAgain) {
  auto words = codewords(4);
  words.points[1].value = words.points[2].value = words.points[0].value;
  const auto got = history({series(PortCounter::fec_uncorrectable, {5, 5, 5, 8}), words});
  ASSERT_THAT(growths(got), ElementsAre(3));
  EXPECT_EQ(got.windows[0].to - got.windows[0].from, seconds(180));
  EXPECT_EQ(got.left_out.stood_still, 2U);
}

TEST(PortHistory, ACounterAtItsMaximumIsNoZero) {
  const auto got = history({series(PortCounter::fcs_errors, {65'000, 65'535, 65'535}), codewords(3)});
  EXPECT_THAT(growths(got), IsEmpty());
  EXPECT_EQ(got.left_out.saturated, 2U);
}

TEST(PortHistory, AValueThatJumpsBackByOneTakesItsWindowsWithIt) {
  const auto got = history({series(PortCounter::fcs_errors, {40, 42, 41, 44, 45}), codewords(5)});
  EXPECT_THAT(growths(got), ElementsAre(1)) << "of 42 and 41 one is wrong";
  EXPECT_EQ(got.left_out.went_back, 1U);
}

TEST(PortHistory, OrderDoesNotMatterAndOneTimeHasOneValue) {
  auto errors = series(PortCounter::fec_uncorrectable, {5, 6, 9});
  std::swap(errors.points[0], errors.points[2]);
  errors.points.push_back(errors.points[1]);
  EXPECT_THAT(growths(history({errors, codewords(3)})), ElementsAre(1, 3));
  errors.points.push_back({errors.points[1].at, 7});
  EXPECT_THAT(growths(history({errors, codewords(3)})), ElementsAre(4)) << "6 or 7: neither";
}

TEST(PortHistory, AClockThatGoesBackAnHourLeavesNothing) {
  auto errors = series(PortCounter::frames_in, {100, 200, 300, 400, 500, 600});
  for (std::size_t i = 3; i < 6; ++i) errors.points[i].at -= seconds(170);
  const auto got = history({errors});
  EXPECT_THAT(growths(got), IsEmpty());
  EXPECT_GT(got.left_out.contradicted, 0U);
}

TEST(PortHistory, MoreThanTheLinkCarriesIsNotBelieved) {
  const auto got = history({series(PortCounter::frames_in, {0, 1'000, 1'000'000'000'000})});
  EXPECT_THAT(growths(got), ElementsAre(1'000));
  EXPECT_EQ(got.left_out.impossible, 1U);
}

TEST(PortHistory, ErrorsOfAMinuteThatTheSourceMissedAreCountedWithTheNext) {
  auto words = codewords(30);
  auto errors = series(PortCounter::fec_uncorrectable, {});
  for (std::size_t i = 0; i < 30; ++i) errors.points.push_back({words.points[i].at, i < 15 ? 7U : 907U});
  words.points[14].value = words.points[13].value;  // and two minutes' worth in one behind it
  const auto got = port_history(std::vector{errors, words}, Bandwidth::gbit(400)).at(0);
  const auto grew = growths(got);
  EXPECT_EQ(std::accumulate(grew.begin(), grew.end(), std::uint64_t{}), 900U);
  EXPECT_EQ(got.left_out.restarted, 0U);
}

/// Six minutes of 400 Gb/s, then the port has a quarter of its lanes, and counts from zero.
std::vector<CounterSeries> broken_out(std::size_t readings) {
  CounterSeries words{.port = PortId(0), .key = {.counter = PortCounter::fec_codewords}}, errors = words;
  errors.key.counter = PortCounter::fec_uncorrectable;
  for (std::size_t i = 0; i < readings; ++i) {
    const bool is_old = i < 6;
    const std::size_t since = is_old ? 1'000 + i : i - 5;
    words.points.push_back({kStart + seconds(60 * i), (is_old ? 4'687'500'000 : 1'171'875'000) * since});
    errors.points.push_back({kStart + seconds(60 * i), is_old ? 600 * since : 2 * since});
  }
  return {errors, words};
}

TEST(PortHistory, OfAPortThatWasBrokenOutTheOldErrorsAreOfAnotherAndTheNewAreUsed) {
  const auto got = port_history(broken_out(20), Bandwidth::gbit(100));
  EXPECT_GT(got[0].left_out.restarted, 4U);
  ASSERT_THAT(growths(got[0]), Not(IsEmpty()));
  EXPECT_THAT(growths(got[0]), Each(2));
  EXPECT_THAT(growths(got[1]), Each(1'171'875'000));
}

TEST(PortHistory, ErrorsBesideCodewordsOfAnotherUnitStay) {
  auto words = codewords(4);  // of 400 Gb/s at a port of 100 Gb/s, all of them
  const auto got = port_history(std::vector{series(PortCounter::fec_uncorrectable, {5, 6, 8, 8}), words},
                                Bandwidth::gbit(100));
  EXPECT_THAT(growths(got[0]), ElementsAre(1, 2, 0));
  EXPECT_EQ(got[1].left_out.impossible, 3U);
}

TEST(PortHistory, ErrorsBesideALinkEventAreOfItsTraining) {
  const auto got = history({series(PortCounter::fec_uncorrectable, {5, 90'000, 90'001}),
                            series(PortCounter::link_events, {1, 3, 3}), codewords(3)});
  EXPECT_THAT(growths(got), ElementsAre(1));
  EXPECT_EQ(got.left_out.training, 1U);
}

TEST(PortHistory, ASecondResetThatHidesBehindSmallValuesIsNoWindow) {
  auto words = codewords(4);
  words.points[2].value = 1'000'000'000, words.points[3].value = 2'000'000'000;  // fewer than the line has
  EXPECT_THAT(growths(history({series(PortCounter::fec_uncorrectable, {500, 510, 3, 8}), words})),
              ElementsAre(10));
  EXPECT_THAT(growths(history({series(PortCounter::frames_in, {9'000, 9'500, 300, 700}),
                               series(PortCounter::bytes_in, {90'000, 95'000, 3'000, 7'000})})),
              ElementsAre(500))
      << "nor without codewords, until a value is too large to be new";
}

TEST(PortHistory, GrowthIsThatOfWholeWindows) {
  const auto got = history({series(PortCounter::fec_uncorrectable, {5, 6, 9, 10}), codewords(4)});
  const auto grown = growth(got, kStart + seconds(30), kStart + seconds(300));
  ASSERT_TRUE(grown);
  EXPECT_EQ(grown->grew, 4U);
  EXPECT_EQ(grown->watched, seconds(120));
  EXPECT_FALSE(growth(got, kStart, kStart + seconds(30)));
}

TEST(PortHistory, OfNothingIsNothing) {
  EXPECT_THAT(port_history({}, std::nullopt), IsEmpty());
  EXPECT_THAT(growths(history({series(PortCounter::frames_in, {})})), IsEmpty());
  EXPECT_THAT(growths(history({series(PortCounter::frames_in, {7})})), IsEmpty());
}

/// A module is read more seldom than the counters of its port.
TEST(EachHistory, AReadingWithoutTheModuleIsNoRestartAndAnotherModuleIsOne) {
  const Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  CounterTable table;
  auto& frames = table.at(*fabric.find_port("leaf1/p3"), {PortCounter::frames_in}, table.source("nic"));
  std::uint64_t value = 0;
  for (const char* serial : {"", "A1", "", "A1", "", "A2", ""}) {
    const Nanoseconds at = kStart + seconds(60 * (++value));
    ASSERT_TRUE(table.add(frames, {at, 1000 * value, table.epoch({.boot = "b", .serial = serial})}));
  }
  std::vector<std::uint64_t> grown;
  each_history(fabric, table, [&](std::span<const SeriesHistory> all) { grown = growths(all.front()); });
  EXPECT_THAT(grown, ElementsAre(1000, 1000, 1000, 1000, 1000)) << "not from A1 to A2";
}

}  // namespace
}  // namespace weft::counters
