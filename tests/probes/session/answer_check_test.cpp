// An agent that lies in well-formed answers.
#include "probes/session/answer_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weft::session {
namespace {

using std::chrono::microseconds;
using ::testing::HasSubstr;

const std::vector<datapath::Peer> kPeers{{PortId(7), *IpAddress::parse("10.0.1.1")},
                                         {PortId(9), *IpAddress::parse("fd00::9")}};

datapath::PingRequest pings() {
  datapath::PingRequest request{.peers = kPeers};
  request.specs = {{0, PathLabel(50'000), PathLabel(50'000), 100, Bytes(128)},
                   {1, PathLabel(50'000), PathLabel(50'000), 10, Bytes(128)}};
  return request;
}

void expect_refused(const TaskWork& work, const TaskAnswer& answer, const char* what) {
  const auto checked = check_answer(work, answer);
  ASSERT_FALSE(checked) << what;
  EXPECT_THAT(checked.error().message, HasSubstr(what));
}

TEST(AnswerCheck, WhatCanBeTruePasses) {
  EXPECT_TRUE(check_answer(pings(), std::vector<datapath::PingTally>{}));
  EXPECT_TRUE(check_answer(pings(), std::vector<datapath::PingTally>{
                                        {0, 100, 90, 10, RttQuantiles{microseconds(3), microseconds(3)}},
                                        {.spec = 1, .refused = "no memory may be locked"}}));
  EXPECT_TRUE(check_answer(ReceivedQuery{BatchId(6)},
                           std::vector<datapath::ReceivedTally>{{BatchId(6), PortId(3), 0, 2, 2 * 65535, 9},
                                                                {BatchId(6), PortId(4), 0, 0, 0, 9}}));
  datapath::FlowRequest flows{.peers = kPeers};
  flows.specs.resize(1);
  EXPECT_TRUE(check_answer(flows, std::vector<datapath::FlowTally>{{.spec = 0}}));
  EXPECT_TRUE(check_answer(CounterQuery{}, std::vector<NicCounters>{}));
}

TEST(AnswerCheck, ProbesThatWereNotAskedForOrNotSentAreRefused) {
  expect_refused(pings(), std::vector<datapath::PingTally>{{0, 101, 0, 0}}, "101 probes sent of 100");
  expect_refused(pings(), std::vector<datapath::PingTally>{{0, 10, 11, 0}}, "11 echoes");
  expect_refused(pings(), std::vector<datapath::PingTally>{{0, 10, 5, 6}}, "6 damaged");
  expect_refused(pings(), std::vector<datapath::PingTally>{{0, 4'000'000'000, 4'000'000'000, 4'000'000'000}},
                 "sent");
  expect_refused(pings(), std::vector<datapath::PingTally>{{2, 1, 1, 0}}, "spec 2 of 2");
  expect_refused(pings(), std::vector<datapath::PingTally>{{0, 1, 1, 0}, {0, 1, 1, 0}}, "spec 0 twice");
  expect_refused(pings(), std::vector<datapath::PingTally>{{.spec = 0, .sent = 1, .refused = "no"}},
                 "refused");
  expect_refused(
      pings(),
      std::vector<datapath::PingTally>{{0, 10, 5, 0, RttQuantiles{microseconds(4), microseconds(3)}}},
      "longer");
  expect_refused(
      pings(),
      std::vector<datapath::PingTally>{{0, 10, 0, 0, RttQuantiles{microseconds(3), microseconds(4)}}},
      "without an echo");
}

TEST(AnswerCheck, WhatAReceiverCannotHaveSeenIsRefused) {
  const TaskWork asked = ReceivedQuery{BatchId(6)};
  const auto told = [](std::uint64_t packets, std::uint64_t bytes) {
    return std::vector<datapath::ReceivedTally>{{BatchId(6), PortId(3), 0, packets, bytes}};
  };
  expect_refused(asked, told(0, 1), "1 bytes in 0 packets");
  expect_refused(asked, told(10, 9), "9 bytes in 10 packets");
  expect_refused(asked, told(1, 65'536), "65536 bytes");
  expect_refused(asked, told(~0ull, 1), "packets");
  expect_refused(asked, std::vector<datapath::ReceivedTally>{{BatchId(5), PortId(3), 0, 1, 100}}, "batch 5");
  expect_refused(
      asked,
      std::vector<datapath::ReceivedTally>{{.batch = BatchId(6), .packets = 1, .bytes = 100, .unsent = 2}},
      "2 echoes not sent");
  expect_refused(asked,
                 std::vector<datapath::ReceivedTally>{
                     {.batch = BatchId(6), .packets = 3, .bytes = 300, .unsent = 2, .late = 2}},
                 "2 echoes sent late");
  expect_refused(asked,
                 std::vector<datapath::ReceivedTally>{{BatchId(6), PortId(3), 0, 1, 100},
                                                      {BatchId(6), PortId(3), 0, 1, 100}},
                 "twice");
  expect_refused(asked,
                 std::vector<datapath::ReceivedTally>{
                     {BatchId(6), PortId(3), 0, 2, 200, 0, microseconds(5), microseconds(4)}},
                 "before the first");
}

TEST(AnswerCheck, HopsFlowsAndTransfersHaveTheirLimits) {
  datapath::TraceRequest trace{.peers = kPeers, .specs = {{0, PathLabel(50'000), 4}}};
  const IpAddress from = kPeers[0].address;
  EXPECT_TRUE(check_answer(trace, std::vector<datapath::HopAnswer>{{0, 4, true, from}, {0, 1, false, from}}));
  expect_refused(trace, std::vector<datapath::HopAnswer>{{0, 5, true, from}}, "hop 5: 1 to 4");
  expect_refused(trace, std::vector<datapath::HopAnswer>{{0, 0, true, from}}, "hop 0");
  expect_refused(trace, std::vector<datapath::HopAnswer>{{1, 1, true, from}}, "spec 1 of 1");
  datapath::FlowRequest flows{.peers = kPeers};
  flows.specs.resize(1);
  expect_refused(flows, std::vector<datapath::FlowTally>{{.spec = 0, .packets = 1, .bytes = ~0ull}},
                 "bytes in 1 packets");
  expect_refused(flows, std::vector<datapath::FlowTally>{{.spec = 0, .of_sender = true}}, "not what");
  const RttQuantiles rtt{Nanoseconds(5), Nanoseconds(9)};
  const auto beside = [](datapath::TripTally trips) {
    return std::vector<datapath::FlowTally>{{.spec = 0, .trips = trips}};
  };
  expect_refused(flows, beside({16, 16, rtt}), "nobody asked for");
  flows.trips = datapath::TripProbes{BatchId(7), 40};
  expect_refused(flows, beside({16, 16, rtt}), "nobody asked for");
  flows.specs[0].back_label = PathLabel(1);
  EXPECT_TRUE(check_answer(flows, beside({16, 16, rtt})));
  expect_refused(flows, beside({16, 17, rtt}), "17 echoes of 16");
  expect_refused(flows, beside({16, 0, rtt}), "without an echo");
  expect_refused(flows, beside({16, 1, RttQuantiles{Nanoseconds(9), Nanoseconds(5)}}), "took longer");
  datapath::TransferRequest transfers{.peers = kPeers, .specs = {{0, PathLabel(1), PathLabel(1), 100}}};
  EXPECT_TRUE(check_answer(transfers, std::vector<datapath::TransferTally>{{0, 105, 100}}));
  expect_refused(transfers, std::vector<datapath::TransferTally>{{0, 99, 100}}, "100 packets delivered");
  expect_refused(transfers, std::vector<datapath::TransferTally>{{0, 200, 101}}, "100 asked for");
  expect_refused(
      transfers,
      std::vector<datapath::TransferTally>{{.spec = 0, .sent = 8, .first = std::chrono::milliseconds(1)}},
      "a first acknowledgement");
  expect_refused(transfers,
                 std::vector<datapath::TransferTally>{
                     {.spec = 0, .sent = 100, .delivered = 100, .elapsed = Nanoseconds::max()}},
                 "at most");
}

TEST(AnswerCheck, AnAnswerToAnotherQuestionIsRefused) {
  expect_refused(pings(), std::vector<datapath::FlowTally>{}, "another question");
  expect_refused(ReceivedQuery{BatchId(1)}, std::vector<datapath::PingTally>{}, "another question");
}

TEST(Targets, AreTheNicsOfTheRunWhateverTheWork) {
  const datapath::RunNic first{kPeers[0].nic, kPeers[0].address};
  const datapath::RunNic second{kPeers[1].nic, kPeers[1].address};
  const TaskWork works[] = {datapath::TraceRequest{.peers = kPeers}, pings(),
                            datapath::FlowRequest{.peers = kPeers},
                            datapath::TransferRequest{.peers = kPeers}};
  for (const TaskWork& work : works) {
    EXPECT_TRUE(check_targets(work, datapath::RunNics({first, second})));
    const auto refused = check_targets(work, datapath::RunNics({first}));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("fd00::9"));
    EXPECT_FALSE(check_targets(work, datapath::RunNics()));
    EXPECT_FALSE(
        check_targets(work, datapath::RunNics({{first.nic, second.address}, {second.nic, first.address}})))
        << "each other's addresses";
  }
  EXPECT_TRUE(check_targets(ReceivedQuery{BatchId(1)}, datapath::RunNics())) << "it sends nothing";
}

}  // namespace
}  // namespace weft::session
