#include "probes/watch/path_sums.hpp"

#include <gmock/gmock.h>

#include <map>

#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::watch {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

struct Bench {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  StandingPlan plan = fleet_plan(fabric, {});
  PathSums sums{plan, PlanVersion(1), {}};
  NodeId host = fabric.hosts()[0];
  std::uint64_t streams() const { return plan.nics_of(host)[0].streams.size(); }
  std::uint32_t row(std::uint64_t number) const {
    return plan.nics_of(host)[0].first_row + static_cast<std::uint32_t>(number % streams());
  }

  /// Window `number`: a second of 500 probes.
  static Window window(std::uint64_t number) {
    return {.boot = 9,
            .number = number,
            .plan = PlanVersion(1),
            .begin = seconds(number),
            .length = seconds(1),
            .nics = {{.nic = 0, .first = number * 500, .count = 500}}};
  }
  static Nanoseconds arrival(std::uint64_t number) { return seconds(number + 1); }
  Taken take(const Window& window) { return sums.take(host, window, arrival(window.number)); }
};

RowLosses losses_of(const ScaleSums& sums, std::uint32_t row) {
  for (const auto& [its, lost] : sums.lost)
    if (its == row) return lost;
  return {};
}

TEST(SentRanges, CountTheProbesOfEachStreamAsSendingThemWould) {
  for (const SentRange range : {SentRange{0, 0}, {0, 1}, {3, 29}, {7, 14}, {100, 107}, {13, 14}}) {
    std::map<std::uint64_t, std::uint64_t> counted;
    for (std::uint64_t p = range.first; p < range.end; ++p) ++counted[p % 7];
    for (std::uint64_t s = 0; s < 7; ++s) EXPECT_EQ(sent_of(range, s, 7), counted[s]);
  }
}

TEST(PathSums, SumTheSentFromTheScheduleAndTheLostByWay) {
  Bench bench;
  Window window = Bench::window(0);
  window.nics[0].lost = {{3, LostWay::there}, {4, LostWay::back}, {5, LostWay::open}};
  EXPECT_FALSE(bench.take(window).refused);
  const ScaleSums sums = bench.sums.sum(seconds(1), seconds(2));
  std::uint64_t sent = 0;
  for (std::uint64_t s = 0; s < bench.streams(); ++s) sent += sums.sent.sent(0, s, bench.streams());
  EXPECT_EQ(sent, 500u);
  EXPECT_EQ(losses_of(sums, bench.row(3)).there, 1u);
  EXPECT_EQ(losses_of(sums, bench.row(4)).back, 1u);
  EXPECT_EQ(losses_of(sums, bench.row(5)).open, 1u);
}

TEST(PathSums, MoveWhatWasOpenOnceItsWayIsKnown) {
  Bench bench;
  Window first = Bench::window(0), second = Bench::window(1);
  first.nics[0].lost = {{499, LostWay::open}};
  second.nics[0].settled = {{499, LostWay::back}};
  bench.take(first), bench.take(second);
  const auto lost = losses_of(bench.sums.sum(seconds(2), seconds(2)), bench.row(499));
  EXPECT_EQ(lost.open, 0u);
  EXPECT_EQ(lost.back, 1u);
  // Reported of one that nobody called open: nothing moves.
  Window third = Bench::window(2);
  third.nics[0].settled = {{498, LostWay::back}, {499, LostWay::there}};
  bench.take(third);
  EXPECT_EQ(losses_of(bench.sums.sum(seconds(3), seconds(3)), bench.row(499)), lost);
}

