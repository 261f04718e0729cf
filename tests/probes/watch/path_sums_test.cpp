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

/// A second NIC's host, which the first one probes, and the losses of the first one's probes to it.
struct AskedBench : Bench {
  NodeId asked = fabric.port(plan.nics_of(host)[0].streams[0].peer).node;

  /// Number and time as Bench::window; loses each probe of its first stream, the way open.
  Window losing(std::uint64_t number) const {
    Window made = window(number);
    for (std::uint32_t p = 0; p < 500; ++p)
      if ((number * 500 + p) % streams() == 0) made.nics[0].lost.push_back({p, LostWay::open});
    return made;
  }
  Taken tell(Window window) {
    window.boot = 3;
    return sums.take(asked, window, arrival(window.number));
  }
  struct Row {
    std::uint64_t telling, lost;
  };
  Row first_row(Nanoseconds now, Nanoseconds span) const {
    const ScaleSums all = sums.sum(now, span);
    const std::uint32_t n = plan.first_nic[host.value()];
    return {all.telling(n, plan.nics[n], 0), losses_of(all, row(0)).all()};
  }
};

TEST(PathSums, ProbesToAHostThatWasStalledSayNothingWhoeverTellsFirst) {
  for (const bool asked_first : {true, false}) {
    AskedBench bench;
    for (const std::uint64_t number : {0, 1, 2, 3}) {
      bench.take(bench.window(number));
      bench.tell(bench.window(number));
    }
    const auto before = bench.first_row(seconds(4), seconds(20));
    EXPECT_EQ(before.lost, 0u);
    EXPECT_NEAR(static_cast<double>(before.telling), 2000.0 / static_cast<double>(bench.streams()), 1);
    Window stalled = bench.window(8);
    stalled.stalled = true;
    if (asked_first) bench.tell(stalled);
    EXPECT_FALSE(bench.take(bench.losing(8)).refused);
    if (!asked_first) bench.tell(stalled);
    const auto after = bench.first_row(seconds(9), seconds(20));
    EXPECT_EQ(after.lost, 0u);
    EXPECT_EQ(after.telling, before.telling) << "and no probe of that time is taken for one that came";
    // What is lost once it is no longer stalled counts.
    for (const std::uint64_t number : {12, 13}) bench.tell(bench.window(number));
    bench.take(bench.losing(12));
    EXPECT_GT(bench.first_row(seconds(13), seconds(20)).lost, 0u);
  }
}

TEST(PathSums, ProbesToANicWhoseHostDroppedWhatCameSayNothing) {
  AskedBench bench;
  bench.take(bench.losing(0));
  EXPECT_GT(bench.first_row(seconds(1), seconds(2)).lost, 0u);
  Window dropping = bench.window(0);
  dropping.nics[0].dropped = 1;
  bench.tell(dropping);
  EXPECT_EQ(bench.first_row(seconds(1), seconds(2)).lost, 0u);
  EXPECT_EQ(bench.first_row(seconds(1), seconds(2)).telling, 0u);
  EXPECT_EQ(bench.sums.sum(seconds(1), seconds(2)).sent.sent(bench.plan.first_nic[bench.asked.value()]), 0u)
      << "nor do its own: some of what it takes for lost came back";
}

TEST(PathSums, AStallStaysOneWhenItsSecondsAreHours) {
  AskedBench bench;
  constexpr std::uint64_t kAll = 7'300, kStalled = 100;
  for (std::uint64_t number = 0; number < kAll; ++number) {
    const bool stalls = number == kStalled;
    bench.take(stalls ? bench.losing(number) : bench.window(number));
    Window own = bench.window(number);
    own.stalled = stalls;
    bench.tell(own);
  }
  const auto row = bench.first_row(seconds(kAll), hours(6));
  EXPECT_EQ(row.lost, 0u);
  const auto a_second = 500.0 / static_cast<double>(bench.streams());
  EXPECT_LT(static_cast<double>(row.telling), (kAll - 1) * a_second + 1);
  EXPECT_GT(static_cast<double>(row.telling), (kAll - 6) * a_second) << "seconds, and not hours, say nothing";
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
