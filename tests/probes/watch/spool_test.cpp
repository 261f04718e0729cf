#include "probes/watch/spool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/watch/window.hpp"
#include "tests/fakes/fake_watch_bus.hpp"

namespace weft::watch {
namespace {

using fakes::FakeWatchBus;

std::vector<std::byte> window_of(std::size_t size, std::uint64_t number) {
  std::vector<std::byte> bytes(size);
  store_be64(MutableByteSpan(bytes), 0, number);
  return bytes;
}

class SpoolTest : public ::testing::Test {
 protected:
  void add(Spool& spool, int windows, std::size_t size = 100) {
    for (; windows > 0; --windows) spool.add(window_of(size, spool.next_number()));
  }
  std::vector<std::uint64_t> kept() const {
    std::vector<std::uint64_t> numbers;
    for (const auto& window : bus.windows()) numbers.push_back(load_be64(window.bytes, 0));
    return numbers;
  }
  FakeWatchBus bus;
  std::unique_ptr<AgentLink> link = bus.agent("host1");
};

TEST_F(SpoolTest, WindowsGoInOrderAndAreForgottenWhenAcknowledged) {
  Spool spool(7);
  add(spool, 3);
  spool.serve(*link);
  spool.serve(*link);
  EXPECT_THAT(kept(), ::testing::ElementsAre(0, 1, 2));
  EXPECT_EQ(spool.waiting(), 0u);
}

TEST_F(SpoolTest, WhileTheBusIsAwayTheyWait) {
  Spool spool(7);
  bus.set_away(true);
  add(spool, 5);
  spool.serve(*link);
  EXPECT_EQ(spool.waiting(), 5u);
  bus.set_away(false);
  spool.serve(*link);
  spool.serve(*link);
  EXPECT_THAT(kept(), ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(spool.waiting(), 0u);
}

TEST_F(SpoolTest, WhatIsNotAcknowledgedIsSentAgain) {
  Spool spool(7);
  int asked = 0;
  bus.answers = [&](const auto&, MessageId) {
    return ++asked == 2 ? FakeWatchBus::Answer::refuses : FakeWatchBus::Answer::acknowledges;
  };
  add(spool, 3);
  for (int i = 0; i < 3; ++i) spool.serve(*link);
  EXPECT_THAT(kept(), ::testing::ElementsAre(0, 2, 1));
  EXPECT_EQ(spool.waiting(), 0u);
}

TEST_F(SpoolTest, AFullSpoolDropsTheOldestAndCountsThem) {
  Spool spool(7, {.windows = 4});
  bus.set_away(true);
  add(spool, 10);
  EXPECT_EQ(spool.waiting(), 4u);
  EXPECT_EQ(spool.dropped(), 6u);
  bus.set_away(false);
  spool.serve(*link);
  EXPECT_THAT(kept(), ::testing::ElementsAre(6, 7, 8, 9));
}

TEST_F(SpoolTest, BytesAreBoundedToo) {
  Spool spool(7, {.bytes = 1000});
  bus.set_away(true);
  add(spool, 10, 300);
  EXPECT_EQ(spool.waiting(), 3u);
  EXPECT_EQ(spool.dropped(), 7u);
}

TEST_F(SpoolTest, NoMoreThanAllowedAreUnderWay) {
  Spool spool(7, {.under_way = 2});
  bus.answers = [](const auto&, MessageId) { return FakeWatchBus::Answer::holds; };
  add(spool, 5);
  spool.serve(*link);
  EXPECT_EQ(bus.windows().size(), 2u);
  for (int i = 0; i < 3; ++i) {
    bus.acknowledge_held();
    spool.serve(*link);
  }
  EXPECT_EQ(bus.windows().size(), 5u);
}

TEST_F(SpoolTest, OneThatMadeRoomUnderWayIsNoTroubleWhenAcknowledged) {
  Spool spool(7, {.windows = 2, .under_way = 2});
  bus.answers = [](const auto&, MessageId) { return FakeWatchBus::Answer::holds; };
  add(spool, 2);
  spool.serve(*link);
  add(spool, 2);
  bus.acknowledge_held();
  for (int i = 0; i < 3; ++i) {
    spool.serve(*link);
    bus.acknowledge_held();
  }
  spool.serve(*link);
  EXPECT_EQ(spool.waiting(), 0u);
  EXPECT_THAT(kept(), ::testing::ElementsAre(0, 1, 2, 3));
}

TEST_F(SpoolTest, AWindowTooLargeForTheBusIsAGap) {
  Spool spool(7);
  add(spool, 1, kMaxWindowBytes + 1);
  add(spool, 1);
  spool.serve(*link);
  EXPECT_THAT(kept(), ::testing::ElementsAre(1));
  EXPECT_EQ(spool.dropped(), 1u);
}

}  // namespace
}  // namespace weft::watch
