// Probes over queue pairs of fake devices, by datagrams and by connections.
#include "probes/engine/verbs/ping_run.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "probes/engine/verbs/qp_messages.hpp"
#include "probes/packet/roce.hpp"
#include "tests/probes/engine/verbs/fake_hosts.hpp"

namespace weft::verbs {
namespace {

using fakes::FakeVerbs;
using ::testing::HasSubstr;

class Pings : public ::testing::TestWithParam<datapath::ProbeTransport> {
 protected:
  bool by_datagrams() const { return GetParam() == datapath::ProbeTransport::datagram; }
};
INSTANTIATE_TEST_SUITE_P(Both, Pings,
                         ::testing::Values(datapath::ProbeTransport::datagram,
                                           datapath::ProbeTransport::connected),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

TEST_P(Pings, AreCountedAtBothEndsAndTimed) {
  FakeHosts hosts{.probes = GetParam()};
  const auto tallies = hosts.here->ping(hosts.spread_pings(3), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_EQ(tallies->size(), 3u);
  for (const datapath::PingTally& tally : *tallies) {
    EXPECT_EQ(tally.sent, 100u);
    EXPECT_EQ(tally.answered, 100u);
    EXPECT_TRUE(tally.rtt && tally.delays);
    EXPECT_GT(tally.window.value_or(TimeWindow{}).length, std::chrono::milliseconds(100));
    EXPECT_TRUE(tally.unanswered.empty());
  }
  const auto receipts = hosts.there->received(BatchId(2)).value();
  ASSERT_EQ(receipts.size(), 3u);
  for (const datapath::ReceivedTally& receipt : receipts) {
    EXPECT_EQ(receipt.packets, 100u);
    EXPECT_EQ(receipt.missing, std::vector<LossRun>());
    EXPECT_EQ(receipt.bytes, 100u * 128) << "whole IP packets";
  }
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, HaveEachItsLabelThereAndBack) {
  FakeHosts hosts{.probes = GetParam()};
  auto request = hosts.spread_pings(3);
  const auto seen = hosts.seen_during([&] { ASSERT_TRUE(hosts.here->ping(request, {})); });
  std::multiset<std::uint32_t> labels;
  for (const auto& marks : seen.marks) labels.insert(marks.flow_label);
  std::multiset<std::uint32_t> wanted;
  for (const datapath::PingSpec& spec : request.specs)
    for (const PathLabel label : {spec.label, spec.back_label})
      wanted.insert(packet::flow_label_for(UdpPort(static_cast<std::uint16_t>(label.value()))));
  EXPECT_EQ(labels, wanted);
  EXPECT_EQ(seen.queue_pairs, by_datagrams() ? 2u : 6u) << "one an end serves all labels of datagrams";
}

TEST_P(Pings, OfSeveralPeersAreTheirOwn) {
  FakeHosts hosts{.probes = GetParam()};
  auto request = hosts.pings(7, 5);
  request.peers.push_back(request.peers[0]);  // met twice, like two
  request.specs[1].peer = request.specs[2].peer = request.specs[4].peer = 1;
  request.specs[2].count = 4;
  const auto tallies = hosts.here->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  std::map<std::uint32_t, std::uint64_t> received;
  const auto receipts = hosts.there->received(BatchId(2)).value();
  for (const datapath::ReceivedTally& receipt : receipts) received[receipt.spec] += receipt.packets;
  for (const datapath::PingTally& tally : *tallies) {
    EXPECT_EQ(tally.answered, request.specs[tally.spec].count) << tally.spec;
    EXPECT_EQ(received[tally.spec], request.specs[tally.spec].count) << tally.spec;
  }
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, ThatBothEndsPollForAreCountedAlike) {
  FakeHosts hosts{.probes = GetParam()};
  auto request = hosts.pings(20, 3);
  request.busy_poll = true;
  const auto tallies = hosts.here->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  for (const datapath::PingTally& tally : *tallies) EXPECT_EQ(tally.answered, 20u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, OverACutPathAreLostAndNothingEnds) {
  FakeHosts hosts{.probes = GetParam()};
  hosts.fake.cut(FakeHosts::kThere, 9);
  auto request = hosts.pings(20);
  request.pace.answer_wait = std::chrono::milliseconds(5);
  const auto tallies = hosts.here->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ(tallies->at(0).sent, 20u);
  EXPECT_LT(tallies->at(0).answered, 10u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, ToADeadPeerSayWhyAndThoseToOthersGoOn) {
  FakeHosts hosts{.probes = GetParam()};
  auto request = hosts.pings(5, 3);
  request.peers.push_back({PortId(99), IpAddress(IpAddress::V4{10, 0, 3, 1})});  // nobody's
  request.specs[0].peer = request.specs[2].peer = 1;
  const auto tallies = hosts.here->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_EQ(tallies->size(), 3u);
  for (const std::size_t dead : {0u, 2u}) {
    EXPECT_THAT((*tallies)[dead].refused.value_or(""), HasSubstr("its agent has gone"));
    EXPECT_EQ((*tallies)[dead].sent, 0u);
  }
  EXPECT_FALSE((*tallies)[1].refused);
  EXPECT_EQ((*tallies)[1].answered, 5u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, ThatWouldOverrunTheFarQueueAreRefusedBefore) {
  FakeHosts hosts{.probes = GetParam()};
  ConnectQps offer{.batch = BatchId(1), .kind = rdma::QpKind::unreliable, .message = Bytes(64), .depth = 64};
  offer.from.gid = rdma::gid_of(hosts.addresses[FakeHosts::kHere]);
  offer.qps.resize(150, {.qp = QpNum(17)});
  const auto refused = hosts.there->answer(FakeHosts::nic(FakeHosts::kHere), encode(QpQuestion(offer)));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("would overrun"));
  const auto fewer = hosts.here->ping(hosts.pings(1, 3), {});
  ASSERT_TRUE(fewer) << fewer.error().message;
  EXPECT_FALSE(fewer->at(0).refused) << "what was refused holds no share of the queue";
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, OfAFabricOfHundredsOfWaysAreTakenByTheFarQueue) {
  FakeHosts hosts{.probes = GetParam()};
  auto request = hosts.pings(1, 1000);
  request.pace.packets_per_second = 20'000;
  const auto tallies = hosts.here->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  std::size_t answered = 0;
  for (const datapath::PingTally& tally : *tallies) {
    ASSERT_EQ(tally.refused.value_or(""), "");
    answered += tally.answered;
  }
  EXPECT_EQ(answered, 1000u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, WhoseFarQueueOverranAreNoLossButAnErrorOfWhoShouldHaveCounted) {
  FakeHosts hosts{.probes = GetParam()};
  hosts.fake.shrink_queues(0);
  hosts.there = hosts.open(FakeHosts::kThere);
  hosts.fake.shrink_queues(1000);
  auto request = hosts.pings(3);
  request.pace.answer_wait = std::chrono::milliseconds(20);
  ASSERT_TRUE(hosts.here->ping(request, {}));
  const auto receipts = hosts.there->received(BatchId(2));
  ASSERT_FALSE(receipts) << "a count that stopped must not be taken for what arrived";
  EXPECT_THAT(receipts.error().message, HasSubstr("overran"));
  EXPECT_TRUE(hosts.here->ping(hosts.pings(3), {}).value().at(0).refused) << "nobody is left to echo";
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, OfWhoNeverSleepsAndHasNoPaceGoInTurnAndWaitForALostOne) {
  FakeHosts hosts{.probes = GetParam()};
  auto request = hosts.pings(3);
  request.busy_poll = true;
  request.pace = {.packets_per_second = 0, .answer_wait = std::chrono::seconds(5)};
  EXPECT_EQ(hosts.here->ping(request, {}).value().at(0).answered, 3u);
  EXPECT_EQ(hosts.fake.copied(), 6u) << "small ones, there and back";
  request.pace.answer_wait = std::chrono::milliseconds(20);
  hosts.fake.cut(FakeHosts::kHere);
  request.batch = BatchId(3);
  const auto began = std::chrono::steady_clock::now();
  const auto lost = hosts.here->ping(request, {});
  ASSERT_TRUE(lost) << lost.error().message;
  EXPECT_EQ(lost->at(0).sent, 3u);
  EXPECT_EQ(lost->at(0).answered, 0u);
  EXPECT_GE(std::chrono::steady_clock::now() - began, 3 * request.pace.answer_wait);
}

TEST_P(Pings, DoWithoutCopyingWhereADeviceCannot) {
  FakeHosts hosts{.probes = GetParam()};
  hosts.fake.refuse(FakeVerbs::Call::create_qp, EINVAL);
  const auto tallies = hosts.here->ping(hosts.pings(3, 2), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ((*tallies)[0].answered, 3u);
}

TEST_P(Pings, ThatTheirOwnDeviceDoesNotSendAreNoLossButAnErrorOfItsHost) {
  constexpr int kProtection = 4;  // IBV_WC_LOC_PROT_ERR
  FakeHosts hosts{.probes = GetParam()};
  hosts.fake.end_with(FakeHosts::kHere, kProtection, 3);
  const auto tallies = hosts.here->ping(hosts.pings(20, 2), {});
  ASSERT_FALSE(tallies);
  EXPECT_EQ(tallies.error().kind, ErrorKind::internal) << "not absent, which would blame the NIC";
  EXPECT_THAT(tallies.error().message, HasSubstr("local protection error (status 4)"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, ThatAreFlushedWereNeverSent) {
  constexpr int kFlushed = 5;  // IBV_WC_WR_FLUSH_ERR
  FakeHosts hosts{.probes = GetParam()};
  hosts.fake.end_with(FakeHosts::kHere, kFlushed, 3);
  auto request = hosts.pings(20);
  request.pace.answer_wait = std::chrono::seconds(5);  // ends when all that went out is answered
  const auto tallies = hosts.here->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ(tallies->at(0).sent, 3u);
  EXPECT_EQ(tallies->at(0).answered, 3u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(Pings, GiveBackWhatTheyHeldWhenACallIsRefused) {
  std::vector calls{FakeVerbs::Call::reg_mr, FakeVerbs::Call::create_cq, FakeVerbs::Call::create_qp,
                    FakeVerbs::Call::modify_qp, FakeVerbs::Call::post_send};
  if (by_datagrams()) calls.push_back(FakeVerbs::Call::create_ah);
  for (const auto call : calls) {
    FakeHosts hosts{.probes = GetParam()};
    hosts.fake.refuse(call, ENOMEM);
    EXPECT_NE(said_no(hosts.here->ping(hosts.pings(3, 2), {})), "");
    EXPECT_EQ(said_no(hosts.here->ping(hosts.pings(3, 2), {})), "");
    EXPECT_EQ(hosts.leaked(), 0u);
  }
}

}  // namespace
}  // namespace weft::verbs
