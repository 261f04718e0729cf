#include "probes/plan/trace_plan.hpp"

#include <gtest/gtest.h>

namespace weft::plan {
namespace {

TEST(Coverage, AgreesWithTheClosedForm) {
  // sum_{i=1..N} (-1)^{i+1} C(N,i)(1-i/N)^k <= 1-P, evaluated in exact arithmetic.
  EXPECT_EQ(labels_to_see_all(2, Fraction(0.99)), 8u);
  EXPECT_EQ(labels_to_see_all(4, Fraction(0.99)), 21u);
  EXPECT_EQ(labels_to_see_all(8, Fraction(0.99)), 51u);
  EXPECT_EQ(labels_to_see_all(16, Fraction(0.99)), 115u);
  EXPECT_EQ(labels_to_see_all(32, Fraction(0.99)), 255u);
  EXPECT_EQ(labels_to_see_all(64, Fraction(0.99)), 557u);
  EXPECT_EQ(labels_to_see_all(4, Fraction(0.9)), 13u);
  EXPECT_EQ(labels_to_see_all(64, Fraction(0.9)), 408u);
}

TEST(Coverage, OnePathNeedsOneLabelAndManyPathsDoNotLosePrecision) {
  EXPECT_EQ(labels_to_see_all(0, Fraction(0.99)), 0u);
  EXPECT_EQ(labels_to_see_all(1, Fraction(0.99)), 1u);
  // N (ln N + 4.6) for P = .99, asymptotically (Erdos and Renyi, 1961).
  EXPECT_NEAR(labels_to_see_all(512, Fraction(0.99)), 512 * (6.238 + 4.6), 30);
}

}  // namespace
}  // namespace weft::plan
