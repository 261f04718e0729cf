// What histograms of repaired codewords say of those that are not repaired.
#include "collectors/counters/fec_tail.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace weft::counters {
namespace {

/// Codewords of an hour at 400 Gb/s whose symbols are wrong independently.
std::vector<std::uint64_t> independent(double mean) {
  std::vector<std::uint64_t> bins;
  double share = std::exp(-mean);
  for (int k = 0; k <= 15; share *= mean / ++k) bins.push_back(static_cast<std::uint64_t>(2.8e11 * share));
  return bins;
}

TEST(FecTail, OfIndependentErrorsFindsTheirLoss) {
  const auto tail = fec_tail(independent(1));
  ASSERT_TRUE(tail);
  EXPECT_EQ(tail->highest, 14u);
  EXPECT_NEAR(tail->loss, std::log10(std::exp(-1) / 2.0923e13), 0.7);  // Poisson: above 15 symbols
  EXPECT_LT(tail->low, tail->loss);
  EXPECT_GT(tail->high, tail->loss);
  EXPECT_LT(tail->slope, -0.9);
}

TEST(FecTail, AHeavierTailLosesMore) {
  auto bins = independent(0.02);
  const auto light = fec_tail(bins);
  for (std::size_t k = 2; k < 10; ++k) bins[k] += static_cast<std::uint64_t>(1e6 * std::pow(0.3, k));
  const auto heavy = fec_tail(bins);
  EXPECT_GT(heavy.value().loss, light.value().loss + 5);
  EXPECT_GT(heavy->slope, light->slope);
}

TEST(FecTail, UnderThreeFilledBinsIsRefused) {
  EXPECT_FALSE(fec_tail({}));
  EXPECT_FALSE(fec_tail(std::vector<std::uint64_t>{100, 50, 3, 0}));
  EXPECT_TRUE(fec_tail(std::vector<std::uint64_t>{1'000'000, 5'000, 30, 1}));
  EXPECT_FALSE(fec_tail(std::vector<std::uint64_t>(16, 0)));
}

TEST(FecTail, HoldsForCountsOfAnySize) {
  const auto most = fec_tail(std::vector<std::uint64_t>(32, ~std::uint64_t{0}));
  ASSERT_TRUE(most);
  EXPECT_TRUE(std::isfinite(most->loss) && std::isfinite(most->low) && most->high <= 0);
  const auto gaps = fec_tail(std::vector<std::uint64_t>{1, 0, 0, 1, 0, 1, 0, 1});
  ASSERT_TRUE(gaps);
  EXPECT_TRUE(std::isfinite(gaps->loss) && std::isfinite(gaps->slope));
}

}  // namespace
}  // namespace weft::counters
