// The statistics of a comparison against published values and worked examples.
#include "collectors/compare/effect.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace weft::compare {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(Student, QuantilesAreThoseOfTheTables) {
  EXPECT_NEAR(student_quantile(1, 0.975), 12.7062, 1e-4);
  EXPECT_NEAR(student_quantile(2, 0.95), 2.9200, 1e-4);
  EXPECT_NEAR(student_quantile(10, 0.975), 2.2281, 1e-4);
  EXPECT_NEAR(student_quantile(11, 0.95), 1.7959, 1e-4);
  EXPECT_NEAR(student_quantile(1e7, 0.975), 1.9600, 1e-4);
}

TEST(Student, APValueIsThatOfBothTails) {
  EXPECT_NEAR(p_value({.log_ratio = -2.2281, .error = 1, .freedom = 10}), 0.05, 1e-5);
  EXPECT_NEAR(p_value({.log_ratio = 0, .error = 1, .freedom = 10}), 1, 1e-12);
}

// By hand: means 12.2 and 13.2333, variances .11333 and .50667.
TEST(Welch, AWorkedExample) {
  constexpr std::array kA{12.1, 11.8, 12.6, 12.3};
  constexpr std::array kB{13.0, 12.2, 13.9, 13.4, 12.8, 14.1};
  const Effect effect = welch_effect(kA, kB);
  EXPECT_NEAR(effect.log_ratio, 1.03333, 1e-5);
  EXPECT_NEAR(effect.error, 0.33582, 1e-5);
  EXPECT_NEAR(effect.freedom, 7.5092, 1e-4);
}

TEST(Welch, EqualSpreadsOfEqualSidesGiveTheFreedomOfThePooledTest) {
  constexpr std::array kA{0.0, 0.1, 0.2};
  constexpr std::array kB{1.0, 1.1, 1.2};
  const Effect effect = welch_effect(kA, kB);
  EXPECT_NEAR(effect.freedom, 4, 1e-9);
  const Effect more = with_units(effect, 3);
  EXPECT_NEAR(more.error, effect.error, 1e-12);
  EXPECT_NEAR(more.freedom, effect.freedom, 1e-9);
}

TEST(Welch, ValuesThatNeverVaryHaveTheErrorOfTheirRounding) {
  constexpr std::array kSame{0.5, 0.5, 0.5};
  const Effect effect = welch_effect(kSame, kSame, {.a = 0.12, .b = 0.12});
  EXPECT_NEAR(effect.error, 0.12 / std::sqrt(12.0) * std::sqrt(2.0 / 3), 1e-12);
  EXPECT_NEAR(effect.freedom, 4, 1e-12);
  EXPECT_EQ(p_value(effect), 1);
}

TEST(Rounding, IsABiasThatNoRepetitionLessens) {
  constexpr std::array kA{0.0, 0.1, 0.2};
  constexpr std::array kB{1.0, 1.1, 1.2};
  const Effect exact = welch_effect(kA, kB);
  const Effect rounded = welch_effect(kA, kB, {.a = 0.02, .b = 0.04});
  EXPECT_NEAR(rounded.bias, 0.03, 1e-12);
  EXPECT_NEAR(rounded.error, exact.error, 1e-12);
  EXPECT_NEAR(half_width(rounded, 0.05), half_width(exact, 0.05) + 0.03, 1e-12);
  EXPECT_GT(half_width(with_units(rounded, 1'000'000), 0.05), 0.03);
  EXPECT_EQ(block_effect(kA, {.a = 0.02, .b = 0.04}).bias, rounded.bias);
}

TEST(Rounding, IsTakenOffADifferenceAndAddedToWhatMustBeWithinAMargin) {
  const Effect effect{.log_ratio = 0.05, .error = 0.01, .freedom = 10, .bias = 0.05 - 0.022281};
  EXPECT_NEAR(p_value(effect), 0.05, 1e-5);
  EXPECT_EQ(p_value({.log_ratio = 0.02, .error = 0.01, .freedom = 10, .bias = 0.03}), 1);
  const Effect close{.log_ratio = 0, .error = 0.01, .freedom = 11, .bias = 0.02};  // .02 + 1.7959 * .01
  EXPECT_TRUE(is_within(close, 0.0380, 0.05));
  EXPECT_FALSE(is_within(close, 0.0379, 0.05));
}

TEST(Blocks, AreOneSampleOfLogRatios) {
  constexpr std::array kRatios{0.01, 0.03, 0.02, 0.06};
  const Effect effect = block_effect(kRatios);
  EXPECT_NEAR(effect.log_ratio, 0.03, 1e-12);
  EXPECT_NEAR(effect.error, 0.0108012, 1e-6);
  EXPECT_EQ(effect.freedom, 3);
  EXPECT_NEAR(half_width(effect, 0.05), 3.18245 * 0.0108012, 1e-5);
  EXPECT_NEAR(with_units(effect, 16).error, effect.error / 2, 1e-12);
}

TEST(Equivalence, NeedsBothOneSidedTests) {
  const Effect effect{.log_ratio = 0.01, .error = 0.01, .freedom = 11};  // 0.01 + 1.7959 * 0.01 = 0.02796
  EXPECT_TRUE(is_within(effect, 0.0280, 0.05));
  EXPECT_FALSE(is_within(effect, 0.0279, 0.05));
}

TEST(Holm, AdjustsInTheOrderOfThePValuesAndNeverFalls) {
  constexpr std::array kP{0.04, 0.01, 0.03, 0.5};
  EXPECT_THAT(holm(kP), ElementsAre(DoubleNear(0.09, 1e-12), DoubleNear(0.04, 1e-12), DoubleNear(0.09, 1e-12),
                                    DoubleNear(0.5, 1e-12)));
  EXPECT_TRUE(holm({}).empty());
}

}  // namespace
}  // namespace weft::compare
