#include "balancer/nccl/profile_recorder.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <thread>

namespace weft::nccl {
namespace {

using testing::ElementsAre;

struct Recorded {
  std::unique_ptr<ProfileRecorder> recorder = std::make_unique<ProfileRecorder>();
  void* communicator = recorder->open({});

  void* collective(std::uint64_t sequence = 0) {
    return recorder->start_collective(communicator, {.sequence = sequence}, 1, 0);
  }
  std::vector<ProfileRecord> take() {
    std::vector<ProfileRecord> all;
    for (ProfileRecord record; recorder->take(record);) all.push_back(record);
    return all;
  }
};

TEST(ProfileRecorder, SplitsTheTimeOfAStepByWhatItWaitedFor) {
  Recorded here;
  void* const operation = here.recorder->start_operation(here.collective(), 3, 5, true, 100);
  void* const step = here.recorder->start_step(operation, 0, 110);
  here.recorder->step_waits(step, ProxyWait::gpu, 0, 120);
  here.recorder->step_waits(step, ProxyWait::peer, 0, 150);
  here.recorder->step_waits(step, ProxyWait::peer, 0, 170);  // tried again: still the same wait
  here.recorder->step_waits(step, ProxyWait::network, 4096, 190);
  here.recorder->stop(step, 240);
  here.recorder->stop(operation, 300);
  const auto records = here.take();
  ASSERT_EQ(records.size(), 2u);
  const ProfiledOperation& told = records[1].operation;
  EXPECT_THAT(told.waited, ElementsAre(10, 30, 40, 50, 0, 0));
  EXPECT_EQ(told.took, 200u);
  EXPECT_EQ(told.bytes, 4096u);
  EXPECT_EQ(told.steps, 1u);
  EXPECT_EQ(told.peer, 3);
  EXPECT_EQ(told.channel, 5);
  EXPECT_TRUE(told.sends);
  EXPECT_EQ(records[1].serial, records[0].serial);
}

TEST(ProfileRecorder, TellsWhatTheStepsOfEachQueuePairWaitedForTheNetwork) {
  Recorded here;
  void* const operation = here.recorder->start_operation(here.collective(), 3, 5, true, 100);
  const auto step = [&](int number, std::optional<std::uint32_t> qp, std::uint64_t waits) {
    void* const made = here.recorder->start_step(operation, number, 1000);
    here.recorder->step_waits(made, ProxyWait::peer, 0, 1000);
    here.recorder->step_waits(made, ProxyWait::network, 8, 1000, qp);
    here.recorder->stop(made, 1000 + waits);
  };
  step(0, 17, 10);
  step(1, 18, 500);
  step(2, 17, 20);
  step(3, std::nullopt, 7);  // several carried it, or none that is known
  for (const std::uint32_t more : {19, 20, 21}) step(4, more, 1);  // of these the last finds no room
  here.recorder->stop(operation, 3000);
  const auto taken = here.take();
  const auto& qps = taken[1].operation.qps;
  EXPECT_EQ(qps[0].number, 17u);
  EXPECT_EQ(qps[0].steps, 2u);
  EXPECT_EQ(qps[0].waited, 30u);
  EXPECT_EQ(qps[1].number, 18u);
  EXPECT_EQ(qps[1].waited, 500u);
  EXPECT_EQ(qps[3].number, 20u);
}

TEST(ProfileRecorder, KeepsTheStepsUnderWayApart) {
  Recorded here;
  void* const operation = here.recorder->start_operation(here.collective(), 1, 0, false, 1);
  std::vector<void*> steps;
  for (int i = 0; i < 8; ++i) {
    steps.push_back(here.recorder->start_step(operation, 16 + i, 1));
    here.recorder->step_waits(steps.back(), ProxyWait::data, 0, 1);
  }
  for (std::uint64_t i = 0; i < 8; ++i) here.recorder->stop(steps[i], 10 * (i + 1));
  here.recorder->stop(operation, 100);
  EXPECT_EQ(here.take()[1].operation.waited[static_cast<std::size_t>(ProxyWait::data)],
            9u + 19 + 29 + 39 + 49 + 59 + 69 + 79);
}

TEST(ProfileRecorder, TellsWhatAnOperationWaitsForNow) {
  Recorded here;
  void* const operation = here.recorder->start_operation(here.collective(), -7, 2, true, 0);
  void* const first = here.recorder->start_step(operation, 0, 1);
  void* const second = here.recorder->start_step(operation, 1, 1);
  here.recorder->step_waits(second, ProxyWait::gpu, 0, 30);
  here.recorder->step_waits(first, ProxyWait::network, 0, 20);
  const auto waiting = [&](std::uint64_t before) {
    std::vector<WaitingOperation> all;
    here.recorder->visit_waiting(before, [&](const WaitingOperation& each) { all.push_back(each); });
    return all;
  };
  EXPECT_TRUE(waiting(19).empty());
  ASSERT_EQ(waiting(20).size(), 1u);
  EXPECT_EQ(waiting(100)[0].wait, ProxyWait::network);
  EXPECT_EQ(waiting(100)[0].since, 20u);
  EXPECT_EQ(waiting(100)[0].peer, -7);
  here.recorder->stop(first, 40);
  EXPECT_EQ(waiting(100)[0].wait, ProxyWait::gpu);
  here.recorder->stop(operation, 50);
  EXPECT_TRUE(waiting(100).empty());
}

TEST(ProfileRecorder, WhatNeverEndedIsForgottenWithItsCommunicator) {
  Recorded here;
  void* const operation = here.recorder->start_operation(here.collective(), 1, 0, true, 0);
  void* const step = here.recorder->start_step(operation, 0, 0);
  here.take();
  here.recorder->close(here.communicator);
  here.recorder->step_waits(step, ProxyWait::network, 1, 1);
  here.recorder->stop(step, 1);
  here.recorder->stop(operation, 1);
  here.recorder->close(here.communicator);
  EXPECT_TRUE(here.take().empty());
  EXPECT_EQ(here.collective(), nullptr);
}

TEST(ProfileRecorder, WhatFindsNoRoomIsCountedAndNothingElseSuffers) {
  Recorded here;
  std::size_t kept = 0;
  for (std::uint64_t i = 0; i < ProfileRecorder::kMaxRecords + 10; ++i) kept += here.collective(i) != nullptr;
  EXPECT_EQ(kept, ProfileRecorder::kMaxRecords);
  EXPECT_EQ(here.recorder->take_dropped(), 10u);
  EXPECT_EQ(here.take().size(), ProfileRecorder::kMaxRecords);
  void* const collective = here.collective();
  ASSERT_NE(collective, nullptr);
  std::size_t operations = 0;
  for (std::size_t i = 0; i < ProfileRecorder::kMaxOperations + 5; ++i)
    operations += here.recorder->start_operation(collective, 1, 0, true, 0) != nullptr;
  EXPECT_EQ(operations, ProfileRecorder::kMaxOperations);
  EXPECT_EQ(here.recorder->take_dropped(), 5u);
}

TEST(ProfileRecorder, HasRoomForSoManyCommunicatorsAndUsesAPlaceAgain) {
  Recorded here;
  std::vector<void*> open{here.communicator};
  while (void* more = here.recorder->open({.id = open.size()})) open.push_back(more);
  EXPECT_EQ(open.size(), ProfileRecorder::kMaxCommunicators);
  here.recorder->close(open[7]);
  EXPECT_EQ(here.recorder->communicator(7), nullptr);
  EXPECT_EQ(here.recorder->open({.id = 99}), open[7]);
  EXPECT_EQ(here.recorder->communicator(7)->id, 99u);
}

TEST(ProfileRecorder, ThreadsThatRecordAtOnceLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kOperations = 500;
  Recorded here;
  void* const collective = here.collective();
  std::atomic<bool> ends{false};
  std::size_t taken = 0;
  std::uint64_t bytes = 0;
  std::thread reader([&] {
    for (bool last = false; !last;) {
      last = ends;
      here.recorder->visit_waiting(1 << 30, [](const WaitingOperation& each) { EXPECT_EQ(each.peer, 1); });
      for (const auto& record : here.take()) {
        ++taken;
        bytes += record.operation.bytes;
      }
    }
  });
  std::vector<std::thread> proxies;
  for (int i = 0; i < kThreads; ++i)
    proxies.emplace_back([&] {
      for (int turn = 0; turn < kOperations; ++turn) {
        void* const operation = here.recorder->start_operation(collective, 1, 0, true, 1);
        void* const step = here.recorder->start_step(operation, turn, 1);
        here.recorder->step_waits(step, ProxyWait::network, 8, 2);
        here.recorder->stop(step, 3);
        here.recorder->stop(operation, 4);
      }
    });
  for (auto& proxy : proxies) proxy.join();
  ends = true;
  reader.join();
  EXPECT_EQ(taken, 1u + kThreads * kOperations);
  EXPECT_EQ(bytes, 8u * kThreads * kOperations);
}

}  // namespace
}  // namespace weft::nccl
