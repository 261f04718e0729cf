// What a watcher counts of each channel, as metrics and history need it.
#include <gmock/gmock.h>

#include "probes/watch/watcher.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

TEST(WatcherCounts, SinceItsStartGrowOnWhereThoseOfTheLastMinuteDoNot) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  FleetRun run(fabric, {});
  run.advance(30);
  const auto early = run.state();
  run.advance(120);
  const auto late = run.state();
  for (std::size_t c = 0; c < late.channels.size(); ++c) {
    EXPECT_GT(early.channels[c].sent_in_all, 0u);
    EXPECT_GT(late.channels[c].sent_in_all, 3 * early.channels[c].sent_in_all);
    EXPECT_GT(late.channels[c].sent_in_all, late.channels[c].sent);
    EXPECT_GE(late.channels[c].lost_in_all, late.channels[c].lost);
  }
}

}  // namespace
}  // namespace weft::watch
