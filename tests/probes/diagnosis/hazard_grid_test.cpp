// The grid of hazards: which point stands for a hazard.
#include "probes/diagnosis/counts/hazard_grid.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace weft::diagnosis {
namespace {

TEST(HazardGrid, TheNearestPointOfOneIsItselfAndOfAllLostTheLast) {
  for (double background = 1e-8; background < 1; background *= 1.07) {
    const HazardGrid grid(background);
    for (std::size_t point = 1; point < grid.size(); ++point) {
      const double hazard = grid.hazard(point);
      ASSERT_EQ(grid.nearest(hazard), point) << background;
      if (point + 1 == grid.size()) continue;
      const double middle = std::sqrt(hazard * grid.hazard(point + 1));
      ASSERT_EQ(grid.nearest(middle * 0.999), point) << background;
      ASSERT_EQ(grid.nearest(middle * 1.001), point + 1) << background;
    }
    EXPECT_EQ(grid.nearest(1e-12), 1u);
    EXPECT_EQ(grid.nearest(100), grid.size() - 1);
  }
}

}  // namespace
}  // namespace weft::diagnosis
