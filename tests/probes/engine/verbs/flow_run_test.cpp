// Flows over queue pairs of fake devices: what they move, how they end, and that nothing is left behind.
#include "probes/engine/verbs/flow_run.hpp"

#include <gmock/gmock.h>

#include <thread>

#include "probes/wire/flow_words.hpp"
#include "tests/fakes/flipping_buffer.hpp"
#include "tests/probes/engine/verbs/fake_hosts.hpp"

namespace weft {
namespace {

using testing::FakeVerbs;
using ::testing::HasSubstr;

Result<std::unique_ptr<TransferBuffer>> bad_memory(Bytes size) {
  auto memory = host_memory(size);
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

TEST(Flows, InWhoseReceiversMemoryAByteChangedAreSilentCorruption) {
  FakeHosts hosts;
  hosts.there = hosts.open(FakeHosts::kThere, bad_memory);
  const auto tallies = hosts.here->run(hosts.flows({50'000}), {});
  ASSERT_TRUE(tallies);
  ASSERT_TRUE(tallies->at(0).error);
  EXPECT_THAT(*tallies->at(0).error, HasSubstr(std::string(kSilentCorruption)));
}

TEST(Flows, WhosePathIsCutEndWithStatus12AndTheOthersGoOn) {
  FakeHosts hosts;
  hosts.fake.cut(FakeHosts::kThere, 20);
  const auto tallies = hosts.here->run(hosts.flows({50'000}), {});
  ASSERT_TRUE(tallies);
  EXPECT_EQ(tallies->at(0).error, "transport retry counter exceeded (status 12)");
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
  for (const FlowTally& tally : *tallies) EXPECT_THAT(tally.error.value_or(""), HasSubstr("status 12"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Flows, ToAPeerThatIsNotThereAreAnError) {
  FakeHosts hosts;
  hosts.kill_peer();
  const auto tallies = hosts.here->run(hosts.flows({50'000}), {});
  ASSERT_FALSE(tallies);
  EXPECT_THAT(tallies.error().message, HasSubstr("queue pairs to 10.0.2.1"));
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

/// Whatever is refused, at either end: the error says what, and nothing is left behind.
class RefusedFlows : public ::testing::TestWithParam<std::tuple<FakeVerbs::Call, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(
    Calls, RefusedFlows,
    ::testing::Combine(::testing::Values(FakeVerbs::Call::reg_mr, FakeVerbs::Call::create_qp,
                                         FakeVerbs::Call::modify_qp, FakeVerbs::Call::post_send),
                       ::testing::Values(0, 1, 3)));

TEST_P(RefusedFlows, AreAnErrorAndGiveBackWhatTheyHeld) {
  FakeHosts hosts;
  const auto [call, after] = GetParam();
  hosts.fake.refuse(call, ENOMEM, after);
  const auto tallies = hosts.here->run(hosts.flows({50'000, 51'000, 52'000}), {});
  if (call != FakeVerbs::Call::reg_mr || after < 2) {  // one memory at each end
    ASSERT_FALSE(tallies);
    EXPECT_THAT(tallies.error().message, HasSubstr("fake"));
  }
  const auto again = hosts.here->run(hosts.flows({53'000}), {});
  EXPECT_TRUE(again || call == FakeVerbs::Call::reg_mr) << again.error().message;
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Flows, OfAnEngineThatCouldNotOpenLeaveNothingBehind) {
  for (const auto call :
       {FakeVerbs::Call::alloc_pd, FakeVerbs::Call::create_comp_channel, FakeVerbs::Call::create_cq}) {
    const IpAddress address(IpAddress::V4{10, 0, 1, 1});
    FakeVerbs fake({address});
    fake.refuse(call, ENOMEM);
    EXPECT_FALSE(
        open_verbs_engine(fake.library(), {.address = address, .traffic = {}, .buffers = host_memory}));
    EXPECT_EQ(fake.held(), 0u);
  }
}

}  // namespace
}  // namespace weft
