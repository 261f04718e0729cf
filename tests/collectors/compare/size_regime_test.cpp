#include "collectors/compare/size_regime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "collectors/compare/comparison.hpp"

namespace weft::compare {
namespace {

using testing::Contains;
using testing::HasSubstr;

/// Of sizes 1 KiB to 16 MiB; `wobble` goes up and down from size to size.
std::vector<Run> runs(double start_up, double gigabits, double wobble = 0, int powers = 15) {
  std::vector<Run> all(3);
  for (std::size_t i = 0; i < all.size(); ++i)
    for (int power = 10; power < 10 + powers; ++power) {
      const Bytes size(std::int64_t{1} << power);
      const double time = start_up + static_cast<double>(size.count()) * 8 / (gigabits * 1e9);
      const double noise = 1 + 0.002 * static_cast<double>(i) + (power % 2 == 0 ? wobble : -wobble);
      all[i].cells[{{"all_reduce", "in-place"}, size, Metric::time}] = {time * noise, 0};
    }
  return all;
}

TEST(SizeRegime, TellsAStartUpTimeFromABandwidth) {
  const auto slow_start = size_regimes(runs(20e-6, 100), runs(30e-6, 100));
  ASSERT_EQ(slow_start.size(), 1U);
  EXPECT_NEAR(slow_start[0].a.start_up, 20e-6, 1e-6);
  EXPECT_NEAR(slow_start[0].b.start_up, 30e-6, 1e-6);
  EXPECT_NEAR(slow_start[0].b.bandwidth / slow_start[0].a.bandwidth, 1, 0.01);
  EXPECT_NEAR(static_cast<double>(slow_start[0].a.half().count()), 250e3, 5e3) << "20 us at 100 Gbit/s";
  const auto narrow = size_regimes(runs(20e-6, 100, 0.05), runs(20e-6, 50, 0.05));
  ASSERT_EQ(narrow.size(), 1U);
  EXPECT_NEAR(narrow[0].b.bandwidth / narrow[0].a.bandwidth, 0.5, 0.05);
  EXPECT_NEAR(narrow[0].b.start_up / narrow[0].a.start_up, 1, 0.1);
}

TEST(SizeRegime, FewSizesAndTimesThatAreNoLineHaveNone) {
  EXPECT_TRUE(size_regimes(runs(20e-6, 100, 0, 3), runs(20e-6, 100, 0, 3)).empty());
  EXPECT_TRUE(size_regimes(runs(20e-6, 100), runs(20e-6, 100, 0.6)).empty());
  EXPECT_TRUE(size_regimes({}, runs(20e-6, 100)).empty());
}

TEST(SizeRegime, StandsInTheRemarksOfAComparison) {
  const auto comparison = compare(runs(20e-6, 100), runs(30e-6, 100), {});
  ASSERT_TRUE(comparison);
  EXPECT_THAT(comparison->remarks, Contains(HasSubstr("starts in 20 us on A, 30.1 on B (B/A 1.50)")));
}

}  // namespace
}  // namespace weft::compare
