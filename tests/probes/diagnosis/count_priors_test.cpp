// What is believed of faults before the counts are seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "probes/diagnosis/counts/count_state.hpp"

namespace weft::diagnosis {
namespace {

TEST(CountPriors, OneMoreBadCableIsLikelierFromTheThirdOnHoweverManyAreBad) {
  for (const double channels : {8.0, 32.0, 1000.0, 100'000.0}) {
    const CountPriors::Kind kind{
        .all = channels, .expected = std::min(0.005 * channels, 1.1), .of_cables = true};
    for (double bad = 0; bad <= channels / 2; ++bad) {
      const double odds = log_odds_beside(kind, bad);
      ASSERT_TRUE(std::isfinite(odds)) << channels << " " << bad;
      ASSERT_EQ(odds > 0, bad >= 3) << channels << " " << bad;
    }
  }
  EXPECT_EQ(log_odds_beside({.all = 32, .expected = 0.16, .of_cables = false}, 8), 0);
}

}  // namespace
}  // namespace weft::diagnosis
