// What is kept when a real nats-server is killed under load, or its disk is full.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>

#include <map>
#include <set>

#include "tests/collectors/bus/watch_rig.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::bus {
namespace {

using ::testing::HasSubstr;

/// An agent that keeps what it has sent until it is acknowledged, as a standing one does.
class Sender {
 public:
  explicit Sender(watch::AgentLink& link) : link_(link) {}

  /// Sends new windows for this long, and again what failed; in all no more than a stream keeps of an agent.
  void send_for(Nanoseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < until) {
      if (kept_.size() < 200 && next_ < most) kept_[next_++] = true;
      step();
    }
  }
  /// True when all are acknowledged.
  bool finish() {
    const auto until = std::chrono::steady_clock::now() + kSoon;
    while (!kept_.empty() && std::chrono::steady_clock::now() < until) step();
    return kept_.empty();
  }
  std::uint64_t most = 200;
  std::uint64_t sent() const { return next_; }
  const std::set<std::uint64_t>& acknowledged() const { return acknowledged_; }

 private:
  void step() {
    for (const auto id : link_.acknowledged()) {
      kept_.erase(id.number);
      acknowledged_.insert(id.number);
    }
    for (const auto id : link_.failed())
      if (const auto one = kept_.find(id.number); one != kept_.end()) one->second = true;
    bool any = false;
    for (auto& [number, to_send] : kept_) {
      if (!to_send) continue;
      if (!link_.publish({9, number}, window(std::to_string(number)))) break;
      to_send = false;
      any = true;
    }
    if (!any) std::this_thread::sleep_for(1ms);
  }

  watch::AgentLink& link_;
  std::map<std::uint64_t, bool> kept_;  // whether it is to be sent
  std::set<std::uint64_t> acknowledged_;
  std::uint64_t next_ = 0;
};

std::string text_of(const watch::ReceivedWindow& window) {
  return {reinterpret_cast<const char*>(window.bytes.data()), window.bytes.size()};
}

TEST(WatchFaults, AServerKilledUnderLoadLosesNoAcknowledgedWindowAndDoublesNone) {
  auto nats = server(free_port());
  const auto link = watcher(nats);
  const auto host = agent(nats, "host1");
  Sender sender(*host);
  std::vector<std::string> read;
  const auto fetch_some = [&](Nanoseconds limit) {
    const auto some = link.feed->fetch(1000, limit);
    if (!some) return false;
    for (const auto& each : *some) read.push_back(text_of(each));
    return !some->empty();
  };
  for (int kill = 0; kill < 3; ++kill) {
    sender.most += 700;
    sender.send_for(400ms);
    fetch_some(100ms);
    ASSERT_TRUE(nats.child().send_signal(SIGKILL));
    ASSERT_TRUE(nats.child().wait_for(5s));
    sender.send_for(100ms);
    ASSERT_TRUE(nats.restart());
  }
  ASSERT_TRUE(sender.finish()) << "all are acknowledged in the end";
  EXPECT_EQ(sender.acknowledged().size(), sender.sent());
  EXPECT_GT(sender.sent(), 100u) << "there was no load";
  const auto until = std::chrono::steady_clock::now() + kSoon;
  while (read.size() < sender.sent() && std::chrono::steady_clock::now() < until) fetch_some(200ms);
  EXPECT_FALSE(fetch_some(200ms)) << "nothing more comes";
  const std::set<std::string> different(read.begin(), read.end());
  EXPECT_EQ(different.size(), sender.sent()) << "none is lost";
  EXPECT_EQ(read.size(), different.size()) << "none comes twice";
}

TEST(WatchFaults, EventsAndTheLeaseOutliveTheServer) {
  auto nats = server(free_port());
  const auto link = watcher(nats);
  ASSERT_TRUE(link.lease->hold("one").value());
  const auto first = link.events->append(1, 0, "before");
  ASSERT_TRUE(first);
  ASSERT_TRUE(nats.child().send_signal(SIGKILL));
  ASSERT_TRUE(nats.child().wait_for(5s));
  const auto away = link.events->append(1, *first, "away");
  ASSERT_FALSE(away);
  EXPECT_THAT(away.error().message, HasSubstr("NATS server"));
  EXPECT_FALSE(link.lease->hold("one"));
  ASSERT_TRUE(nats.restart());
  Result<std::uint64_t> second = fail(ErrorKind::absent, "not yet");
  const auto until = std::chrono::steady_clock::now() + kSoon;
  for (; !second && std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(10ms))
    second = link.events->append(1, *first, "after");
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(link.lease->hold("one").value()) << "nobody took it";
  const auto read = link.events->read_behind(0, 10);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->at(1).text, "after");
}

TEST(WatchFaults, AnAnswerThatIsLateDoesNotCostTheLease) {
  auto nats = server();
  const auto link = watcher(nats);
  ASSERT_TRUE(link.lease->hold("one").value());
  const auto event = link.events->append(1, 0, "first");
  ASSERT_TRUE(event);
  ASSERT_TRUE(nats.child().send_signal(SIGSTOP));
  Result<bool> late = true;  // its threads stop one after the other: what came in between is answered
  for (int i = 0; late && i < 1000; ++i) late = link.lease->hold("one");
  ASSERT_TRUE(nats.child().send_signal(SIGCONT));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::timeout);
  EXPECT_TRUE(link.lease->hold("one").value()) << "the server has made that write meanwhile: it is its own";
  EXPECT_TRUE(link.lease->hold("one").value());
}

TEST(WatchFaults, AServerWithoutRoomForItsStreamsSaysWhatItLacks) {
  const auto nats = server(std::nullopt, {.bytes = 1'000'000});
  const auto link = connect_watch_link(nats.address_for("watcher"), kFabric);
  ASSERT_FALSE(link);
  EXPECT_EQ(link.error().kind, ErrorKind::absent);
  EXPECT_THAT(link.error().message, HasSubstr("WEFT_OBS"));
  EXPECT_THAT(link.error().message, HasSubstr("max_file_store"));
}

/// A file system of 3 MB, until the end of the test.
class SmallDisk {
 public:
  explicit SmallDisk(const std::filesystem::path& at) : at_(at) {
    std::filesystem::create_directory(at);
    mounted_ = mount("tmpfs", at.c_str(), "tmpfs", 0, "size=3m") == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) umount2(at_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  const std::filesystem::path at_;
  bool mounted_ = false;
};

TEST(WatchFaults, WhatAFullDiskCannotKeepIsNotAcknowledged) {
  const auto scratch = os::ScratchDirectory::make();
  ASSERT_TRUE(scratch);
  const SmallDisk disk(scratch->path() / "small");
  if (!disk.mounted()) GTEST_SKIP() << "needs the right to mount";
  const auto nats = server(std::nullopt, {.store = scratch->path() / "small/streams"});
  const auto link = watcher(nats);
  const auto host = agent(nats, "host1");
  const std::string large(200'000, 'x');
  std::set<std::uint64_t> acknowledged_ones;
  std::size_t failed_ones = 0;
  std::uint64_t number = 0;
  const auto until = std::chrono::steady_clock::now() + kSoon;
  while (failed_ones == 0 && std::chrono::steady_clock::now() < until) {
    if (host->publish({9, number}, window(large))) ++number;
    for (const auto id : host->acknowledged()) acknowledged_ones.insert(id.number);
    failed_ones += host->failed().size();
  }
  EXPECT_GT(failed_ones, 0u) << "the disk is full: the agent hears of it";
  EXPECT_LT(acknowledged_ones.size(), 16u);
  EXPECT_FALSE(acknowledged_ones.empty());
}

}  // namespace
}  // namespace weft::bus
