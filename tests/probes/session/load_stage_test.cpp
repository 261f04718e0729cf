// What a load round concludes from flows that did not end well.
#include "probes/session/load_stage.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/wire/flow_words.hpp"
#include "tests/support/traced_fabric.hpp"
#include "topology/model/clos.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

/// One flow from host1 to host2 by leaf1, spine1, leaf2.
struct OneFlow {
  Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  SweepState state{fabric, addresses.book, {}};
  PortId from = *fabric.find_nic("host1");
  PortId to = *fabric.find_nic("host2");

  /// Runs the round; the sender says `error` of its flow.
  void run(std::optional<std::string> error) {
    const auto path = path_by_choice(fabric, state.learner.ways(), from, to, 0);
    const PathLabel label(50'000);
    ASSERT_TRUE(
        state.learner.learn(from, to, label, answers_along(fabric, addresses.book, path, path.size())));
    const PathSetId known = state.learner.find(from, to)->routes.at(0).paths;
    LoadStage stage(state, {{{{from, to}, label, known, Bandwidth::mbit(10)}}}, 0);
    const auto flows = stage.next_wave();
    ASSERT_EQ(flows.size(), 1u);
    const TaskAnswer sent = std::vector<FlowTally>{{.spec = 0,
                                                    .packets = 152,
                                                    .bytes = 622'592,
                                                    .elapsed = std::chrono::milliseconds(500),
                                                    .error = error}};
    stage.take(flows[0], &sent);
    const auto questions = stage.next_wave();
    ASSERT_EQ(questions.size(), 1u);
    const BatchId batch = std::get<ReceivedQuery>(questions[0].work).batch;
    const TaskAnswer arrived = std::vector<ReceivedTally>{{.batch = batch,
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
  EXPECT_TRUE(flow.state.observations.hosts.empty());
  EXPECT_EQ(flow.state.observations.loads.size(), 1u);
}

TEST(LoadStage, AQueuePairThatDiesIsNamedWithItsLabelItsPathAndTheReason) {
  OneFlow flow;
  flow.run("transport retry counter exceeded (status 12)");
  ASSERT_EQ(flow.state.observations.hosts.size(), 1u);
  const HostEvidence& said = flow.state.observations.hosts[0];
  EXPECT_EQ(said.host, *flow.fabric.find_node("host1"));
  EXPECT_EQ(said.verdict, Verdict::unknown)
      << "the path is bad; which channel of it is the diagnosis' to say";
  EXPECT_THAT(said.text, HasSubstr("host2 with label 50000"));
  EXPECT_THAT(said.text, HasSubstr("leaf1->spine1, spine1->leaf2"));
  EXPECT_THAT(said.text, HasSubstr("status 12"));
}

TEST(LoadStage, BytesThatChangedBehindEveryChecksumAreAFaultOfTheReceivingHost) {
  OneFlow flow;
  flow.run(std::string(kSilentCorruption) + ": what was written is not what was sent");
  ASSERT_EQ(flow.state.observations.hosts.size(), 1u);
  const HostEvidence& said = flow.state.observations.hosts[0];
  EXPECT_EQ(said.host, *flow.fabric.find_node("host2"));
  EXPECT_EQ(said.verdict, Verdict::failed);
  EXPECT_EQ(said.cause, Cause::corruption);
}

}  // namespace
}  // namespace weft
