// What a stage of pings keeps of the hosts' own share of round trips.
#include "probes/session/ping_stage.hpp"

#include <gtest/gtest.h>

#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

using std::chrono::microseconds;

RttQuantiles quantiles(int p50, int p99) { return {microseconds(p50), microseconds(p99)}; }

TEST(PingStage, KeepsWhatEachHostAddedToRoundTrips) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  const AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  SweepState state{fabric, addresses.book, {}};
  const PortId from = *fabric.find_nic("host1");
  const PortId to = *fabric.find_nic("host2");
  const auto path = path_by_choice(fabric, state.learner.ways(), from, to, 0);
  const PathLabel label(50'000);
  ASSERT_TRUE(state.learner.learn(from, to, label, answers_along(fabric, addresses.book, path, path.size())));
  const PathSetId known = state.learner.find(from, to)->routes.at(0).paths;
  const PlannedPing ping{
      .pair = {from, to}, .label = label, .path = known, .back_label = label, .back = known};
  PingStage stage(state, {{ping, 10}, {ping, 10}}, Bytes(128), 1000);
  const auto pings = stage.next_wave();
  ASSERT_EQ(pings.size(), 1u);
  const TaskAnswer answered =
      std::vector<PingTally>{{0, 10, 10, 0, quantiles(9, 11),
                              PingDelays{quantiles(2, 3), quantiles(40, 70), quantiles(51, 90), true}},
                             {1, 10, 10, 0, quantiles(9, 11),
                              PingDelays{quantiles(4, 8), quantiles(30, 60), quantiles(43, 80), false}}};
  stage.take(pings[0], &answered);
  const auto questions = stage.next_wave();
  ASSERT_EQ(questions.size(), 1u);
  const BatchId batch = std::get<ReceivedQuery>(questions[0].work).batch;
  const TaskAnswer arrived =
      std::vector<ReceivedTally>{{.batch = batch, .from = from, .spec = 0, .packets = 10},
                                 {.batch = batch, .from = from, .spec = 1, .packets = 10}};
  stage.take(questions[0], &arrived);
  EXPECT_TRUE(stage.next_wave().empty());
  EXPECT_EQ(over_paths(state.delays.at(from).prober), quantiles(4, 8));
  EXPECT_EQ(over_paths(state.delays.at(to).responder), quantiles(40, 70)) << "the larger median of two";
  EXPECT_EQ(over_paths(state.delays.at(from).whole), quantiles(51, 90));
  EXPECT_FALSE(over_paths(state.delays.at(from).responder)) << "nobody probed it";
  EXPECT_FALSE(state.delays.at(from).by_hardware) << "one of the two was not";
}

TEST(PingStage, BlamesAPeerThatMadeNoQueuePairsOnceAndGoesOnWithTheOthers) {
  const Fabric fabric = make_clos({.leaves = 3, .spines = 1, .hosts_per_leaf = 1}).value();
  const AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  SweepState state{fabric, addresses.book, {}};
  const PortId refusing = *fabric.find_nic("host3");
  std::vector<CountedPing> pings;
  for (const auto& [from, to] : {std::pair{"host1", "host2"}, {"host1", "host3"}, {"host2", "host3"}})
    pings.push_back(
        {{.pair = {*fabric.find_nic(from), *fabric.find_nic(to)}, .label = PathLabel(50'000)}, 10});
  PingStage stage(state, pings, Bytes(128), 1000);
  const auto work = stage.next_wave();
  ASSERT_EQ(work.size(), 2u);
  const PingTally refused{.spec = 1, .refused = "no memory may be locked"};
  const TaskAnswer first = std::vector<PingTally>{{0, 10, 10, 0}, refused};
  const TaskAnswer second = std::vector<PingTally>{{.spec = 0, .refused = refused.refused}};
  stage.take(work[0], &first);
  stage.take(work[1], &second);
  const auto questions = stage.next_wave();
  const BatchId batch = std::get<ReceivedQuery>(questions.at(0).work).batch;
  for (const WorkItem& question : questions) {
    const TaskAnswer arrived = std::vector<ReceivedTally>{
        {.batch = batch, .from = *fabric.find_nic("host1"), .spec = 0, .packets = 10}};
    stage.take(question, &arrived);
  }
  EXPECT_TRUE(stage.next_wave().empty());
  ASSERT_EQ(state.observations.hosts.size(), 1u);
  EXPECT_EQ(state.observations.hosts[0].nic, refusing);
  EXPECT_EQ(state.observations.hosts[0].text, "it made no queue pairs with host1: no memory may be locked");
  EXPECT_FALSE(state.takes_part(refusing));
  ASSERT_EQ(state.observations.probes.size(), 1u);
  EXPECT_EQ(state.observations.probes[0].sent, 10u);
}

}  // namespace
}  // namespace weft
