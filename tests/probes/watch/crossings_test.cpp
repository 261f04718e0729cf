#include "probes/watch/crossings.hpp"

#include <gtest/gtest.h>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::seconds;

/// Some seconds of standing probes over a fabric, of which a channel may lose packets.
class CrossingsOfAFleet : public testing::Test {
 protected:
  ChannelId channel(std::string_view name) const { return *fabric_.find_channel(name); }
  void lose(std::string_view name, double share) {
    const ChannelId at = channel(name);
    fleet_.put({FaultSpec{.link = Fabric::link_of(at), .channel = at, .loss = Fraction(share)}});
  }
  Incident incident(std::uint64_t id, std::string_view name) const {
    return {.id = IncidentId(id), .place = {{channel(name)}, {}}, .state = IncidentState::open};
  }
  void advance() {
    for (int i = 0; i < 6; ++i)
      for (const SentWindow& sent : fleet_.second()) (void)sums_.take(sent.host, sent.window, sent.arrival);
  }
  Crossed crossed_by(const WatchedIncident& mine, const std::vector<WatchedIncident>& all, bool told = true) {
    const std::vector<PlanSecond> span{{&plan_, &looker_, sums_.sum(fleet_.now(), seconds(4))}};
    return crossed(fabric_, span, std::vector<bool>(fabric_.node_count(), told), mine, all);
  }

  Fabric fabric_ = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  FleetOptions options_{.background = 0, .delays = false};
  StandingPlan plan_ = fleet_plan(fabric_, options_);
  StandingFleet fleet_{fabric_, plan_, PlanVersion(1), options_};
  PathSums sums_{plan_, PlanVersion(1), {}};
  Looker looker_{fabric_, plan_, {}};
};

TEST_F(CrossingsOfAFleet, OverAHealthyPlaceProbesPassAndNoneIsLost) {
  advance();
  const auto mine = incident(1, "leaf1->spine2");
  const auto told = crossed_by({&mine, 0.1}, {{&mine, 0.1}});
  EXPECT_GT(told.passed, 0u);
  EXPECT_EQ(told.lost, 0u);
  EXPECT_EQ(told.beside, 0);
}

TEST_F(CrossingsOfAFleet, OverOneThatLosesSomeAreLostThere) {
  lose("leaf1->spine2", 0.5);
  advance();
  const auto mine = incident(1, "leaf1->spine2");
  const auto told = crossed_by({&mine, 0.5}, {{&mine, 0.5}});
  EXPECT_GT(told.passed, 0u);
  EXPECT_GT(told.lost, 0u);
}

TEST_F(CrossingsOfAFleet, RowsThatAskHostsWhichHaveNotToldSayNothing) {
  advance();
  const auto mine = incident(1, "leaf1->spine2");
  const auto told = crossed_by({&mine, 0.1}, {{&mine, 0.1}}, false);
  EXPECT_EQ(told.passed, 0u);
  EXPECT_EQ(told.lost, 0u);
}

TEST_F(CrossingsOfAFleet, RowsOverThePlaceOfAGreaterOpenIncidentSayNothing) {
  advance();
  const auto mine = incident(1, "leaf1->spine2");
  const auto alone = crossed_by({&mine, 0.1}, {{&mine, 0.1}}).passed;
  Incident spine = incident(2, "leaf1->spine2");
  spine.place = {{}, {*fabric_.find_node("spine2")}};  // on which all go that come by mine
  EXPECT_GT(alone, 0u);
  EXPECT_EQ(crossed_by({&mine, 0.1}, {{&mine, 0.1}, {&spine, 0.9}}).passed, 0u);
  EXPECT_EQ(crossed_by({&mine, 0.1}, {{&mine, 0.1}, {&spine, 0.01}}).passed, alone) << "it takes less";
  spine.state = IncidentState::recovering;
  EXPECT_EQ(crossed_by({&mine, 0.1}, {{&mine, 0.1}, {&spine, 0.9}}).passed, alone) << "it is not open";
}

}  // namespace
}  // namespace weft::watch
