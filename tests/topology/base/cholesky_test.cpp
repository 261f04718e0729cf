#include "topology/base/cholesky.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

TEST(Cholesky, SolvesNormalEquations) {
  std::vector<double> matrix{4, 2, 0, 2, 5, 3, 0, 3, 6};
  std::vector<double> right{4 * 1 + 2 * -2, 2 * 1 + 5 * -2 + 3 * 3, 3 * -2 + 6 * 3};
  factorise(matrix, 3);
  solve_factorised(matrix, right);
  EXPECT_NEAR(right[0], 1, 1e-12);
  EXPECT_NEAR(right[1], -2, 1e-12);
  EXPECT_NEAR(right[2], 3, 1e-12);
}

TEST(Cholesky, OfAColumnThatIsAnothersTheFactorIsStillFinite) {
  std::vector<double> matrix{1, 1, 1, 1}, right{2, 2};
  factorise(matrix, 2);
  solve_factorised(matrix, right);
  for (const double x : right) EXPECT_TRUE(std::isfinite(x));
}

}  // namespace
}  // namespace weft
