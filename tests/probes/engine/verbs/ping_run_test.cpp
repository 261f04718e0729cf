// Probes over queue pairs of fake devices.
#include "probes/engine/verbs/ping_run.hpp"

#include <gmock/gmock.h>

#include "tests/probes/engine/verbs/fake_hosts.hpp"

namespace weft {
namespace {

using testing::FakeVerbs;
using ::testing::HasSubstr;

TEST(Pings, AreCountedAtBothEndsAndTimed) {
  FakeHosts hosts;
  const auto tallies = hosts.here->ping(hosts.spread_pings(3), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  ASSERT_EQ(tallies->size(), 3u);
  for (const PingTally& tally : *tallies) {
    EXPECT_EQ(tally.sent, 100u);
    EXPECT_EQ(tally.answered, 100u);
    EXPECT_TRUE(tally.rtt && tally.delays);
  }
  const auto receipts = hosts.there->received(BatchId(2)).value();
  ASSERT_EQ(receipts.size(), 3u);
  for (const ReceivedTally& receipt : receipts) EXPECT_EQ(receipt.packets, 100u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Pings, ThatBothEndsPollForAreCountedAlike) {
  FakeHosts hosts;
  auto request = hosts.pings(20, 3);
  request.busy_poll = true;
  const auto tallies = hosts.here->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  for (const PingTally& tally : *tallies) EXPECT_EQ(tally.answered, 20u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Pings, OverACutPathAreLostAndNothingEnds) {
  FakeHosts hosts;
  hosts.fake.cut(FakeHosts::kThere, 9);
  auto request = hosts.pings(20);
  request.pace.answer_wait = std::chrono::milliseconds(5);
  const auto tallies = hosts.here->ping(request, {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ(tallies->at(0).sent, 20u);
  EXPECT_LT(tallies->at(0).answered, 10u);
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Pings, ToADeadPeerAreAnErrorThatNamesIt) {
  FakeHosts hosts;
  hosts.kill_peer();
  const auto tallies = hosts.here->ping(hosts.pings(5), {});
  ASSERT_FALSE(tallies);
  EXPECT_THAT(tallies.error().message, HasSubstr("queue pairs to 10.0.2.1"));
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Pings, ThatWouldOverrunTheFarQueueAreRefusedBefore) {
  FakeHosts hosts;
  const auto tallies = hosts.here->ping(hosts.pings(1, 150), {});
  ASSERT_FALSE(tallies);
  EXPECT_THAT(tallies.error().message, HasSubstr("would overrun"));
  EXPECT_TRUE(hosts.here->ping(hosts.pings(1, 3), {})) << "what was refused holds no share of the queue";
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Pings, WhoseFarQueueOverranAreNoLossButAnErrorOfWhoShouldHaveCounted) {
  FakeHosts hosts;
  hosts.fake.shrink_queues(0);
  hosts.there = hosts.open(FakeHosts::kThere);
  hosts.fake.shrink_queues(1000);
  auto request = hosts.pings(3);
  request.pace.answer_wait = std::chrono::milliseconds(20);
  ASSERT_TRUE(hosts.here->ping(request, {}));
  const auto receipts = hosts.there->received(BatchId(2));
  ASSERT_FALSE(receipts) << "a count that stopped must not be taken for what arrived";
  EXPECT_THAT(receipts.error().message, HasSubstr("overran"));
  EXPECT_FALSE(hosts.here->ping(hosts.pings(3), {})) << "nobody is left to echo";
  EXPECT_EQ(hosts.leaked(), 0u);
}

TEST(Pings, OfWhoNeverSleepsAndHasNoPaceGoInTurnAndWaitForALostOne) {
  FakeHosts hosts;
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

TEST(Pings, DoWithoutCopyingWhereADeviceCannot) {
  FakeHosts hosts;
  hosts.fake.refuse(FakeVerbs::Call::create_qp, EINVAL);
  const auto tallies = hosts.here->ping(hosts.pings(3, 2), {});
  ASSERT_TRUE(tallies) << tallies.error().message;
  EXPECT_EQ((*tallies)[0].answered, 3u);
}

TEST(Pings, GiveBackWhatTheyHeldWhenACallIsRefused) {
  for (const auto call : {FakeVerbs::Call::reg_mr, FakeVerbs::Call::create_cq, FakeVerbs::Call::create_qp,
                          FakeVerbs::Call::modify_qp, FakeVerbs::Call::post_send}) {
    FakeHosts hosts;
    hosts.fake.refuse(call, ENOMEM);
    EXPECT_FALSE(hosts.here->ping(hosts.pings(3, 2), {}));
    EXPECT_TRUE(hosts.here->ping(hosts.pings(3, 2), {}));
    EXPECT_EQ(hosts.leaked(), 0u);
  }
}

}  // namespace
}  // namespace weft
