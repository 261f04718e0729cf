// A ledger and a target that are synchronized, with all that goes wrong meanwhile.
#include "balancer/export/sync.hpp"

#include <gtest/gtest.h>

#include "tests/support/blacklist_history.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/translation_oracle.hpp"

namespace weft::exports {
namespace {

TEST(Sync, NoHistoryBreaksACapTouchesAMarkOfOthersOrLeavesOneOfOurs) {
  for (int seed = 1; seed <= draws(4000); ++seed)
    ASSERT_EQ(run_blacklist_history(static_cast<std::uint64_t>(seed)), "") << "seed " << seed;
}

TEST(Sync, KilledBeforeOrAfterAnyCallIsCompletedOrUndoneByTheNext) {
  const auto points = try_kill_points();
  EXPECT_GE(points.all, 20);
  EXPECT_EQ(points.right, points.all);
}

TEST(Translation, OfEachClassAndCauseIsWhatAnOracleSays) {
  const auto tried = try_translations(6);
  EXPECT_EQ(tried.right, tried.all) << tried.wrong;
}

}  // namespace
}  // namespace weft::exports