TEST(PathSums, RefuseWhatCannotBe) {
  Bench bench;
  EXPECT_FALSE(bench.take(Bench::window(5)).refused);
  EXPECT_EQ(bench.take(Bench::window(5)).refused, Refusal::repeat);
  Window other = Bench::window(6);
  other.plan = PlanVersion(2);
  EXPECT_EQ(bench.take(other).refused, Refusal::other_plan);
  const auto refused = [&](auto change) {
    Window window = Bench::window(6);
    change(window);
    return bench.take(window).refused;
  };
  EXPECT_EQ(refused([](Window& w) { w.nics[0].nic = 1; }), Refusal::impossible);
  EXPECT_EQ(refused([](Window& w) { w.nics.push_back(w.nics[0]); }), Refusal::impossible);
  EXPECT_EQ(refused([](Window& w) { w.nics[0].lost = {{500, LostWay::open}}; }), Refusal::impossible);
  EXPECT_EQ(refused([](Window& w) {
              w.nics[0].lost = {{4, LostWay::open}, {4, LostWay::open}};
            }),
            Refusal::impossible);
  EXPECT_EQ(refused([](Window& w) { w.nics[0].settled = {{3000, LostWay::there}}; }), Refusal::impossible);
  EXPECT_EQ(refused([](Window& w) { w.nics[0].delays = {{9999, {}}}; }), Refusal::impossible);
  EXPECT_EQ(refused([](Window& w) { w.nics[0].first -= 1; }), Refusal::went_back);
  EXPECT_EQ(refused([](Window& w) { w.nics[0].first = 10'000; }), Refusal::too_fast);
  EXPECT_EQ(refused([](Window& w) { w.nics[0].first = ~std::uint64_t{0} - 100; }), Refusal::too_fast);
  EXPECT_EQ(refused([](Window& w) { w.nics[0].count = 4'000'000'000; }), Refusal::impossible);
  EXPECT_FALSE(bench.take(Bench::window(6)).refused);
}

TEST(PathSums, TakeALateWindowIntoItsGapOnce) {
  Bench bench;
  for (const std::uint64_t number : {0, 1, 3, 4}) EXPECT_FALSE(bench.take(Bench::window(number)).refused);
  const Taken late = bench.sums.take(bench.host, Bench::window(2), Bench::arrival(5));
  EXPECT_FALSE(late.refused);
  EXPECT_EQ(late.gaps, -1);
  EXPECT_EQ(bench.take(Bench::window(2)).refused, Refusal::repeat);
  EXPECT_EQ(bench.sums.sum(seconds(6), seconds(60)).sent.sent(0), 2500u);
}

TEST(PathSums, AStalledWindowSaysNothingAndIsNoGap) {
  Bench bench;
  Window stalled = Bench::window(0);
  stalled.stalled = true;
  stalled.nics[0].lost = {{1, LostWay::there}};
  EXPECT_EQ(bench.take(stalled).rows, 0u);
  EXPECT_EQ(bench.take(Bench::window(1)).gaps, 0);
  const ScaleSums sums = bench.sums.sum(seconds(2), seconds(10));
  EXPECT_EQ(sums.sent.sent(0), 500u);
  EXPECT_TRUE(sums.lost.empty());
}

TEST(PathSums, ExcuseWhatTheHostDroppedButNoneOfWhatWasLostOnItsWayThere) {
  Bench bench;
  Window window = Bench::window(0);
  window.nics[0].lost = {{1, LostWay::there}, {2, LostWay::back}};
  window.nics[0].dropped = 5;
  bench.take(window);
  const ScaleSums sums = bench.sums.sum(seconds(1), seconds(2));
  EXPECT_EQ(losses_of(sums, bench.row(1)).excused, 0u);
  EXPECT_EQ(losses_of(sums, bench.row(2)).excused, 1u);
}

TEST(PathSums, ADayAndTwoSecondsAreBothSumsOfBucketsAndNothingIsLost) {
  Bench bench;
  const std::uint64_t all = 30 * 3600;
  for (std::uint64_t i = 0; i < all; ++i) {
    Window window = Bench::window(i);
    if (i % 100 == 0) window.nics[0].lost = {{7, LostWay::there}};
    ASSERT_FALSE(bench.take(window).refused);
  }
  const Nanoseconds now = seconds(all);
  for (const Nanoseconds span :
       std::vector<Nanoseconds>{seconds(2), seconds(30), minutes(10), hours(1), hours(24)}) {
    const ScaleSums sums = bench.sums.sum(now, span);
    const double held = std::chrono::duration<double>(now - sums.from).count();
    const double wanted = std::chrono::duration<double>(span).count();
    EXPECT_GE(held, wanted);
    EXPECT_LE(held, 1.2 * wanted + 1);
    EXPECT_NEAR(static_cast<double>(sums.sent.sent(0)), held * 500, 500);
    std::uint64_t lost = 0;
    for (const auto& [row, its] : sums.lost) lost += its.there;
    EXPECT_NEAR(static_cast<double>(lost), held / 100, 1.0);
  }
}

TEST(PathSums, AFloodOfWindowsIsBounded) {
  Bench bench;
  std::uint32_t taken = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const Window window{.boot = i, .number = i, .plan = PlanVersion(1)};
    taken += bench.sums.take(bench.host, window, seconds(10)).refused ? 0 : 1;
  }
  EXPECT_LE(taken, 1500u);
}

}  // namespace
}  // namespace weft::watch
