#include "probes/watch/look.hpp"

#include <gmock/gmock.h>

#include <random>

#include "tests/support/draws.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

LookContext all_heard(const Fabric& fabric, Nanoseconds now) {
  return {std::vector(fabric.node_count(), HostNews::heard),
          std::vector<Nanoseconds>(fabric.node_count(), now)};
}

TEST(LookFindings, ASetIsToldOnce) {
  const std::vector<std::vector<ChannelId>> alternatives{{ChannelId(4), ChannelId(7)}, {ChannelId(4)}};
  Diagnosis diagnosis;
  diagnosis.sets = {{.verdict = Verdict::degraded, .alternatives = alternatives, .confidence = 1}};
  diagnosis.groups = {
      {.channels = {ChannelId(4), ChannelId(7)}, .verdict = Verdict::degraded, .confidence = 1}};
  const auto findings = findings_of(diagnosis);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].place.alternatives, alternatives);
  diagnosis.groups[0].cause = Cause::down;
  EXPECT_EQ(findings_of(diagnosis).size(), 2u) << "another cause is another finding";
}

TEST(Look, AtTheRowsNearLossesNamesWhatALookAtAllRowsNames) {
  const Fabric fabric = *make_clos({.leaves = 12, .spines = 6, .hosts_per_leaf = 6});
  for (std::uint64_t seed = 1; seed <= draws(12u); ++seed) {
    const FleetOptions options{.seed = seed, .background = 1e-6, .delays = false};
    const StandingPlan plan = fleet_plan(fabric, options);
    StandingFleet fleet(fabric, plan, PlanVersion(1), options);
    std::mt19937_64 random(seed);
    for (std::uint64_t i = 0; i < 1 + seed % 3; ++i) {
      const ChannelId channel(static_cast<std::uint32_t>(random() % fabric.channel_count()));
      FaultSpec fault{.link = Fabric::link_of(channel), .channel = channel, .loss = Fraction(0.02)};
      if (seed % 4 == 0) fault = {.link = fault.link, .channel = channel, .down = true};
      fleet.put({fault});
    }
    PathSums sums(plan, PlanVersion(1), {});
    for (int i = 0; i < 6; ++i)
      for (const SentWindow& sent : fleet.second()) (void)sums.take(sent.host, sent.window, sent.arrival);
    const ScaleSums span = sums.sum(fleet.now(), seconds(4));
    Looker whole(fabric, plan, {}), near(fabric, plan, {}, 0);
    const auto all = whole.look(span, seconds(1), all_heard(fabric, fleet.now()));
    const auto some = near.look(span, seconds(1), all_heard(fabric, fleet.now()));
    ASSERT_EQ(all.findings.size(), some.findings.size()) << seed;
    EXPECT_GE(all.findings.size(), 1u);
    for (std::size_t f = 0; f < all.findings.size(); ++f) {
      EXPECT_EQ(all.findings[f].place, some.findings[f].place) << seed;
      EXPECT_EQ(all.findings[f].cause, some.findings[f].cause) << seed;
      EXPECT_EQ(all.findings[f].sure, some.findings[f].sure) << seed;
    }
    EXPECT_EQ(all.account.lost.all, some.account.lost.all);
    EXPECT_EQ(all.account.lost.found, some.account.lost.found);
  }
}

TEST(Look, PriorOddsAreARateAndNeverAboveTheBatchs) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const StandingPlan plan = fleet_plan(fabric, {});
  const Looker looker(fabric, plan, {});
  EXPECT_NEAR(looker.log_prior(seconds(20)) - looker.log_prior(seconds(2)), std::log(10), 1e-9);
  EXPECT_LE(looker.log_prior(hours(24 * 10'000)), 0.0);
}

TEST(Look, AtFewLossesThatTheBackgroundExplainsNamesNothing) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  const StandingPlan plan = fleet_plan(fabric, {});
  Looker looker(fabric, plan, {});
  PathSums sums(plan, PlanVersion(1), {});
  Window window{.boot = 1, .plan = PlanVersion(1), .length = seconds(1)};
  window.nics = {{.nic = 0, .count = 500, .lost = {{100, LostWay::there}, {300, LostWay::back}}}};
  ASSERT_FALSE(sums.take(fabric.hosts()[0], window, seconds(1)).refused);
  const auto answer =
      looker.look(sums.sum(seconds(1), seconds(2)), seconds(1), all_heard(fabric, seconds(1)));
  for (const LookFinding& finding : answer.findings) EXPECT_FALSE(finding.sure);
}

}  // namespace
}  // namespace weft::watch
