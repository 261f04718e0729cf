#include "probes/run/standing_worker.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace weft::run {
namespace {

using namespace std::chrono_literals;

const IpAddress kOwn = *IpAddress::parse("10.0.0.1");

/// A port at which nothing comes, and which counts how often it is looked at.
class QuietPort final : public datapath::PacketPort {
 public:
  explicit QuietPort(std::atomic<int>& looks) : looks_(looks) {}
  Nanoseconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  Result<datapath::SendOutcome> send(std::span<const ByteSpan> frames) override {
    return datapath::SendOutcome{frames.size()};
  }
  Result<std::span<const datapath::Arrival>> receive(Nanoseconds) override {
    ++looks_;
    return std::span<const datapath::Arrival>();
  }

 private:
  std::atomic<int>& looks_;
};

/// So that probes leave.
class SomebodyNear final : public datapath::NextHops {
 public:
  Result<packet::MacAddress> next_hop(const IpAddress&) override { return packet::MacAddress{}; }
};

std::shared_ptr<const watch::Assignment> assignment(std::uint32_t plan) {
  return std::make_shared<const watch::Assignment>(
      watch::Assignment{.plan = watch::PlanVersion(plan),
                        .epochs = {{.name = RunId(1), .ends_in = 1h, .own = {}, .pairs = {{}}},
                                   {.name = RunId(2), .ends_in = 2h, .own = {}, .pairs = {{}}}},
                        .nics = {{.nic = PortId(1), .interface = "eth0", .streams = {{}}}},
                        .peers = {{PortId(2), kOwn}}});
}

template <class Condition>
bool comes_true(Condition condition) {
  for (int i = 0; i < 3000 && !condition(); ++i) std::this_thread::sleep_for(10ms);
  return condition();
}

class WorkerOfANic : public testing::Test {
 protected:
  void assign(std::uint32_t plan) {
    const auto work = assignment(plan);
    nics_.assign(work);
    worker_.assign(work);
  }
  /// Windows in which probes left, once there are some; empty: none came in the time that a test has.
  std::vector<watch::Window> next_windows() {
    std::vector<watch::Window> ended;
    const auto sent = [](const watch::NicWindow& nic) { return nic.count > 0; };
    comes_true([&] {
      for (const watch::Window& window : worker_.windows())
        if (std::ranges::any_of(window.nics, sent)) ended.push_back(window);
      return !ended.empty();
    });
    return ended;
  }

  std::atomic<int> looks_ = 0;
  StandingNics nics_{{{"eth0", kOwn}}, [this](const session::NicReport&) -> Result<OpenedNic> {
                       return OpenedNic{{.mac = {}, .address = kOwn},
                                        std::make_unique<QuietPort>(looks_),
                                        std::make_unique<SomebodyNear>()};
                     }};
  StandingWorker worker_{7, 1, nics_};
};

TEST_F(WorkerOfANic, GoesRoundWithoutAPlanAndHasNothingToTell) {
  const auto before = worker_.rounds();
  EXPECT_TRUE(comes_true([&] { return worker_.rounds() > before + 3; }));
  EXPECT_TRUE(worker_.windows().empty());
  EXPECT_EQ(looks_, 0) << "no NIC is its own yet";
}

TEST_F(WorkerOfANic, ReadsItsNicsAlsoWhileItIsPaused) {
  assign(1);
  ASSERT_TRUE(comes_true([&] { return looks_ > 0; }));
  worker_.pause(true);
  const int before = looks_;
  EXPECT_TRUE(comes_true([&] { return looks_ > before + 3; })) << "others are answered";
}

TEST_F(WorkerOfANic, WindowsAreOfThePlanThatTheyWereProbedBy) {
  assign(1);
  const auto first = next_windows();
  ASSERT_FALSE(first.empty());
  for (const watch::Window& window : first) EXPECT_EQ(window.plan, watch::PlanVersion(1));
  assign(2);
  const auto rounds = worker_.rounds();
  ASSERT_TRUE(comes_true([&] { return worker_.rounds() > rounds + 3; }));
  const auto last = worker_.windows();
  ASSERT_FALSE(last.empty()) << "the window at hand ends with the plan";
  EXPECT_EQ(last.front().plan, watch::PlanVersion(1));
  const auto second = next_windows();
  ASSERT_FALSE(second.empty());
  for (const watch::Window& window : second) EXPECT_EQ(window.plan, watch::PlanVersion(2));
}

}  // namespace
}  // namespace weft::run
