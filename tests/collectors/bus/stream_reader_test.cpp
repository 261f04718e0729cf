// A stream of a real nats-server, read in order.
#include "collectors/bus/stream_reader.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/bus/watch_streams.hpp"
#include "probes/session/watch_subjects.hpp"
#include "tests/collectors/bus/watch_rig.hpp"

namespace weft::bus {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Five windows of host1 in the stream, and a connection to read them by.
class StreamOfFive : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(host_->publish({7, i}, window("x")));
    ASSERT_EQ(acknowledged(*host_, 5).size(), 5u);
    const auto there = connection_.wait_until_there(kSoon);
    ASSERT_TRUE(there) << there.error().message;
  }
  /// The sequences of what is read until there are so many.
  std::vector<std::uint64_t> read(std::size_t count) {
    std::vector<std::uint64_t> sequences;
    const auto until = std::chrono::steady_clock::now() + kSoon;
    while (sequences.size() < count && std::chrono::steady_clock::now() < until) {
      const auto some = reader_.read(connection_, count - sequences.size(), 100ms);
      if (!some) continue;
      for (const StreamMessage& message : *some) sequences.push_back(message.sequence);
    }
    return sequences;
  }

  run::NatsServer nats_ = server();
  WatchLink link_ = watcher(nats_);  // makes the streams
  std::unique_ptr<watch::AgentLink> host_ = agent(nats_, "host1");
  std::string inbox_ = fmt::format("{}.reads", session::inbox_of(kFabric, "watcher"));
  StreamReader reader_{kWindowStream, session::watch_subjects(session::kWindows, kFabric),
                       inbox_ + ".windows", 0};
  KeptConnection connection_{
      nats_.address_for("watcher"),
      "watcher",
      inbox_,
      {{inbox_ + ".windows.*", [this](BusMessage message) { reader_.heard(std::move(message)); }}},
      [this] { reader_.lost(); }};
};

TEST_F(StreamOfFive, IsReadInOrderEachMessageOnceInPartsOfAnySize) {
  EXPECT_THAT(read(2), ElementsAre(1, 2));
  EXPECT_EQ(reader_.position(), 2u);
  EXPECT_THAT(read(3), ElementsAre(3, 4, 5));
  const auto none = reader_.read(connection_, 10, 50ms);
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_THAT(*none, IsEmpty());
}

TEST_F(StreamOfFive, WithoutALimitIsReadAsFarAsItGoesNow) {
  const auto all = reader_.read(connection_, 10, 0s);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->size(), 5u);
}

TEST_F(StreamOfFive, IsReadAgainFromWhereTheReaderMovesTo) {
  EXPECT_THAT(read(5).size(), 5u);
  reader_.move_to(3);
  EXPECT_THAT(read(2), ElementsAre(4, 5));
}

TEST_F(StreamOfFive, OfWhatIsSkippedNothingIsRead) {
  const auto skipped = reader_.skip(connection_);
  ASSERT_TRUE(skipped) << skipped.error().message;
  EXPECT_EQ(reader_.position(), 5u);
  ASSERT_TRUE(host_->publish({7, 9}, window("y")));
  EXPECT_THAT(read(1), ElementsAre(6));
}

TEST_F(StreamOfFive, GoesOnBehindTheLastMessageAfterTheConnectionBroke) {
  EXPECT_THAT(read(2), ElementsAre(1, 2));
  reader_.lost();
  EXPECT_THAT(read(3), ElementsAre(3, 4, 5));
}

}  // namespace
}  // namespace weft::bus
