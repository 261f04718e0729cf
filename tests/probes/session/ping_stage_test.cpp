// What a stage of pings keeps of the hosts' own share of round trips.
#include "probes/session/ping_stage.hpp"

#include "probes/session/echo_stage.hpp"

#include <gtest/gtest.h>

#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::microseconds;

RttQuantiles quantiles(int p50, int p99) { return {microseconds(p50), microseconds(p99)}; }

TEST(PingStage, KeepsWhatEachHostAddedToRoundTrips) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  const AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  SweepInputs in{fabric, addresses.book, {}, RunId(1)};
  SweepResults results{in};
  const PortId from = *fabric.find_nic("host1");
  const PortId to = *fabric.find_nic("host2");
  const auto path = path_by_choice(fabric, results.learner.ways(), from, to, 0);
  const PathLabel label(50'000);
  ASSERT_TRUE(
      results.learner.learn(from, to, label, answers_along(fabric, addresses.book, path, path.size())));
  const PathSetId known = results.learner.find(from, to)->routes.at(0).paths;
  const plan::PlannedPing ping{
      .pair = {from, to}, .label = label, .path = known, .back_label = label, .back = known};
  PingStage stage(in, results, {{ping, 10}, {ping, 10}}, Bytes(128), 1000);
  const auto pings = stage.next_wave();
  ASSERT_EQ(pings.size(), 1u);
  const TaskAnswer answered = std::vector<datapath::PingTally>{
      {0, 10, 10, 0, quantiles(9, 11),
       datapath::PingDelays{quantiles(2, 3), quantiles(40, 70), quantiles(51, 90), true}},
      {1, 10, 10, 0, quantiles(9, 11),
       datapath::PingDelays{quantiles(4, 8), quantiles(30, 60), quantiles(43, 80), false}}};
  stage.take(pings[0], &answered);
  const auto questions = stage.next_wave();
  ASSERT_EQ(questions.size(), 1u);
  const BatchId batch = std::get<ReceivedQuery>(questions[0].work).batch;
  const TaskAnswer arrived =
      std::vector<datapath::ReceivedTally>{{.batch = batch, .from = from, .spec = 0, .packets = 10},
                                           {.batch = batch, .from = from, .spec = 1, .packets = 10}};
  stage.take(questions[0], &arrived);
  EXPECT_TRUE(stage.next_wave().empty());
  EXPECT_EQ(over_paths(results.delays.at(from).prober), quantiles(4, 8));
  EXPECT_EQ(over_paths(results.delays.at(to).responder), quantiles(40, 70)) << "the larger median of two";
  EXPECT_EQ(over_paths(results.delays.at(from).whole), quantiles(51, 90));
  EXPECT_FALSE(over_paths(results.delays.at(from).responder)) << "nobody probed it";
  EXPECT_FALSE(results.delays.at(from).by_hardware) << "one of the two was not";
}

/// Two NICs and a way between them that is its own way back.
struct Pair {
  Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  SweepInputs in{fabric, addresses.book, {}, RunId(1)};
  SweepResults results{in};
  PortId from = *fabric.find_nic("host1");
  PortId to = *fabric.find_nic("host2");

