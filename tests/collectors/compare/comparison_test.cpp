#include "collectors/compare/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "tests/support/draws.hpp"
#include "topology/base/splitmix.hpp"

namespace weft::compare {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const Cell kCell{.work = {"all_reduce", "in-place"}, .size = Bytes(1024), .metric = Metric::time};

Run run(double number, const Cell& cell = kCell, double grain = 0) {
  return {.name = "run", .cells = {{cell, {number, grain}}}};
}

std::vector<Run> runs(const std::vector<double>& numbers, const Cell& cell = kCell) {
  std::vector<Run> all;
  for (const double number : numbers) all.push_back(run(number, cell));
  return all;
}

CellResult only_cell(const std::vector<Run>& a, const std::vector<Run>& b, const Settings& settings = {}) {
  const auto comparison = compare(a, b, settings);
  EXPECT_TRUE(comparison.has_value()) << comparison.error().message;
  EXPECT_THAT(comparison->cells, SizeIs(1));
  EXPECT_EQ(comparison->decision(), comparison->cells.front().decision);
  return comparison->cells.front();
}

TEST(Comparison, RunsThatAgreeAreEqualWithinTheMargin) {
  const auto cell = only_cell(runs({100, 101, 99, 100}), runs({101, 100, 99.5, 100}));
  EXPECT_EQ(cell.decision, Decision::equal);
  EXPECT_FALSE(cell.proven());
  EXPECT_LT(cell.test->low, 1);
  EXPECT_GT(cell.test->high, 1);
  EXPECT_EQ(cell.a.units, 4U);
}

TEST(Comparison, ASmallDifferenceThatIsProvenIsToldBesideEqual) {
  const auto cell = only_cell(runs({100, 100.1, 99.9, 100}), runs({102, 102.1, 101.9, 102}));
  EXPECT_EQ(cell.decision, Decision::equal);
  EXPECT_TRUE(cell.proven());
  EXPECT_NEAR(cell.ratio(), 1.02, 1e-6);
}

TEST(Comparison, TheLargerTimeAndTheSmallerBandwidthAreWorse) {
  const auto slower = only_cell(runs({100, 101, 99}), runs({120, 121, 119}));
  EXPECT_EQ(slower.decision, Decision::differs);
  EXPECT_EQ(better_side(Metric::time, slower.ratio()), 'A');
  EXPECT_EQ(better_side(Metric::bandwidth, slower.ratio()), 'B');
  EXPECT_NEAR(advantage(1.25), 0.25, 1e-12);
  EXPECT_NEAR(advantage(0.8), 0.25, 1e-12);
}

TEST(Comparison, NoisyRunsAreUndecidedAndSayWhatWouldDecide) {
  const auto cell = only_cell(runs({100, 110, 95}), runs({104, 112, 99}));
  EXPECT_EQ(cell.decision, Decision::undecided);
  EXPECT_GT(cell.test->least_shown, 0.1);
  ASSERT_TRUE(cell.needed.has_value());
  EXPECT_GT(*cell.needed, 3U);
}

TEST(Comparison, FewerThanThreeRunsHaveNoIntervalButASpread) {
  const auto cell = only_cell(runs({100, 110, 105}), runs({100, 104}));
  EXPECT_EQ(cell.decision, Decision::undecided);
  EXPECT_FALSE(cell.test.has_value());
  EXPECT_NEAR(cell.b.spread, 1.04, 1e-9);
  EXPECT_EQ(cell.needed, 1U);
  EXPECT_EQ(only_cell(runs({100}), runs({100})).needed, 2U);
}

TEST(Comparison, ExactValuesThatNeverVaryDecideNothing) {
  const auto cell = only_cell(runs({100, 100, 100}), runs({100, 100, 100}));
  EXPECT_EQ(cell.decision, Decision::undecided);
  EXPECT_FALSE(cell.test.has_value());
}

TEST(Comparison, BlocksThatAreTheSameToTheLastDigitAreDecided) {
  const auto of = [](double value) {
    std::vector<compare::Run> all(6);
    for (auto& one : all) one.cells[{{"simulated"}, Bytes(8), Metric::time}] = {value, 0};
    return all;
  };
  const Settings settings{.margin = 0.05, .design = Design::blocks};
  const auto same = compare(of(2.5), of(2.5), settings);
  EXPECT_EQ(same->decision(), Decision::equal);
  EXPECT_FALSE(same->cells.front().proven());
  const auto near = compare(of(2.5), of(2.55), settings);
  EXPECT_EQ(near->decision(), Decision::equal);
  EXPECT_TRUE(near->cells.front().proven());
  EXPECT_EQ(compare(of(2.5), of(3), settings)->decision(), Decision::differs);
}

TEST(Comparison, LooksShareTheLevelOfEachTest) {
  std::vector<compare::Run> a(12), b(12);
  for (std::size_t i = 0; i < 12; ++i) {
    const Cell cell{{"work"}, Bytes(8), Metric::time};
    a[i].cells[cell] = {1 + 0.01 * static_cast<double>(i % 3), 0};
    b[i].cells[cell] = {1.02 + 0.01 * static_cast<double>(i % 5), 0};
  }
  const auto one = compare(a, b, {.design = Design::blocks});
  const auto five = compare(a, b, {.design = Design::blocks, .looks = 5});
  EXPECT_LT(five->cells.front().test->low, one->cells.front().test->low);
  EXPECT_GT(five->cells.front().test->high, one->cells.front().test->high);
  EXPECT_NEAR(five->cells.front().test->p, std::min(1.0, 5 * one->cells.front().test->p), 1e-12);
  EXPECT_EQ(five->cells.front().blocks.size(), 6U);
}

TEST(Comparison, RoundedValuesThatNeverVaryAreEqual) {
  std::vector<compare::Run> same;
  for (int i = 0; i < 3; ++i) same.push_back(run(1.23e-6, kCell, 0.01 / 1.23));
  EXPECT_EQ(only_cell(same, same).decision, Decision::equal);
  EXPECT_EQ(only_cell(same, same, {.margin = 0.001}).decision, Decision::undecided);
}

// 1.0 and 1.1 may be 1.049 and 1.051: with however many runs.
TEST(Comparison, WhatRoundingExplainsIsNoDifference) {
  std::vector<compare::Run> a;
  std::vector<compare::Run> b;
  for (int i = 0; i < 200; ++i) {
    a.push_back(run(1.0e-6, kCell, 0.1));
    b.push_back(run(1.1e-6, kCell, 0.1 / 1.1));
  }
  const auto cell = only_cell(a, b);
  EXPECT_EQ(cell.decision, Decision::undecided);
  EXPECT_LT(cell.test->low, 1);
  EXPECT_FALSE(cell.needed.has_value());
}

TEST(Comparison, BlocksTakeAwayWhatDriftsSlowly) {
  std::vector<double> a;
  std::vector<double> b;
  double drift = 1;
  for (int block = 0; block < 6; ++block) {
    for (auto* side : {&a, &b, &b, &a}) side->push_back(100 * (drift *= 1.02));
    b.back() *= 1 + 0.001 * block;  // something is left
  }
  EXPECT_EQ(only_cell(runs(a), runs(b)).decision, Decision::undecided);
  const auto cell = only_cell(runs(a), runs(b), {.design = Design::blocks});
  EXPECT_EQ(cell.decision, Decision::equal);
  EXPECT_EQ(cell.a.units, 6U);
}

TEST(Comparison, ABlockIsTheMeanOfTheLogarithmsOfItsTwoRuns) {
  const auto cell = only_cell(runs({1, 4}), runs({2, 8}), {.design = Design::blocks});
  EXPECT_NEAR(cell.a.mean, 2, 1e-12);
  EXPECT_NEAR(cell.ratio(), 2, 1e-12);
}

// Half of such a block is taken at another time than the other side's.
TEST(Comparison, ABlockCountsWhereBothItsRunsHaveTheCell) {
  Cell other = kCell;
  other.size = Bytes(2048);
  auto a = runs({100, 101, 99, 100, 100, 101, 99, 100});
  for (auto& run : a) run.cells[other] = run.cells[kCell];
  auto b = a;
  b[3].cells.erase(other);
  const auto comparison = compare(a, b, {.design = Design::blocks});
  ASSERT_THAT(comparison->cells, SizeIs(2));
  EXPECT_EQ(comparison->cells[0].b.units, 4U);
  EXPECT_EQ(comparison->cells[1].b.units, 3U);
  EXPECT_EQ(comparison->cells[1].a.units, 3U);
  EXPECT_THAT(comparison->remarks, testing::ElementsAre(HasSubstr("1 of 4 blocks of B: one run lacks")));
  EXPECT_EQ(comparison->decision(), Decision::undecided);
  EXPECT_THAT(compare(a, b, {})->remarks, testing::IsEmpty());
}

TEST(Comparison, MtusThatDifferAreRemarkedAndDecideNothing) {
  auto a = runs({100, 101, 99});
  auto b = a;
  a[0].mtus = {"4096[B]"};
  EXPECT_THAT(compare(a, b, {})->remarks, testing::IsEmpty());  // B does not tell
  b[0].mtus = {"1024[B]"};
  EXPECT_THAT(compare(a, b, {})->remarks, testing::ElementsAre("MTUs differ: A 4096[B], B 1024[B]"));
  EXPECT_EQ(compare(a, b, {})->decision(), Decision::equal);
}

TEST(Comparison, RunsThatAreNoBlocksAreRefused) {
  const Settings blocks{.design = Design::blocks};
  EXPECT_EQ(compare(runs({1, 1}), runs({1, 1, 1, 1}), blocks).error().kind, ErrorKind::usage);
  EXPECT_EQ(compare(runs({1, 1, 1}), runs({1, 1, 1}), blocks).error().kind, ErrorKind::usage);
}

TEST(Comparison, WhatIsOnOneSideAloneIsListed) {
  Cell other = kCell;
  other.size = Bytes(2048);
  auto a = runs({100, 101, 99});
  a[0].cells[other] = {1, 0};
  Cell third = kCell;
  third.metric = Metric::bandwidth;
  auto b = a;
  b[0].cells.erase(other);
  b[1].cells[third] = {1, 0};
  const auto comparison = compare(a, b, {});
  EXPECT_EQ(comparison->b.missing, std::vector{other});
  EXPECT_EQ(comparison->a.missing, std::vector{third});
}

TEST(Comparison, AFabricThatLosesSomethingIsNeverEqual) {
  const auto good = runs({100, 101, 99, 100});
  EXPECT_EQ(compare(good, good, {})->decision(), Decision::equal);
  Cell larger = kCell;
  larger.size = Bytes(2048);

  auto more = good;  // what the other side lacks, be it of other work
  more[0].cells[larger] = {100, 0};
  auto wrong = good;
  wrong[2].wrong_rows = 2;
  Cell other = kCell;
  other.work = {"all_gather"};
  auto alone = good;
  for (auto& run : alone) run.cells[other] = {100, 0};
  for (const auto& bad : {more, wrong, alone}) {
    EXPECT_EQ(compare(good, bad, {})->decision(), Decision::undecided);
    EXPECT_EQ(compare(bad, good, {})->decision(), Decision::undecided);
  }
  EXPECT_EQ(compare(good, wrong, {})->b.wrong_rows, 2U);
}

TEST(Comparison, RunsThatEndedEarlyAreCounted) {
  Cell larger = kCell;
  larger.size = Bytes(2048);
  auto whole = runs({100, 101, 99, 100});
  for (auto& run : whole) run.cells[larger] = {200, 0};
  whole[1].cells[larger] = {201, 0};
  auto ended = whole;
  ended[3].cells.erase(larger);
  auto empty = whole;
  empty[2].empty_tables = 1;
  EXPECT_EQ(compare(whole, empty, {})->b.incomplete_runs, 1U);
  const auto comparison = compare(whole, ended, {});
  EXPECT_EQ(comparison->decision(), Decision::undecided);
  EXPECT_EQ(comparison->b.incomplete_runs, 1U);
  EXPECT_TRUE(comparison->a.none());
}

TEST(Comparison, OtherWorkMayBeInOtherFiles) {
  Cell other = kCell;
  other.work = {"all_gather"};
  auto split = runs({100, 101, 99});
  for (const auto& run : runs({50, 51, 50}, other)) split.push_back(run);
  const auto comparison = compare(split, split, {});
  EXPECT_EQ(comparison->decision(), Decision::equal);
  EXPECT_THAT(comparison->cells, SizeIs(2));
}

TEST(Comparison, ADifferenceStaysOneWhereSomethingIsLost) {
  auto b = runs({120, 121, 119});
  b[0].wrong_rows = 1;
  EXPECT_EQ(compare(runs({100, 101, 99}), b, {})->decision(), Decision::differs);
}

TEST(Comparison, NothingInCommonAndValuesWithoutARatioAreErrors) {
  Cell other = kCell;
  other.work = {"all_gather"};
  const auto none = compare(runs({1, 1, 1}), runs({1, 1, 1}, other), {});
  EXPECT_EQ(none.error().kind, ErrorKind::invalid_input);
  EXPECT_THAT(none.error().message,
              testing::AllOf(HasSubstr("all_reduce in-place"), HasSubstr("all_gather")));
  for (const double wrong :
       {0.0, -1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_FALSE(compare(runs({1, 1, wrong}), runs({1, 1, 1}), {}).has_value());
}

TEST(Comparison, SwappingTheSidesInvertsTheRatioAndKeepsTheVerdict) {
  const auto a = runs({100, 103, 99, 101});
  const auto b = runs({108, 111, 109});
  const auto one = only_cell(a, b);
  const auto other = only_cell(b, a);
  EXPECT_EQ(one.decision, other.decision);
  EXPECT_NEAR(one.test->low * other.test->high, 1, 1e-9);
}

/// Runs of logarithm `truth` with noise of 3.5 %.
std::vector<Run> drawn(SplitMix64& random, std::size_t count, double truth, std::size_t cells = 1) {
  std::normal_distribution<double> noise(truth, 0.035);
  std::vector<Run> all(count);
  for (Run& one : all)
    for (std::size_t i = 0; i < cells; ++i) {
      Cell cell = kCell;
      cell.size = Bytes(static_cast<std::int64_t>(i));
      one.cells[cell] = {std::exp(noise(random)), 0};
    }
  return all;
}

TEST(Comparison, NineteenOfTwentyIntervalsHoldTheTruth) {
  SplitMix64 random(1);
  const int all = draws(1000);
  for (const Design design : {Design::runs, Design::blocks}) {
    int held = 0;
    for (int i = 0; i < all; ++i) {
      const auto cell = only_cell(drawn(random, 8, 0), drawn(random, 8, 0.03), {.design = design});
      held += cell.test->low <= std::exp(0.03) && std::exp(0.03) <= cell.test->high;
    }
    EXPECT_NEAR(held, 0.95 * all, 3.5 * std::sqrt(0.95 * 0.05 * all));
  }
}

TEST(Comparison, OfManyCellsOfOneFabricHardlyEverOneDiffers) {
  SplitMix64 random(2);
  const int all = draws(100);
  int differs = 0;
  for (int i = 0; i < all; ++i)
    differs += compare(drawn(random, 6, 0, 40), drawn(random, 6, 0, 40), {.margin = 0.001})->decision() ==
               Decision::differs;
  EXPECT_LE(differs, 0.05 * all + 3.5 * std::sqrt(0.05 * 0.95 * all));
}

}  // namespace
}  // namespace weft::compare
