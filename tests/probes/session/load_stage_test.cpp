// What a load round concludes from flows that did not end well.
#include "probes/session/load_stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using testing::HasSubstr;

/// One flow from host1 to host2 by leaf1, spine1, leaf2.
struct OneFlow {
  Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  SweepInputs in{fabric, addresses.book, {}, RunId(1)};
  SweepResults results{in};
  PortId from = *fabric.find_nic("host1");
  PortId to = *fabric.find_nic("host2");

  /// Runs the round; the sender says `error` of its flow, or that the peer `refused` it.
  void run(std::optional<std::string> error, std::optional<std::string> refused = std::nullopt,
           bool corrupted = false, bool of_sender = false) {
    const auto path = path_by_choice(fabric, results.learner.ways(), from, to, 0);
    const PathLabel label(50'000);
    ASSERT_TRUE(
        results.learner.learn(from, to, label, answers_along(fabric, addresses.book, path, path.size())));
    const PathSetId known = results.learner.find(from, to)->routes.at(0).paths;
    LoadStage stage(in, results, {{{{from, to}, label, known, Bandwidth::mbit(10)}}}, 0);
    const auto flows = stage.next_wave();
    ASSERT_EQ(flows.size(), 1u);
    const TaskAnswer sent = std::vector<datapath::FlowTally>{{.spec = 0,
                                                              .packets = 152,
                                                              .bytes = 622'592,
                                                              .elapsed = std::chrono::milliseconds(500),
                                                              .error = error,
                                                              .of_sender = of_sender,
                                                              .refused = refused,
                                                              .corrupted = corrupted}};
    stage.take(flows[0], &sent);
    const auto questions = stage.next_wave();
    ASSERT_EQ(questions.size(), 1u);
    const BatchId batch = std::get<ReceivedQuery>(questions[0].work).batch;
    const TaskAnswer arrived = std::vector<datapath::ReceivedTally>{{.batch = batch,
                                                                     .from = from,
                                                                     .spec = 0,
                                                                     .packets = 152,
                                                                     .bytes = 622'592,
                                                                     .last = std::chrono::milliseconds(500)}};
    stage.take(questions[0], &arrived);
    EXPECT_TRUE(stage.next_wave().empty());
  }
};

TEST(LoadStage, AFlowThatEndsWellBlamesNobody) {
  OneFlow flow;
  flow.run(std::nullopt);
  EXPECT_TRUE(flow.results.observations.hosts.empty());
  ASSERT_EQ(flow.results.observations.loads.size(), 1u);
  EXPECT_EQ(flow.results.observations.loads[0].line_rate, flow.fabric.rate(ChannelId(0)))
      << "of the sender's cable, as built";
}

TEST(LoadStage, AQueuePairThatDiesIsNamedWithItsLabelItsPathAndTheReason) {
  OneFlow flow;
  flow.run("transport retry counter exceeded (status 12)");
  ASSERT_EQ(flow.results.observations.hosts.size(), 1u);
  const HostEvidence& said = flow.results.observations.hosts[0];
  EXPECT_EQ(said.host, *flow.fabric.find_node("host1"));
  EXPECT_EQ(said.verdict, Verdict::unknown)
      << "the path is bad; which channel of it is the diagnosis' to say";
  EXPECT_THAT(said.text, HasSubstr("host2 with label 50000"));
  EXPECT_THAT(said.text, HasSubstr("leaf1->spine1, spine1->leaf2"));
  EXPECT_THAT(said.text, HasSubstr("status 12"));
}

TEST(LoadStage, BytesThatChangedBehindEveryChecksumAreKeptForWhoFindsTheHost) {
  OneFlow flow;
  flow.run("whatever it says", std::nullopt, true);
  EXPECT_TRUE(flow.results.observations.hosts.empty()) << "one flow cannot tell its two ends apart";
  ASSERT_EQ(flow.results.verified.size(), 1u);
  EXPECT_EQ(flow.results.verified[0].from, flow.from);
  EXPECT_EQ(flow.results.verified[0].to, flow.to);
  EXPECT_TRUE(flow.results.verified[0].differs);
}

TEST(LoadStage, AnErrorThatOnlyReadsLikeSilentCorruptionIsAQueuePairThatDied) {
  OneFlow flow;
  flow.run("silent corruption: says an agent, and means nothing by it");
  EXPECT_TRUE(flow.results.verified.empty());
  ASSERT_EQ(flow.results.observations.hosts.size(), 1u);
  EXPECT_EQ(flow.results.observations.hosts[0].verdict, Verdict::unknown);
}

TEST(LoadStage, APeerThatGivesNoQueuePairIsToBlameNotWhoAsked) {
  OneFlow flow;
  flow.run(std::nullopt, "no memory may be locked");
  ASSERT_EQ(flow.results.observations.hosts.size(), 1u);
  const HostEvidence& said = flow.results.observations.hosts[0];
  EXPECT_EQ(said.host, *flow.fabric.find_node("host2"));
  EXPECT_EQ(said.verdict, Verdict::failed);
  EXPECT_EQ(said.text, "it made no queue pairs with host1: no memory may be locked");
  EXPECT_TRUE(flow.results.observations.loads.empty()) << "nothing was sent: it says nothing of the path";
  EXPECT_FALSE(flow.results.takes_part(flow.to));
  EXPECT_TRUE(flow.results.takes_part(flow.from));
}

TEST(LoadStage, AFlowThatItsOwnDeviceDidNotSendIsTroubleOfThatHostAndNoLoss) {
  OneFlow flow;
  flow.run("mlx5_0: work is refused: Invalid argument", std::nullopt, false, true);
  EXPECT_TRUE(flow.results.observations.loads.empty()) << "it says nothing of the path";
  EXPECT_TRUE(flow.results.verified.empty());
  ASSERT_EQ(flow.results.observations.hosts.size(), 1u);
  const HostEvidence& said = flow.results.observations.hosts[0];
  EXPECT_EQ(said.host, *flow.fabric.find_node("host1"));
  EXPECT_EQ(said.nic, flow.from);
  EXPECT_EQ(said.verdict, Verdict::unknown);
  EXPECT_THAT(said.text, HasSubstr("did not send 1 of 1 flows"));
  EXPECT_THAT(said.text, HasSubstr("host2 with label 50000: mlx5_0: work is refused: Invalid argument"));
  EXPECT_TRUE(flow.results.takes_part(flow.from));
}

/// A flow over two labels of one path.
struct SharedFlow : OneFlow {
  std::vector<plan::LoadRound> rounds() {
    const auto path = path_by_choice(fabric, results.learner.ways(), from, to, 0);
    for (const std::uint32_t label : {50'000, 50'001})
      results.learner.learn(from, to, PathLabel(label),
                            answers_along(fabric, addresses.book, path, path.size()));
    const PathSetId known = results.learner.find(from, to)->routes.at(0).paths;
    return {{{{from, to}, PathLabel(50'000), known, Bandwidth::mbit(10)}}};
  }
};

datapath::FlowTally moved(std::uint32_t spec, std::uint64_t bytes, Nanoseconds latency) {
  datapath::FlowTally tally{.spec = spec, .packets = bytes / 4096, .bytes = bytes};
  tally.elapsed = std::chrono::milliseconds(500);
  tally.measure = datapath::FlowMeasure{bytes / 4096, bytes, {}};
  tally.measure->messages.add(latency);
  return tally;
}

TEST(LoadStage, QueuePairsShareTheRateThePathAndTheResultOfAFlow) {
  SharedFlow shared;
  shared.in.options.qps = 3;
  LoadStage stage(shared.in, shared.results, shared.rounds(), 4, 0.5, true);
  const auto work = stage.next_wave();
  const auto& request = std::get<datapath::FlowRequest>(work.at(0).work);
  ASSERT_EQ(request.specs.size(), 3u);
  std::set<PathLabel> labels;
  for (const datapath::FlowSpec& spec : request.specs) {
    labels.insert(*spec.label);
    EXPECT_NEAR(spec.rate.bits_per_second(), 10e6 * 0.5 / 3, 1);
  }
  EXPECT_EQ(labels.size(), 2u) << "both labels of the path, the first one twice";
  std::vector<datapath::FlowTally> tallies;
  std::vector<datapath::ReceivedTally> receipts;
  for (std::uint32_t i = 0; i < 3; ++i) {
    tallies.push_back(moved(i, 104'000, std::chrono::microseconds(10 + i)));
    receipts.push_back({.batch = request.batch, .from = shared.from, .spec = i, .bytes = 104'000});
  }
  const TaskAnswer sent = tallies;
  stage.take(work[0], &sent);
  const auto questions = stage.next_wave();
  const TaskAnswer arrived = receipts;
  stage.take(questions.at(0), &arrived);
  EXPECT_TRUE(stage.next_wave().empty());
  ASSERT_EQ(shared.results.observations.loads.size(), 1u)
      << "one observation a flow, however many queue pairs";
  EXPECT_NEAR(shared.results.observations.loads[0].delivered.bits_per_second(), 3 * 104'000 * 8 / 0.5, 1);
  ASSERT_EQ(shared.results.flows.flows.size(), 1u);
  const FlowResult& result = shared.results.flows.flows[0];
  EXPECT_EQ(result.round, 4u);
  EXPECT_EQ(result.qps.size(), 3u);
  EXPECT_EQ(result.qps[2].latency.count(), 1u);
}

TEST(LoadStage, AReadIsPostedByWhoReceives) {
  SharedFlow shared;
  shared.in.options.flow_options.operation = FlowOperation::read;
  LoadStage stage(shared.in, shared.results, shared.rounds(), 0, 1.0, true);
  const auto work = stage.next_wave();
  ASSERT_EQ(work.size(), 1u);
  EXPECT_EQ(work[0].nic, shared.to);
  EXPECT_EQ(std::get<datapath::FlowRequest>(work[0].work).peers.at(0).nic, shared.from);
  const TaskAnswer sent = std::vector{moved(0, 600'000, std::chrono::microseconds(9))};
  stage.take(work[0], &sent);
  const auto questions = stage.next_wave();
  ASSERT_EQ(questions.size(), 1u);
  EXPECT_EQ(questions[0].nic, shared.to);
  const BatchId batch = std::get<ReceivedQuery>(questions[0].work).batch;
  const TaskAnswer arrived = std::vector<datapath::ReceivedTally>{
      {.batch = batch, .from = shared.from, .spec = 0, .bytes = 600'000}};
  stage.take(questions[0], &arrived);
  EXPECT_TRUE(stage.next_wave().empty());
  ASSERT_EQ(shared.results.flows.flows.size(), 1u);
  EXPECT_EQ(shared.results.flows.flows[0].src, shared.from);
  EXPECT_GT(shared.results.flows.flows[0].delivered, Bandwidth::mbit(9));
}

/// A flow at 10 Mbit/s that moves its volume in so long.
LoadObservation observed_of_volume(std::int64_t bytes, Nanoseconds elapsed) {
  SharedFlow shared;
  shared.in.options.flow_options.volume = Bytes(bytes);
  shared.in.options.load_round = std::chrono::seconds(30);
  LoadStage stage(shared.in, shared.results, shared.rounds(), 0);
  const auto work = stage.next_wave();
  auto tally = moved(0, static_cast<std::uint64_t>(bytes), std::chrono::microseconds(9));
  tally.elapsed = elapsed;
  const TaskAnswer sent = std::vector{tally};
  stage.take(work.at(0), &sent);
  const auto questions = stage.next_wave();
  const BatchId batch = std::get<ReceivedQuery>(questions.at(0).work).batch;
  const TaskAnswer arrived = std::vector<datapath::ReceivedTally>{
      {.batch = batch, .from = shared.from, .spec = 0, .bytes = static_cast<std::uint64_t>(bytes)}};
  stage.take(questions[0], &arrived);
  EXPECT_TRUE(stage.next_wave().empty());
  EXPECT_TRUE(shared.results.flows.flows.empty()) << "a round that presses a suspect is no result";
  return shared.results.observations.loads.at(0);
}

TEST(LoadStage, AFlowOfAVolumeIsJudgedByTheTimeItTook) {
  const auto seen = observed_of_volume(600'000, std::chrono::milliseconds(500));
  EXPECT_NEAR(seen.delivered.bits_per_second(), 9.6e6, 1);
  EXPECT_EQ(seen.offered, seen.wanted) << "however long the network took over it";
  EXPECT_FALSE(seen.sender_stalled);
}

TEST(LoadStage, AVolumeOfOneMessageIsNoFasterThanItsPace) {
  const auto seen = observed_of_volume(4'096, std::chrono::microseconds(200));
  EXPECT_NEAR(seen.delivered.bits_per_second(), 10e6, 1e3) << "not the 164 Mbit/s of one round trip";
}

}  // namespace
}  // namespace weft::session
