// A standby that takes over: real processes, a real server with TLS and nkeys, agents on real packets.
#include <algorithm>

#include "tests/bench/watch/pieces.hpp"
#include "tests/support/standing_cluster.hpp"
#include "topology/base/check.hpp"

namespace weft::bench {

void measure_takeover(Figures& figures) {
  constexpr int kKills = 100;
  StandingCluster cluster;
  auto takeovers = kill_at_random(cluster, kKills, 1);
  WEFT_CHECK(takeovers.took.size() == kKills);
  std::ranges::sort(takeovers.took);
  const auto seconds = [](Nanoseconds time) { return std::chrono::duration<double>(time).count(); };
  figures.add("takeover_s", seconds(takeovers.took[kKills * 95 / 100 - 1]));
  figures.add("takeover_median_s", seconds(takeovers.took[kKills / 2]));
  figures.add("takeover_worst_s", seconds(takeovers.took.back()));
  figures.add("takeover_incidents", static_cast<double>(takeovers.incidents));
}

}  // namespace weft::bench
