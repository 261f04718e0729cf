// What is believed of faults before the counts are seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "probes/diagnosis/counts/count_state.hpp"
#include "topology/model/clos.hpp"

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

TEST(CountPriors, AFaultIsExpectedOnceWhetherItLosesPacketsSinglyOrInBursts) {
  const Fabric fabric =
      make_pod_clos({.pods = 10, .leaves = 5, .spines = 5, .cores = 25, .hosts_per_leaf = 5}).value();
  CountProblem problem;
  for (std::uint32_t c = 0; c < fabric.channel_count(); ++c) {
    Suspect suspect;
    suspect.channels = {ChannelId(c)};
    problem.suspects.push_back(suspect);
  }
  const CountPriors priors = count_priors(fabric, problem, {});
  const auto expected = [&](std::size_t kind) {
    return priors.kinds[kind].expected + priors.kinds[kind + kSuspectKinds / 2].expected;
  };
  EXPECT_NEAR(expected(0), 1.1, 1e-6) << "between switches";
  EXPECT_NEAR(expected(1), 0.5, 1e-6) << "at hosts";
}

}  // namespace
}  // namespace weft::diagnosis
