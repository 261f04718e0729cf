#include "probes/session/transfer_stage.hpp"

#include <gtest/gtest.h>

#include "topology/model/addressing.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Transfers 0 and 1 of host1, and 2 of host2: to host3, host4 and host3.
class TransferStageOfThree : public testing::Test {
 protected:
  PortId nic(std::string_view name) const { return *fabric_.find_nic(name); }
  TransferStage stage() {
    return {in_,
            results_,
            {{{nic("host1"), nic("host3")}, PathLabel(11), PathLabel(21), 100},
             {{nic("host1"), nic("host4")}, PathLabel(12), PathLabel(22), 200},
             {{nic("host2"), nic("host3")}, PathLabel(13), PathLabel(23), 300}},
            {.size = Bytes(1024), .window = 16, .limit = seconds(2)}};
  }

  Fabric fabric_ = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 2}).value();
  AddressPlan addresses_ = plan_addresses(fabric_, IpFamily::v4).value();
  SweepInputs in_{fabric_, addresses_.book, {}, RunId(5)};
  SweepResults results_{in_};
};

TEST_F(TransferStageOfThree, EachSenderHasOneRequestWithAllOfItsTransfers) {
  auto transfers = stage();
  const auto work = transfers.next_wave();
  ASSERT_EQ(work.size(), 2u);
  EXPECT_EQ(work[0].nic, nic("host1"));
  const auto& request = std::get<datapath::TransferRequest>(work[0].work);
  EXPECT_EQ(request.run, RunId(5));
  EXPECT_EQ(request.size, Bytes(1024));
  EXPECT_EQ(request.window, 16u);
  EXPECT_EQ(request.limit, seconds(2));
  ASSERT_EQ(request.specs.size(), 2u);
  EXPECT_EQ(request.specs[1].label, PathLabel(12));
  EXPECT_EQ(request.specs[1].back_label, PathLabel(22));
  EXPECT_EQ(request.specs[1].packets, 200u);
  EXPECT_EQ(request.peers.at(request.specs[1].peer).nic, nic("host4"));
  EXPECT_GT(work[0].limit, seconds(2)) << "peers that do not answer are waited for besides";
}

TEST_F(TransferStageOfThree, ThenEachReceiverIsAskedOnce) {
  auto transfers = stage();
  const auto batch = std::get<datapath::TransferRequest>(transfers.next_wave()[0].work).batch;
  const auto questions = transfers.next_wave();
  ASSERT_EQ(questions.size(), 2u);
  for (const auto& question : questions) EXPECT_EQ(std::get<ReceivedQuery>(question.work).batch, batch);
  EXPECT_EQ(questions[0].nic, nic("host3"));
  EXPECT_EQ(questions[1].nic, nic("host4"));
  EXPECT_TRUE(transfers.next_wave().empty());
}

TEST_F(TransferStageOfThree, AnswersComeToTheTransfersTheyAreOf) {
  auto transfers = stage();
  const auto work = transfers.next_wave();
  const auto batch = std::get<datapath::TransferRequest>(work[0].work).batch;
  const TaskAnswer sent = std::vector<datapath::TransferTally>{
      {.spec = 1, .sent = 210, .delivered = 200, .elapsed = milliseconds(9)}};
  const TaskAnswer broken = std::vector<datapath::TransferTally>{{.spec = 0, .sent = 30, .error = "no peer"}};
  transfers.take(work[0], &sent);
  transfers.take(work[1], &broken);
  const auto questions = transfers.next_wave();
  const TaskAnswer arrived =
      std::vector<datapath::ReceivedTally>{{.batch = batch, .from = nic("host2"), .spec = 0, .packets = 25}};
  transfers.take(questions[0], &arrived);
  const auto& outcomes = transfers.outcomes();
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(outcomes[0].sent, 0u) << "nothing was told of it";
  EXPECT_EQ(outcomes[1].sent, 210u);
  EXPECT_EQ(outcomes[1].delivered, 200u);
  EXPECT_EQ(outcomes[1].elapsed, milliseconds(9));
  EXPECT_EQ(outcomes[2].sent, 30u);
  EXPECT_EQ(outcomes[2].error, "no peer");
  EXPECT_EQ(outcomes[2].received, 25u);
}

TEST_F(TransferStageOfThree, AnswersOfNoTransferOrOfAnotherBatchChangeNothing) {
  auto transfers = stage();
  const auto work = transfers.next_wave();
  const TaskAnswer strange = std::vector<datapath::TransferTally>{{.spec = 7, .sent = 9}};
  transfers.take(work[0], &strange);
  transfers.take(work[1], nullptr);
  const auto questions = transfers.next_wave();
  const TaskAnswer late = std::vector<datapath::ReceivedTally>{
      {.batch = BatchId(99), .from = nic("host1"), .spec = 0, .packets = 9},
      {.batch = BatchId(1), .from = nic("host4"), .spec = 0, .packets = 9}};
  transfers.take(questions[0], &late);
  for (const TransferOutcome& outcome : transfers.outcomes()) {
    EXPECT_EQ(outcome.sent, 0u);
    EXPECT_EQ(outcome.received, 0u);
  }
}

TEST_F(TransferStageOfThree, OfNicsThatTakeNoPartNothingIsSent) {
  results_.out = {nic("host1"), nic("host4")};
  auto transfers = stage();
  const auto work = transfers.next_wave();
  ASSERT_EQ(work.size(), 1u);
  EXPECT_EQ(work[0].nic, nic("host2"));
  EXPECT_EQ(transfers.next_wave().size(), 1u);
}

}  // namespace
}  // namespace weft::session
