#include "probes/watch/streams_over.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

struct Seen {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  StandingPlan plan = fleet_plan(fabric, {});
  PathSums sums{plan, PlanVersion(1), {}};
  StandingFleet fleet{fabric, plan, PlanVersion(1), {.background = 0}};

  void run(int length) {
    for (int i = 0; i < length; ++i)
      for (const SentWindow& one : fleet.second()) sums.take(one.host, one.window, one.arrival);
  }
  std::vector<StreamOver> over(std::string_view link, std::size_t most = 1000) const {
    return streams_over(plan, sums.sum(fleet.now(), minutes(1)), fabric.find_link(link).value(), most);
  }
};

TEST(StreamsOver, AreThoseWhosePathsCrossTheLinkEitherWay) {
  Seen seen;
  seen.run(10);
  const auto link = seen.fabric.find_link("leaf1--spine2").value();
  const auto streams = seen.over("leaf1--spine2");
  ASSERT_FALSE(streams.empty());
  for (const StreamOver& stream : streams) {
    EXPECT_TRUE(std::ranges::any_of(stream.channels,
                                    [&](ChannelId channel) { return Fabric::link_of(channel) == link; }));
    EXPECT_GT(stream.sent, 0u);
    EXPECT_EQ(stream.lost, 0u);
  }
  std::size_t ways = 0;  // of all streams that cross it
  for (const StandingNic& nic : seen.plan.nics)
    for (const StandingStream& stream : nic.streams)
      for (const PathSetId set : {stream.there, stream.back})
        for (const ChannelId channel : seen.plan.paths.channels(seen.plan.paths.paths(set).front()))
          ways += Fabric::link_of(channel) == link;
  EXPECT_EQ(streams.size(), ways);
}

TEST(StreamsOver, ThoseThatLoseStandFirstAndOnlyTheirBadWayCounts) {
  Seen seen;
  const auto bad = seen.fabric.find_channel("leaf1->spine2").value();
  seen.fleet.put({{.link = Fabric::link_of(bad), .channel = bad, .loss = Fraction(0.3)}, {}});
  seen.run(20);
  const auto streams = seen.over("leaf1--spine2");
  ASSERT_FALSE(streams.empty());
  EXPECT_GT(streams.front().lost, 0u);
  EXPECT_TRUE(std::ranges::is_sorted(streams, std::greater{}, &StreamOver::lost));
  for (const StreamOver& stream : streams)
    if (std::ranges::find(stream.channels, bad) == stream.channels.end()) {
      EXPECT_LT(stream.lost * 10, stream.sent) << "the other channel of the link is good";
    }
  EXPECT_EQ(seen.over("leaf1--spine2", 3).size(), 3u);
  EXPECT_EQ(seen.over("leaf1--spine2", 3).front(), streams.front());
}

}  // namespace
}  // namespace weft::watch
