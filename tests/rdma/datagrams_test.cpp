// Probes by datagrams (UD) over soft-RoCE: its kernel moves them as any other would, but gives them the port
// of their queue pair's number, whatever their labels. So weft refuses them there; agents that do not know
// what they stand on show the rest.
#include <gmock/gmock.h>

#include "tests/rdma/queue_pairs_rig.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

TEST_F(QueuePairs, RefuseToProbeByDatagramsWhoseLabelsNothingFollows) {
  const auto answer = rig().weft({"sweep", "--lab=" + rig().name(), "--engine", "verbs", "--probe-transport",
                                  "ud", "--load", "none", "--budget", "6s", "-o", "json"});
  EXPECT_EQ(answer.status, 69) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("soft-RoCE ties the port of a datagram"));
}

TEST_F(QueuePairs, ProbeByDatagramsOfOneQueuePairAndTellTheSpecsApart) {
  const RdmaRig::TestAgent here(rig(), "host1", "datagram_agent");
  const RdmaRig::TestAgent there(rig(), "host3", "datagram_agent");
  RigAnswers done;
  const auto sent = rig().packets_of("host1", [&] {
    done = rig().run({"host1", "host3"}, {{pings(50, 4)}, {asked("host3", 2)}},
                     {.probes = datapath::ProbeTransport::datagram});
  });
  ASSERT_EQ(done.answers.size(), 2u) << done.error;
  ASSERT_TRUE(done.answers[0]) << (done.blamed.empty() ? "" : done.blamed[0].text);
  const auto tallies = std::get<std::vector<datapath::PingTally>>(*done.answers[0]);
  ASSERT_EQ(tallies.size(), 4u);
  for (const auto& tally : tallies) {
    EXPECT_EQ(tally.sent, 50u);
    EXPECT_GE(tally.answered, 45u);
    ASSERT_TRUE(tally.rtt && tally.delays);
    EXPECT_GT(tally.rtt->p50, Nanoseconds(0));
    EXPECT_GT(tally.delays->responder.p50, Nanoseconds(0));
  }
  const auto receipts = std::get<std::vector<datapath::ReceivedTally>>(done.answers[1].value());
  ASSERT_EQ(receipts.size(), 4u);
  for (const auto& receipt : receipts) {
    EXPECT_GE(receipt.packets, 45u);
    EXPECT_EQ(receipt.bytes, receipt.packets * 128) << "whole IP packets, as captured";
  }
  const auto ports = ports_by_qp(sent);
  ASSERT_EQ(ports.size(), 1u) << "all labels to one queue pair";
  EXPECT_EQ(ports.begin()->second.size(), 1u) << "which is why soft-RoCE's datagrams are refused";
}

TEST_F(QueuePairs, SweepAHealthyFabricByDatagrams) {
  const std::vector<std::string> hosts{"host1", "host2", "host3", "host4"};
  std::vector<std::unique_ptr<RdmaRig::TestAgent>> agents;
  for (const auto& host : hosts)
    agents.push_back(std::make_unique<RdmaRig::TestAgent>(rig(), host, "datagram_agent"));
  auto document =
      document_of(rig().weft({"sweep", "--lab=" + rig().name(), "--engine", "verbs", "--probe-transport",
                              "ud", "--load", "none", "--budget", "6s", "-o", "json"}));
  expect_healthy_but_for_this_machine(document);
  ASSERT_EQ(document["nics"].size(), 4u);
  for (auto& nic : document["nics"])
    EXPECT_THAT(nic["uses"].get<std::string>(), HasSubstr("probes by datagrams (UD)"));
}

}  // namespace
}  // namespace weft
