#include "collectors/bus/message_queue.hpp"

#include <gtest/gtest.h>

namespace weft::bus {
namespace {

constexpr QueueLimits kLimits{.of_sender = 10'000, .in_all = 25'000};

TEST(MessageQueue, GivesWhatCameInItsOrder) {
  MessageQueue queue(kLimits);
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.take());
  EXPECT_TRUE(queue.add({"host1", "one"}));
  EXPECT_TRUE(queue.add({"host2", "two"}));
  EXPECT_EQ(queue.take()->bytes, "one");
  EXPECT_EQ(queue.take()->from, "host2");
  EXPECT_EQ(queue.kept(), 0u);
}

TEST(MessageQueue, OneWhoSendsWithoutEndLeavesRoomForOthers) {
  MessageQueue queue(kLimits);
  for (int i = 0; i < 1000; ++i) queue.add({"flood", std::string(i % 2 == 0 ? 4000 : 0, 'x')});
  EXPECT_LE(queue.kept(), kLimits.of_sender);
  EXPECT_TRUE(queue.add({"honest", "one"}));
  while (queue.kept() > 2000) queue.take();
  EXPECT_TRUE(queue.add({"flood", "again"})) << "what was read makes room";
}

TEST(MessageQueue, AllTogetherAreBounded) {
  MessageQueue queue(kLimits);
  for (int sender = 0; sender < 100; ++sender)
    for (int i = 0; i < 10; ++i) queue.add({std::to_string(sender), std::string(3000, 'x')});
  EXPECT_LE(queue.kept(), kLimits.in_all);
}

}  // namespace
}  // namespace weft::bus
