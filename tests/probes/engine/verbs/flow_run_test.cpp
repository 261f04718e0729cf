// Flows over queue pairs of fake devices: what they move, how they end, and that nothing is left behind.
#include "probes/engine/verbs/flow_run.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "tests/fakes/flipping_buffer.hpp"
#include "tests/probes/engine/verbs/fake_hosts.hpp"

namespace weft::verbs {
namespace {

using fakes::FakeVerbs;
using ::testing::HasSubstr;

Result<std::unique_ptr<packet::TransferBuffer>> bad_memory(Bytes size) {
  auto memory = run::host_memory(size);
  if (!memory) return pass_on(memory);
  return std::make_unique<FlippingBuffer>(std::move(*memory));
}

TEST(Flows, MoveWhatTheyOfferAndTheReceiverSaysSo) {
  FakeHosts hosts;
  const auto tallies = hosts.here->run(hosts.flows({50'000, 51'000}), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_EQ(tallies->size(), 2u);
  const auto receipts = hosts.there->received(BatchId(1)).value();
  ASSERT_EQ(receipts.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_FALSE((*tallies)[i].error);
    EXPECT_GT((*tallies)[i].packets, 0u);
    EXPECT_EQ(receipts[i].from, FakeHosts::nic(FakeHosts::kHere));
    EXPECT_GT(receipts[i].packets, 0u);
    EXPECT_LE(receipts[i].packets, (*tallies)[i].packets);
  }
  EXPECT_EQ(hosts.leaked(), 0u);
}

class FlowsBy : public ::testing::TestWithParam<FlowOperation> {};
INSTANTIATE_TEST_SUITE_P(Operations, FlowsBy, every_operation(), name_of_operation);

TEST_P(FlowsBy, MoveAVolumeToWhoReceivesWhoCountsIt) {
  FakeHosts hosts;
  auto request = hosts.flows({50'000, 51'000}, Bandwidth::gbit(10));
  request.duration = std::chrono::seconds(20);
  request.flow_options = {
      .operation = GetParam(), .message = Bytes(16'384), .depth = 4, .volume = Bytes(1 << 20)};
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  const bool reads = GetParam() == FlowOperation::read;
  const auto receipts = (reads ? hosts.here : hosts.there)->received(BatchId(1)).value();
  ASSERT_EQ(receipts.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const datapath::FlowTally& tally = (*tallies)[i];
    EXPECT_FALSE(tally.error) << *tally.error;
    ASSERT_TRUE(tally.measure);
    const std::uint64_t each = 4 * (4096 + 44) + (GetParam() == FlowOperation::write ? 16 : reads ? 8 : 0);
    const std::uint64_t messages = ((1 << 20) + each - 1) / each;
    EXPECT_GE(tally.measure->messages.count(), messages / 2) << "two of four are timed, or more";
    EXPECT_EQ(tally.measure->bytes, messages * each);
    EXPECT_EQ(receipts[i].bytes, messages * each);
    EXPECT_EQ(receipts[i].packets, messages * 4);
    EXPECT_EQ(receipts[i].from, FakeHosts::nic(reads ? FakeHosts::kThere : FakeHosts::kHere));
    EXPECT_LT(tally.elapsed, std::chrono::seconds(15)) << "it ends with its volume";
  }
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(FlowsBy, WhereAReceivedByteChangesAreSilentCorruption) {
  FakeHosts hosts;
  const auto receiver = GetParam() == FlowOperation::read ? FakeHosts::kHere : FakeHosts::kThere;
  (receiver == FakeHosts::kHere ? hosts.here : hosts.there) = hosts.open(receiver, bad_memory);
  auto request = hosts.flows({50'000});
  request.flow_options.operation = GetParam();
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_TRUE(tallies->at(0).corrupted);
  EXPECT_THAT(tallies->at(0).error.value_or(""), HasSubstr("silent corruption"));
}

TEST(Flows, DoNotAllStartAtOnce) {
  FakeHosts hosts;
  auto request = hosts.flows({50'000, 51'000, 52'000, 53'000}, Bandwidth::mbit(0.16));  // one in 205 ms
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  for (const std::size_t spec : {0u, 1u, 2u, 3u})
    EXPECT_EQ((*tallies)[spec].packets, spec == 0 ? 1u : 0u) << "30 ms of it: the first flow's turn";
}

TEST(Flows, LeaveTheirWarmUpOutOfAllFigures) {
  FakeHosts hosts;
  auto request = hosts.flows({50'000}, Bandwidth::mbit(40));
  request.duration = std::chrono::seconds(20);
  request.flow_options.warm_up = std::chrono::milliseconds(100);
  request.flow_options.volume = Bytes(40'920);  // ten messages
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ(tallies->at(0).measure->packets, 10u);
  EXPECT_LE(tallies->at(0).measure->messages.count(), 10u);
  EXPECT_EQ(hosts.fake.copied(), 0u) << "the memory of flows may be a GPU's";
  EXPECT_EQ(tallies->at(0).packets, 10u);
  EXPECT_GT(hosts.fake.messages(), 20u) << "the warm-up is sent too";
  EXPECT_EQ(hosts.there->received(BatchId(1)).value().at(0).packets, 10u);
}

TEST(Flows, ThatAreDueTogetherArePostedWithOneCall) {
  FakeHosts hosts;
  auto request = hosts.flows({50'000}, Bandwidth::gbit(1e9));
  request.flow_options.volume = Bytes(8 * 4096 * 20);  // without a pace: always as many as may be under way
  const auto before = hosts.fake.doorbells();
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies);
  // A device so busy that it ends one message at a time gets the next one alone; the first bunch is one call
  // anyway.
  EXPECT_LT(hosts.fake.doorbells() - before, tallies->at(0).measure->messages.count());
}

TEST(Flows, WithoutARateAreRefused) {
  FakeHosts hosts;
  EXPECT_FALSE(hosts.here->run(hosts.flows({50'000}, Bandwidth()), {}));
}

TEST(Flows, WhosePathIsCutEndWithStatus12) {
  FakeHosts hosts;
  hosts.fake.cut(FakeHosts::kThere, 20);
  const auto tallies = hosts.here->run(hosts.flows({50'000}), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ(tallies->at(0).error, "transport retry counter exceeded (status 12)");
  EXPECT_FALSE(tallies->at(0).of_sender);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Flows, WhosePeerDiesEndWithTheReasonAndLeaveNothingBehind) {
  FakeHosts hosts;
  auto request = hosts.flows({50'000, 51'000});
  request.duration = std::chrono::milliseconds(200);
  std::jthread killer([&] {
    while (hosts.fake.messages() < 20) std::this_thread::yield();
    hosts.kill_peer();
  });
  const auto tallies = hosts.here->run(request, {});
  killer.join();
  ASSERT_TRUE(tallies);
  for (const datapath::FlowTally& tally : *tallies)
    EXPECT_THAT(tally.error.value_or(""), HasSubstr("status 12"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(FlowsBy, ToAPeerThatIsNotThereSayWhyAndThoseToOthersGoOn) {
  FakeHosts hosts;
  auto request = hosts.flows({50'000, 51'000, 0}, Bandwidth::gbit(1));
  request.peers.push_back({PortId(99), IpAddress(IpAddress::V4{10, 0, 3, 1})});  // nobody's
  request.specs[0].peer = request.specs[2].peer = 1;
  request.specs[0].then = PathLabel(52'000);
  request.specs[2].label = std::nullopt;
  request.duration = std::chrono::seconds(20);
  request.flow_options.operation = GetParam();
  request.flow_options.volume = Bytes(40'000);
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_EQ(tallies->size(), 3u);
  for (const std::size_t dead : {0u, 2u})
    EXPECT_THAT((*tallies)[dead].refused.value_or(""), HasSubstr("its agent has gone"));
  EXPECT_FALSE((*tallies)[1].refused);
  EXPECT_GE((*tallies)[1].measure.value().bytes, 40'000u);
  EXPECT_LT((*tallies)[1].elapsed, std::chrono::seconds(15)) << "it ends with its volume";
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Flows, WhoseCompletionQueueOverrunsAreAnErrorThatSaysSo) {
  FakeHosts hosts;
  hosts.fake.shrink_queues(1);
  const auto tallies = hosts.here->run(hosts.flows({50'000, 51'000, 52'000}, Bandwidth::gbit(10)), {});
  ASSERT_FALSE(tallies);
  EXPECT_THAT(tallies.error().message, HasSubstr("overran"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(FlowsBy, WhoseWorkTheirOwnDeviceRefusesEndAloneAsTroubleOfTheSender) {
  FakeHosts hosts;
  auto request = hosts.flows({50'000, 51'000, 52'000}, Bandwidth::gbit(1));
  request.flow_options.operation = GetParam();
  hosts.fake.refuse(FakeVerbs::Call::post_send, EINVAL, 7);
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  int refused = 0;
  for (const datapath::FlowTally& tally : *tallies) {
    EXPECT_EQ(tally.of_sender, tally.error.has_value());
    refused += tally.of_sender ? 1 : 0;
    if (!tally.error) continue;
    EXPECT_THAT(*tally.error, HasSubstr("fake0: work is refused: Invalid argument"));
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST_P(FlowsBy, WhoseWorkTheirOwnDeviceFailsAtSayThatTheTroubleIsTheSenders) {
  constexpr int kProtection = 4;  // IBV_WC_LOC_PROT_ERR
  FakeHosts hosts;
  auto request = hosts.flows({50'000}, Bandwidth::gbit(1));
  request.flow_options.operation = GetParam();
  hosts.fake.end_with(FakeHosts::kHere, kProtection, 5);
  const auto tallies = hosts.here->run(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_TRUE(tallies->at(0).of_sender);
  EXPECT_THAT(tallies->at(0).error.value_or(""), HasSubstr("local protection error (status 4)"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

/// Whatever is refused, at either end: the error says what, and nothing is left behind.
class RefusedFlows : public ::testing::TestWithParam<std::tuple<FakeVerbs::Call, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(Calls, RefusedFlows,
                         ::testing::Combine(::testing::Values(FakeVerbs::Call::reg_mr,
                                                              FakeVerbs::Call::create_qp,
                                                              FakeVerbs::Call::modify_qp),
                                            ::testing::Values(0, 1, 3)));

TEST_P(RefusedFlows, AreAnErrorAndGiveBackWhatTheyHeld) {
  FakeHosts hosts;
  const auto [call, after] = GetParam();
  hosts.fake.refuse(call, ENOMEM, after);
  const auto tallies = hosts.here->run(hosts.flows({50'000, 51'000, 52'000}), {});
  const bool met = call != FakeVerbs::Call::reg_mr || after < 2;  // one memory at each end
  EXPECT_THAT(said_no(tallies), HasSubstr(met ? "fake" : ""));
  const auto again = hosts.here->run(hosts.flows({53'000}), {});
  EXPECT_TRUE(again || call == FakeVerbs::Call::reg_mr) << again.error().message;
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Flows, ForWhichNoMemoryIsLeftAtEitherEndAreAnErrorThatSaysSo) {
  const auto no_memory = [](Bytes size) -> Result<std::unique_ptr<packet::TransferBuffer>> {
    if (size <= Bytes(4096)) return run::host_memory(size);  // enough for an engine to open
    return fail(ErrorKind::absent, "no {} of memory are left", to_string(size));
  };
  for (const std::size_t host : {FakeHosts::kHere, FakeHosts::kThere}) {
    FakeHosts hosts;
    (host == FakeHosts::kHere ? hosts.here : hosts.there) = hosts.open(host, no_memory);
    const auto tallies = hosts.here->run(hosts.flows({50'000}), {});
    EXPECT_EQ(tallies.has_value(), host == FakeHosts::kThere) << "what the peer lacks is no error of ours";
    EXPECT_THAT(said_no(tallies), HasSubstr("of memory are left"));
    EXPECT_EQ(hosts.leaked(), 0u);
  }
}

TEST(Flows, OfAnEngineThatCouldNotOpenLeaveNothingBehind) {
  for (const auto call :
       {FakeVerbs::Call::alloc_pd, FakeVerbs::Call::create_comp_channel, FakeVerbs::Call::create_cq}) {
    const IpAddress address(IpAddress::V4{10, 0, 1, 1});
    FakeVerbs fake({address});
    fake.refuse(call, ENOMEM);
    EXPECT_FALSE(open_verbs_engine(
        fake.library(),
        {.gid = {address, ""}, .traffic = {}, .memory = {run::host_memory, run::host_memory}}));
    EXPECT_EQ(fake.held(), 0u);
  }
}

}  // namespace
}  // namespace weft::verbs
