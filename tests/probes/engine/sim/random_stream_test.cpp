#include "probes/engine/sim/random_stream.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace weft::sim {
namespace {

struct Moments {
  double mean;
  double variance;
};

template <class Draw>
Moments moments(Draw draw) {
  constexpr int kDraws = 20'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / kDraws;
  return {mean, squares / kDraws - mean * mean};
}

TEST(RandomStream, BinomialHasItsMeanAndVarianceInEveryRegime) {
  RandomStream random({1, 2, 3});
  struct Case {
    std::uint64_t trials;
    double probability;
  };
  for (const auto& [trials, p] : {Case{100, 0.005}, Case{1'000'000, 1e-6}, Case{100, 0.3}, Case{10'000, 0.5},
                                  Case{100, 0.97}, Case{50, 0.999}}) {
    const auto seen = moments([&] { return static_cast<double>(random.binomial(trials, p)); });
    const double mean = static_cast<double>(trials) * p;
    const double variance = mean * (1 - p);
    EXPECT_NEAR(seen.mean, mean, 5 * std::sqrt(variance / 20'000)) << trials << " x " << p;
    EXPECT_NEAR(seen.variance, variance, 0.1 * variance) << trials << " x " << p;
  }
}

TEST(RandomStream, BinomialHasTheRightShapeWhereRejectionBegins) {
  constexpr int kDraws = 200'000;
  constexpr std::uint64_t kTrials = 40;
  constexpr double kP = 0.3;
  RandomStream random({9});
  std::vector<double> seen(kTrials + 1);
  for (int i = 0; i < kDraws; ++i) seen[random.binomial(kTrials, kP)] += 1;
  double mass = std::pow(1 - kP, kTrials);  // of 0; the next by their ratio
  double chi_squared = 0;
  int cells = 0;
  for (std::uint64_t k = 0; k <= kTrials; ++k) {
    if (mass * kDraws > 10) {
      chi_squared += std::pow(seen[k] - mass * kDraws, 2) / (mass * kDraws);
      ++cells;
    }
    mass *= static_cast<double>(kTrials - k) / static_cast<double>(k + 1) * kP / (1 - kP);
  }
  EXPECT_GT(cells, 18);
  EXPECT_LT(chi_squared, cells + 5 * std::sqrt(2.0 * cells));
}

TEST(RandomStream, BinomialKeepsToItsLimits) {
  RandomStream random({4});
  EXPECT_EQ(random.binomial(0, 0.5), 0u);
  EXPECT_EQ(random.binomial(100, 0), 0u);
  EXPECT_EQ(random.binomial(100, 1), 100u);
  EXPECT_EQ(random.binomial(100, -1e-18), 0u) << "one minus a product may round below zero";
}

TEST(RandomStream, NormalAndExponentialHaveTheirMoments) {
  RandomStream random({5});
  const auto normal = moments([&] { return random.normal(); });
  EXPECT_NEAR(normal.mean, 0, 0.04);
  EXPECT_NEAR(normal.variance, 1, 0.06);
  const auto exponential = moments([&] { return random.exponential(); });
  EXPECT_NEAR(exponential.mean, 1, 0.04);
  EXPECT_NEAR(exponential.variance, 1, 0.1);
}

TEST(RandomStream, NeighbouringKeysGiveUnrelatedNumbers) {
  const auto seen = moments([i = std::uint64_t{0}]() mutable { return RandomStream({7, i++}).uniform(); });
  EXPECT_NEAR(seen.mean, 0.5, 0.01);
  EXPECT_NEAR(seen.variance, 1.0 / 12, 0.005);
}

}  // namespace
}  // namespace weft::sim