  plan::PlannedPing ping() {
    const auto path = path_by_choice(fabric, results.learner.ways(), from, to, 0);
    const PathLabel label(50'000);
    static_cast<void>(
        results.learner.learn(from, to, label, answers_along(fabric, addresses.book, path, path.size())));
    const PathSetId known = results.learner.find(from, to)->routes.at(0).paths;
    return {.pair = {from, to}, .label = label, .path = known, .back_label = label, .back = known};
  }
  /// What the stage makes of one batch of pings of 100 packets each.
  std::vector<Observation> observe(std::vector<datapath::PingTally> tallies,
                                   std::vector<datapath::ReceivedTally> receipts) {
    const auto before = results.observations.probes.size();
    PingStage stage(in, results, std::vector<CountedPing>(tallies.size(), {ping(), 100}), Bytes(128), 1000);
    const auto pings = stage.next_wave();
    const TaskAnswer answered = std::move(tallies);
    stage.take(pings.at(0), &answered);
    const auto questions = stage.next_wave();
    for (datapath::ReceivedTally& receipt : receipts) {
      receipt.batch = std::get<ReceivedQuery>(questions.at(0).work).batch;
      receipt.from = from;
    }
    const TaskAnswer arrived = std::move(receipts);
    stage.take(questions.at(0), &arrived);
    EXPECT_TRUE(stage.next_wave().empty());
    const auto& all = results.observations.probes;
    return {all.begin() + static_cast<std::ptrdiff_t>(before), all.end()};
  }
};

TEST(PingStage, ANicOfFewPacketsSendsThemOverAllOfTheTime) {
  Pair pair;
  const plan::PlannedPing there = pair.ping();
  plan::PlannedPing back = there;
  back.pair = {pair.to, pair.from};
  PingStage stage(pair.in, pair.results, {{there, 900}, {there, 100}, {back, 50}}, Bytes(128), 1000);
  const auto work = stage.next_wave();
  ASSERT_EQ(work.size(), 2u);
  for (const WorkItem& item : work)
    EXPECT_DOUBLE_EQ(std::get<datapath::PingRequest>(item.work).pace.packets_per_second,
                     item.nic == pair.from ? 1000 : 50);
  EXPECT_EQ(work[0].limit, work[1].limit);
}

using Runs = std::vector<LossRun>;

TEST(PingStage, TellsWhichPacketsWereLostOnEachWay) {
  Pair pair;
  const auto seen =
      pair.observe({{.spec = 0, .sent = 100, .answered = 87, .unanswered = {{9, 6}, {40, 2}, {95, 5}}}},
                   {{.spec = 0, .packets = 91, .missing = Runs{{10, 3}, {40, 1}}}});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].lost, 9u);
  EXPECT_EQ(seen[0].pair, (LabelledPair{pair.from, pair.to, PathLabel(50'000)}));
  EXPECT_EQ(seen[1].pair, (LabelledPair{pair.to, pair.from, PathLabel(50'000)}));
  EXPECT_EQ(seen[0].runs, (Runs{{10, 3}, {40, 1}, {95, 5}}))
      << "the receiver cannot know of those at the end";
  EXPECT_EQ(seen[1].lost, 4u);
  EXPECT_EQ(seen[1].runs, (Runs{{9, 3}, {37, 1}})) << "9, 13 and 14 are neighbours among those that arrived";
}

TEST(PingStage, ARowOfWhichNothingArrivedIsOneRunAndAnOrderThatContradictsItsCountsIsNone) {
  Pair pair;
  const auto dead = pair.observe({{.spec = 0, .sent = 100, .unanswered = {{0, 100}}}}, {});
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].runs, (Runs{{0, 100}}));
  const auto lie = pair.observe({{.spec = 0, .sent = 100, .answered = 80, .unanswered = {{0, 5}}}},
                                {{.spec = 0, .packets = 90, .missing = Runs{{0, 20}}}});
  ASSERT_EQ(lie.size(), 2u);
  EXPECT_TRUE(lie[0].runs.empty());
  EXPECT_TRUE(lie[1].runs.empty());
}

TEST(PingStage, WhatAHostDroppedUnreadExcusesTheRowsThatWereForIt) {
  Pair pair;
  const auto seen =
      pair.observe({{.spec = 0, .sent = 100, .answered = 50, .dropped = 3},
                    {.spec = 1, .sent = 100, .answered = 75, .dropped = 3}},
                   {{.spec = 0, .packets = 55, .dropped = 40}, {.spec = 1, .packets = 85, .dropped = 40}});
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].excused, 25u) << "of 45 lost: of the other row it took 85, and all 15 are excused";
  EXPECT_EQ(seen[2].excused, 15u);
  EXPECT_EQ(seen[1].excused + seen[3].excused, 3u);
  const auto more =
      pair.observe({{.spec = 0, .sent = 100, .answered = 98}}, {{.spec = 0, .packets = 98, .dropped = 40}});
  EXPECT_EQ(more.at(0).excused, 2u) << "never more than was lost";
}

TEST(PingStage, RowsOfWhichNothingCameShareWhatTheHostDroppedAlike) {
  Pair pair;
  const auto seen = pair.observe({{.spec = 0, .sent = 100}, {.spec = 1, .sent = 100}},
                                 {{.spec = 0, .dropped = 120}, {.spec = 1, .dropped = 120}});
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].excused, 60u);
  EXPECT_EQ(seen[1].excused, 60u) << "what it dropped is as likely of the one as of the other";
}

TEST(PingStage, AnswersThatAHostDidNotSendAreNoLoss) {
  Pair pair;
  const auto seen =
      pair.observe({{.spec = 0, .sent = 100, .answered = 60}, {.spec = 1, .sent = 100}},
                   {{.spec = 0, .packets = 100, .unsent = 38}, {.spec = 1, .packets = 100, .unsent = 100}});
  ASSERT_EQ(seen.size(), 3u) << "one way back, of which something is known";
  EXPECT_EQ(seen[1].sent, 62u);
  EXPECT_EQ(seen[1].lost, 2u);
  EXPECT_EQ(seen[2].lost, 0u);
}

TEST(PingStage, EchoesThatAHostHeldBackUntilNobodyWaitedAreNoLoss) {
  Pair pair;
  const auto seen = pair.observe(
      {{.spec = 0, .sent = 100, .answered = 60}, {.spec = 1, .sent = 100, .answered = 80, .late = 25}},
      {{.spec = 0, .packets = 98, .late = 36}, {.spec = 1, .packets = 100, .late = 30}});
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0].lost, 2u) << "on the way there";
  EXPECT_EQ(seen[1].sent, 62u);
  EXPECT_EQ(seen[1].lost, 2u);
  EXPECT_EQ(seen[1].held, 36u);
  EXPECT_EQ(seen[3].sent, 95u);
  EXPECT_EQ(seen[3].lost, 15u) << "of those that left late all but five came";
  EXPECT_EQ(seen[3].held, 5u);
  const auto none =
      pair.observe({{.spec = 0, .sent = 100, .answered = 99}}, {{.spec = 0, .packets = 100, .late = 50}});
  EXPECT_EQ(none.at(1).held, 1u) << "never more than did not come";
  const auto old =
      pair.observe({{.spec = 0, .sent = 100, .answered = 70, .late = 30}}, {{.spec = 0, .packets = 100}});
  EXPECT_EQ(old.at(1).lost, 30u) << "its host says nothing of a stall";
}

