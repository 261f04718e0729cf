// Transfers over queue pairs of fake devices: every packet is delivered, by the labels given, within the
// window; what goes wrong costs its own spec and is told.
#include "probes/engine/verbs/transfer_run.hpp"

#include <gmock/gmock.h>

#include "probes/packet/roce.hpp"
#include "tests/fakes/flipping_buffer.hpp"
#include "tests/probes/engine/verbs/fake_hosts.hpp"

namespace weft::verbs {
namespace {

using fakes::FakeVerbs;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr PortId kNobody(99);

datapath::TransferRequest transfers(const FakeHosts& hosts, const std::vector<std::uint32_t>& packets) {
  datapath::TransferRequest request{
      .run = RunId(1),
      .batch = BatchId(3),
      .peers = {{FakeHosts::nic(FakeHosts::kThere), hosts.addresses[FakeHosts::kThere]}}};
  for (std::uint32_t i = 0; i < packets.size(); ++i)
    request.specs.push_back({0, PathLabel(50'000 + i), PathLabel(60'000 + i), packets[i]});
  return request;
}

FakeVerbs::Marks by(std::uint16_t port) { return {.flow_label = packet::flow_label_for(UdpPort(port))}; }

TEST(Transfers, DeliverEveryPacketAndTheReceiverSaysSo) {
  FakeHosts hosts;
  const auto tallies = hosts.here->transfer(transfers(hosts, {300, 40, 1, 0}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_EQ(tallies->size(), 4u);
  const auto receipts = hosts.there->received(BatchId(3)).value();
  ASSERT_EQ(receipts.size(), 4u);
  constexpr std::uint64_t kWanted[] = {300, 40, 1, 0};
  for (std::uint32_t i = 0; i < 4; ++i) {
    const datapath::TransferTally& tally = (*tallies)[i];
    EXPECT_EQ(tally.spec, i);
    EXPECT_EQ(tally.sent, kWanted[i]);
    EXPECT_EQ(tally.delivered, kWanted[i]);
    EXPECT_FALSE(tally.error) << *tally.error;
    EXPECT_EQ(tally.elapsed > Nanoseconds(0), kWanted[i] > 0);
    EXPECT_EQ(tally.first.has_value(), kWanted[i] > 0);
    EXPECT_GE(tally.took.value(), tally.elapsed);
    EXPECT_EQ(receipts[i].from, FakeHosts::nic(FakeHosts::kHere));
    EXPECT_EQ(receipts[i].packets, kWanted[i]);
    EXPECT_EQ(receipts[i].bytes, kWanted[i] * 4092) << "IP packets: the payload is a multiple of 16 bytes";
  }
  EXPECT_EQ(hosts.fake.messages(), 341u) << "a packet each";
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Transfers, GoByTheirLabelsAndAreAcknowledgedByThoseOfTheWayBack) {
  FakeHosts hosts;
  const auto seen = hosts.seen_during([&] {
    (void)hosts.here->transfer(transfers(hosts, {20'000, 20'000}), {});
  });
  EXPECT_THAT(seen.marks, UnorderedElementsAre(by(50'000), by(50'001), by(60'000), by(60'001)));
}

TEST(Transfers, HaveNoMoreThanTheWindowUnderWay) {
  FakeHosts hosts;
  auto request = transfers(hosts, {100, 10});
  request.window = 6;
  hosts.fake.shrink_queues(6);  // a seventh that is done and not looked at overruns the queue
  const auto tallies = hosts.here->transfer(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ(tallies->at(0).delivered, 100u);
  // Three at a time, then six: where every look finds a whole window done, 4 and 15 calls.
  EXPECT_GE(hosts.fake.doorbells(), 4u + 15u);
}

TEST(Transfers, MayHaveOnePacketEachUnderWayHoweverSmallTheWindow) {
  FakeHosts hosts;
  auto request = transfers(hosts, {5, 5, 5});
  request.window = 1;
  const auto tallies = hosts.here->transfer(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  for (const datapath::TransferTally& tally : *tallies) EXPECT_EQ(tally.delivered, 5u);
}

TEST(Transfers, OfManySpecsAskThePeerForABoundedAmountOfMemory) {
  FakeHosts hosts;
  std::uint64_t places = 0;
  hosts.exchange.ask_falsely(FakeHosts::nic(FakeHosts::kHere), [&](const std::string& truth) {
    const auto question = decode_qp_question(truth).value();
    if (const auto* offer = std::get_if<ConnectQps>(&question)) places = offer->qps.size() * offer->depth;
    return truth;
  });
  auto request = transfers(hosts, std::vector<std::uint32_t>(600, 2));
  request.window = 100'000;
  const auto tallies = hosts.here->transfer(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  for (const datapath::TransferTally& tally : *tallies) EXPECT_EQ(tally.delivered, 2u);
  EXPECT_GT(places, 600u);
  EXPECT_LE(places, 4096u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Transfers, WhosePathIsCutSayHowTheirQueuePairBroke) {
  FakeHosts hosts;
  hosts.fake.cut(FakeHosts::kThere, 20);
  const auto tallies = hosts.here->transfer(transfers(hosts, {100, 100}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  std::uint64_t delivered = 0;
  for (const datapath::TransferTally& tally : *tallies) {
    delivered += tally.delivered;
    EXPECT_GE(tally.sent, tally.delivered);
    EXPECT_EQ(tally.error, "transport retry counter exceeded (status 12)");
  }
  EXPECT_EQ(delivered, 20u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Transfers, ToAPeerThatIsNotThereSayWhyAndThoseToOthersAreDelivered) {
  FakeHosts hosts;
  auto request = transfers(hosts, {30, 30});
  request.peers.push_back({kNobody, IpAddress(IpAddress::V4{10, 0, 3, 1})});
  request.specs[0].peer = 1;
  const auto tallies = hosts.here->transfer(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_THAT(tallies->at(0).error.value_or(""), HasSubstr("its agent has gone"));
  EXPECT_EQ(tallies->at(0).sent, 0u);
  EXPECT_EQ(tallies->at(1).delivered, 30u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Transfers, ToAPeerThatAnswersTooLateLeaveItNoQueuePairs) {
  FakeHosts hosts;
  hosts.exchange.delay_answers(FakeHosts::nic(FakeHosts::kThere));
  const auto tallies = hosts.here->transfer(transfers(hosts, {30}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ(tallies->at(0).error, "no answer in time");
  EXPECT_EQ(hosts.fake.queue_pairs(), 0u);
}

TEST(Transfers, OfAnswersThatCannotBeReadLeaveThePeerNoQueuePairs) {
  FakeHosts hosts;
  hosts.exchange.answer_falsely(FakeHosts::nic(FakeHosts::kThere), [](const std::string&) { return "{"; });
  const auto tallies = hosts.here->transfer(transfers(hosts, {30}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_TRUE(tallies->at(0).error);
  EXPECT_EQ(hosts.fake.queue_pairs(), 0u);
}

TEST(Transfers, OneWhoseWorkTheDeviceDoesNotTakeEndsAloneAndSaysWhy) {
  FakeHosts hosts;
  hosts.fake.refuse(FakeVerbs::Call::post_send, EIO);
  const auto tallies = hosts.here->transfer(transfers(hosts, {5, 5, 5}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_THAT(tallies->at(0).error.value_or(""), HasSubstr("fake0: work is refused"));
  EXPECT_EQ(tallies->at(0).delivered, 0u);
  EXPECT_EQ(tallies->at(0).sent, 0u);
  for (const std::size_t other : {1, 2}) {
    EXPECT_FALSE(tallies->at(other).error);
    EXPECT_EQ(tallies->at(other).delivered, 5u);
  }
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Transfers, ToAPeerThatSaysItIsElsewhereAreNotSent) {
  FakeHosts hosts;
  hosts.exchange.answer_falsely(FakeHosts::nic(FakeHosts::kThere), [&](const std::string& truth) {
    auto answer = decode_qps_connected(truth);
    if (!answer) return truth;
    answer->from.gid = rdma::gid_of(IpAddress(IpAddress::V4{192, 0, 2, 1}));
    return encode(*answer);
  });
  const auto tallies = hosts.here->transfer(transfers(hosts, {30}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_THAT(tallies->at(0).error.value_or(""),
              HasSubstr("its agent says that its queue pairs are at GID ::ffff:192.0.2.1"));
  EXPECT_EQ(hosts.fake.messages(), 0u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Transfers, OfWhomANicIsAskedForAnotherAreRefusedThereToo) {
  FakeHosts hosts;
  hosts.exchange.ask_falsely(FakeHosts::nic(FakeHosts::kHere), [&](const std::string& truth) {
    auto question = decode_qp_question(truth).value();
    if (auto* offer = std::get_if<ConnectQps>(&question))
      offer->from.gid = rdma::gid_of(IpAddress(IpAddress::V4{192, 0, 2, 1}));
    return encode(question);
  });
  const auto tallies = hosts.here->transfer(transfers(hosts, {30}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_THAT(tallies->at(0).error.value_or(""), HasSubstr("refused: NIC 10 of this run is 10.0.1.1"));
  EXPECT_EQ(hosts.fake.messages(), 0u);
}

TEST(Transfers, WhoseBytesChangeInMemoryAreDeliveredAndToldOf) {
  FakeHosts hosts;
  hosts.there =
      hosts.open(FakeHosts::kThere, [](Bytes size) -> Result<std::unique_ptr<packet::TransferBuffer>> {
        WEFT_TRY(auto memory, run::host_memory(size));
        return std::make_unique<FlippingBuffer>(std::move(memory));
      });
  const auto tallies = hosts.here->transfer(transfers(hosts, {30}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ(tallies->at(0).delivered, 30u);
  EXPECT_THAT(tallies->at(0).error.value_or(""), HasSubstr("silent corruption"));
}

TEST(Transfers, EndWithTheirLimitAndWhenTheyAreStopped) {
  FakeHosts hosts;
  auto request = transfers(hosts, {1'000'000});
  request.limit = Nanoseconds(0);
  const auto late = hosts.here->transfer(request, {});
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(late->at(0).delivered, 0u);
  EXPECT_FALSE(late->at(0).error);
  request.limit = std::chrono::seconds(30);
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = hosts.here->transfer(request, stop.get_token());
  ASSERT_TRUE(stopped) << stopped.error().message;
  EXPECT_EQ(stopped->at(0).delivered, 0u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Transfers, ThatMakeNoSenseAreRefused) {
  FakeHosts hosts;
  const auto refusal = [&](const datapath::TransferRequest& request) {
    const auto tallies = hosts.here->transfer(request, {});
    return tallies ? "taken" : tallies.error().message;
  };
  auto request = transfers(hosts, {10});
  request.window = 0;
  EXPECT_THAT(refusal(request), HasSubstr("a window of one and more"));
  request = transfers(hosts, {10});
  request.specs[0].peer = 1;
  EXPECT_THAT(refusal(request), HasSubstr("spec 0: peer 1 of 1"));
  request = transfers(hosts, std::vector<std::uint32_t>(4097, 1));
  EXPECT_THAT(refusal(request), HasSubstr("4097 QPs in one request"));
  request = transfers(hosts, {10});
  request.specs[0].label = PathLabel(70'000);
  EXPECT_THAT(refusal(request), HasSubstr("label 70000 is no UDP port"));
  EXPECT_EQ(refusal(transfers(hosts, {})), "taken");
  EXPECT_EQ(hosts.leaked(), 0u);
}

/// Whatever is refused, at either end: it is told, and nothing is left behind.
class RefusedTransfers : public ::testing::TestWithParam<std::tuple<FakeVerbs::Call, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(Calls, RefusedTransfers,
                         ::testing::Combine(::testing::Values(FakeVerbs::Call::create_qp,
                                                              FakeVerbs::Call::modify_qp,
                                                              FakeVerbs::Call::post_send),
                                            ::testing::Values(0, 1, 3)));

TEST_P(RefusedTransfers, AreToldOfAndGiveBackWhatTheyHeld) {
  FakeHosts hosts;
  const auto [call, after] = GetParam();
  hosts.fake.refuse(call, ENOMEM, after);
  const auto tallies = hosts.here->transfer(transfers(hosts, {50, 50, 50}), {});
  std::string told = tallies ? "" : tallies.error().message;
  for (std::size_t i = 0; tallies && i < tallies->size(); ++i) told += tallies->at(i).error.value_or("");
  EXPECT_THAT(told, HasSubstr("fake"));
  EXPECT_TRUE(hosts.here->transfer(transfers(hosts, {5}), {}));
  EXPECT_EQ(hosts.leaked(), 0u);
}

}  // namespace
}  // namespace weft::verbs
