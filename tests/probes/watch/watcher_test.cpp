#include "probes/watch/watcher.hpp"

#include <gmock/gmock.h>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

Fabric lab() { return *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4}); }

FaultSpec lossy(const Fabric& fabric, std::string_view link, double share, std::string_view from) {
  const ChannelId channel = *fabric.find_channel(from);
  return {.link = *fabric.find_link(link), .channel = channel, .loss = Fraction(share)};
}

std::vector<IncidentChange> changes_of(const std::vector<IncidentEvent>& events) {
  std::vector<IncidentChange> all;
  for (const IncidentEvent& event : events)
    if (event.change != IncidentChange::changed) all.push_back(event.change);
  return all;
}

TEST(Watcher, OpensAnIncidentAtTheChannelAndClosesItWhenCleanProbesCrossAgain) {
  const Fabric fabric = lab();
  FleetRun run(fabric, {});
  EXPECT_TRUE(run.advance(10).empty());
  EXPECT_EQ(run.state().verdict, Verdict::healthy);
  FaultSpec fault = lossy(fabric, "leaf1--spine2", 0.01, "leaf1->spine2");
  run.fleet().put({fault, run.now(), run.now() + seconds(30)});
  const auto opened = run.until_opened(6);
  ASSERT_TRUE(opened);
  EXPECT_THAT(opened->incident.place.channels, ElementsAre(*fault.channel));
  EXPECT_EQ(opened->incident.cause, Cause::loss);
  EXPECT_EQ(run.state().verdict, Verdict::degraded);
  run.advance(150);
  EXPECT_THAT(changes_of(run.events()), ElementsAre(IncidentChange::suspected, IncidentChange::opened,
                                                    IncidentChange::recovering, IncidentChange::closed));
  EXPECT_EQ(run.state().verdict, Verdict::healthy);
}

TEST(Watcher, KnowsNothingOfAFabricOfWhichNothingIsHeard) {
  const Fabric fabric = lab();
  Watcher watcher(fabric, {});
  EXPECT_EQ(watcher.state({}, true, {}).verdict, Verdict::unknown);
  FleetRun run(fabric, {});
  run.between = [](std::vector<SentWindow>& windows) { windows.clear(); };
  EXPECT_TRUE(run.advance(30).empty());
  EXPECT_EQ(run.state().verdict, Verdict::unknown);
}

}  // namespace
}  // namespace weft::watch