TEST(PingStage, PutsWindowsOnTheClockOfTheRun) {
  Pair pair;
  using std::chrono::seconds;
  const auto sent = [](Nanoseconds at) {
    return datapath::PingTally{.spec = 0, .sent = 100, .answered = 100, .window = TimeWindow{at, seconds(2)}};
  };
  const datapath::ReceivedTally all{.spec = 0, .packets = 100};
  const auto first = pair.observe({sent(seconds(5000))}, {all});
  EXPECT_EQ(first.at(0).window, (TimeWindow{Nanoseconds(0), seconds(2)}));
  EXPECT_EQ(first.at(1).window, first.at(0).window) << "echoes come at once";
  const auto second = pair.observe({sent(seconds(5010))}, {all});
  EXPECT_EQ(second.at(0).window, (TimeWindow{seconds(10), seconds(2)}));
  EXPECT_FALSE(pair.observe({{.spec = 0, .sent = 100, .answered = 100}}, {all}).at(0).window);
}

TEST(PingStage, BlamesAPeerThatMadeNoQueuePairsOnceAndGoesOnWithTheOthers) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 1, .hosts_per_leaf = 1}).value();
  const AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  SweepInputs in{fabric, addresses.book, {}, RunId(1)};
  SweepResults results{in};
  const PortId refusing = *fabric.find_nic("host3");
  std::vector<CountedPing> pings;
  for (const auto& [from, to] : {std::pair{"host1", "host2"}, {"host1", "host3"}, {"host2", "host3"}})
    pings.push_back(
        {{.pair = {*fabric.find_nic(from), *fabric.find_nic(to)}, .label = PathLabel(50'000)}, 10});
  PingStage stage(in, results, pings, Bytes(128), 1000);
  const auto work = stage.next_wave();
  ASSERT_EQ(work.size(), 2u);
  const datapath::PingTally refused{.spec = 1, .refused = "no memory may be locked"};
  const TaskAnswer first = std::vector<datapath::PingTally>{{0, 10, 10, 0}, refused};
  const TaskAnswer second = std::vector<datapath::PingTally>{{.spec = 0, .refused = refused.refused}};
  stage.take(work[0], &first);
  stage.take(work[1], &second);
  const auto questions = stage.next_wave();
  const BatchId batch = std::get<ReceivedQuery>(questions.at(0).work).batch;
  for (const WorkItem& question : questions) {
    const TaskAnswer arrived = std::vector<datapath::ReceivedTally>{
        {.batch = batch, .from = *fabric.find_nic("host1"), .spec = 0, .packets = 10}};
    stage.take(question, &arrived);
  }
  EXPECT_TRUE(stage.next_wave().empty());
  ASSERT_EQ(results.observations.hosts.size(), 1u);
  EXPECT_EQ(results.observations.hosts[0].nic, refusing);
  EXPECT_EQ(results.observations.hosts[0].text, "it made no queue pairs with host1: no memory may be locked");
  EXPECT_FALSE(results.takes_part(refusing));
  ASSERT_EQ(results.observations.probes.size(), 1u);
  EXPECT_EQ(results.observations.probes[0].sent, 10u);
}

TEST(EchoStage, TakesARoundTripWithoutAnAnswerForLostOnItsWays) {
  Pair pair;
  const auto there = path_by_choice(pair.fabric, pair.results.learner.ways(), pair.from, pair.to, 0);
  const auto back = path_by_choice(pair.fabric, pair.results.learner.ways(), pair.to, pair.from, 0);
  EchoStage stage(pair.in, pair.results, {{{pair.from, pair.to}, PathLabel(7), PathLabel(1), there, back}},
                  1000, 0.5);
  const auto asked = stage.next_wave();
  ASSERT_EQ(asked.size(), 1u);
  const auto& request = std::get<datapath::PingRequest>(asked[0].work);
  EXPECT_TRUE(request.by_management);
  EXPECT_EQ(request.specs.at(0).count, 501u);
  const TaskAnswer answered = std::vector<datapath::PingTally>{{.spec = 0, .sent = 501, .answered = 491}};
  stage.take(asked[0], &answered);
  stage.take(asked[0], nullptr);
  EXPECT_TRUE(stage.next_wave().empty());
  ASSERT_EQ(pair.results.observations.probes.size(), 1u);
  const Observation& seen = pair.results.observations.probes[0];
  EXPECT_EQ(seen.sent, 501u);
  EXPECT_EQ(seen.lost, 10u);
  const PathTable& paths = pair.results.observations.paths;
  EXPECT_TRUE(std::ranges::equal(paths.channels(paths.paths(seen.path)[0]), there));
  EXPECT_TRUE(std::ranges::equal(paths.channels(paths.paths(*seen.back)[0]), back));
}

TEST(ShareOut, WhatWasDroppedIsExcusedWhereverItFellAndNothingBeyondIt) {
  const auto excused = [](std::uint64_t dropped, const std::vector<std::uint64_t>& lost) {
    std::vector<Observation> all;
    std::vector<std::size_t> rows;
    for (const std::uint64_t one : lost) {
      rows.push_back(all.size());
      all.push_back({.path = PathSetId(0), .sent = 1000, .lost = one});
    }
    share_out(dropped, rows, all);
    std::vector<std::uint64_t> result;
    for (const Observation& one : all) result.push_back(one.excused);
    return result;
  };
  using Counts = std::vector<std::uint64_t>;
  EXPECT_EQ(excused(180, {60, 60, 60}), (Counts{60, 60, 60})) << "from all alike";
  EXPECT_EQ(excused(60, {0, 0, 60}), (Counts{0, 0, 60})) << "one reader alone was late";
  const auto beside = excused(30, {10, 10, 300});
  EXPECT_EQ(beside[0] + beside[1], 20u);
  EXPECT_LE(beside[2], 10u) << "a faulty channel beside it keeps its losses";
}

TEST(PingStage, RoundTripsThroughASimulatorAreNone) {
  Pair pair;
  pair.in.options.round_trips_count = false;
  const auto seen = pair.observe({{0, 100, 100, 0, quantiles(900, 2000)}}, {{.spec = 0, .packets = 100}});
  for (const Observation& one : seen) EXPECT_FALSE(one.rtt);
}

}  // namespace
}  // namespace weft::session
