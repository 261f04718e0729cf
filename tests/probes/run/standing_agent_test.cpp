// That a standing agent says that it works only as long as it does.
#include "probes/run/standing_agent.hpp"

#include <gtest/gtest.h>

#include <latch>
#include <semaphore>
#include <thread>

#include "probes/watch/assignment_json.hpp"
#include "tests/fakes/fake_watch_bus.hpp"

namespace weft::run {
namespace {

using namespace std::chrono_literals;

const IpAddress kAddress{IpAddress::V4{10, 0, 0, 1}};

/// A port whose receive() does not return until it is let go, as on a driver that hangs.
class StuckPort final : public datapath::PacketPort {
 public:
  struct Gate {
    std::latch reached{1};
    std::binary_semaphore open{0};
  };
  explicit StuckPort(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  Nanoseconds now() const override { return std::chrono::steady_clock::now().time_since_epoch(); }
  Result<datapath::SendOutcome> send(std::span<const ByteSpan> frames) override {
    return datapath::SendOutcome{frames.size()};
  }
  Result<std::span<const datapath::Arrival>> receive(Nanoseconds) override {
    if (!std::exchange(held_, true)) gate_->reached.count_down(), gate_->open.acquire();
    return std::span<const datapath::Arrival>();
  }

 private:
  std::shared_ptr<Gate> gate_;
  bool held_ = false;
};

class NoHops final : public datapath::NextHops {
 public:
  Result<packet::MacAddress> next_hop(const IpAddress&) override {
    return fail(ErrorKind::absent, "nobody is there");
  }
};

/// Counts how often the agent asks for words: its other thread goes on.
class CountingLink final : public watch::AgentLink {
 public:
  CountingLink(std::unique_ptr<watch::AgentLink> link, std::counting_semaphore<>& asked)
      : link_(std::move(link)), asked_(asked) {}
  Result<void> publish(watch::MessageId id, ByteSpan window) override { return link_->publish(id, window); }
  std::vector<watch::MessageId> acknowledged() override { return link_->acknowledged(); }
  std::vector<watch::MessageId> failed() override { return link_->failed(); }
  Result<std::optional<std::string>> next_word(Nanoseconds limit) override {
    asked_.release();
    return link_->next_word(limit);
  }
  Result<void> send_text(std::string_view text) override { return link_->send_text(text); }
  Result<void> report_counters(std::string_view text) override { return link_->report_counters(text); }
  std::optional<std::string> next_label_request() override { return link_->next_label_request(); }
  Result<void> answer_labels(std::string_view text) override { return link_->answer_labels(text); }

 private:
  std::unique_ptr<watch::AgentLink> link_;
  std::counting_semaphore<>& asked_;
};

TEST(StandingAgent, GoesRoundNoMoreWhileTheThreadThatProbesHangs) {
  fakes::FakeWatchBus bus;
  const auto feed = bus.feed();
  const auto gate = std::make_shared<StuckPort::Gate>();
  std::counting_semaphore<> asked(0);
  std::counting_semaphore<> rounds(0);
  std::atomic<int> went_round = 0;
  const StandingOptions options{.host = "host1",
                                .version = "test",
                                .nics = {{"eth0", kAddress}},
                                .open = [&](const session::NicReport&) -> Result<OpenedNic> {
                                  return OpenedNic{{.mac = {}, .address = kAddress},
                                                   std::make_unique<StuckPort>(gate),
                                                   std::make_unique<NoHops>()};
                                },
                                .went_round = [&] { ++went_round, rounds.release(); },
                                .timing = {.look = 1ms}};
  CountingLink link(bus.agent("host1"), asked);
  const std::jthread agent(
      [&](const std::stop_token& stop) { EXPECT_TRUE(run_standing_agent(options, link, stop)); });
  rounds.acquire();  // with no plan and no bus it works: it is ready

  const watch::Assignment assignment{.plan = watch::PlanVersion(1),
                                     .epochs = {{.name = RunId(1), .ends_in = 1h, .own = {}, .pairs = {{}}},
                                                {.name = RunId(2), .ends_in = 2h, .own = {}, .pairs = {{}}}},
                                     .nics = {{.nic = PortId(1), .interface = "eth0", .streams = {{}}}},
                                     .peers = {{PortId(2), kAddress}}};
  ASSERT_TRUE(feed->send_to("host1", watch::to_json_text(assignment)));
  gate->reached.wait();
  while (asked.try_acquire()) continue;
  for (int i = 0; i < 3; ++i) asked.acquire();  // the last round of the thread that hangs was seen
  const int before = went_round;
  for (int i = 0; i < 20; ++i) asked.acquire();  // the other thread goes on
  EXPECT_EQ(went_round, before);

  while (rounds.try_acquire()) continue;
  gate->open.release();
  rounds.acquire();  // and so do both
}

TEST(StandingAgent, TellsTheNewestOfItsCountersOnceTheBusIsBack) {
  fakes::FakeWatchBus bus;
  const auto feed = bus.feed();
  bus.set_away(true);
  std::atomic<std::uint64_t> errors = 1;
  std::counting_semaphore<> read(0);
  const StandingOptions options{
      .host = "host1",
      .version = "test",
      .nics = {{"eth0", kAddress}},
      .open = [](const session::NicReport&) -> Result<OpenedNic> {
        return fail(ErrorKind::absent, "it does not probe");
      },
      .read_counters =
          [&](bool, const std::stop_token&) {
            NicReading reading{.interface = "eth0", .driver = "any"};
            reading.driver_counters["rx_crc_errors"] = errors++;  // each reading is worth telling
            read.release();
            return std::vector<counters::NicAt>{{1h, to_string(kAddress), std::move(reading)}};
          },
      .counter_timing = {.read = 1ms},
      .timing = {.look = 1ms}};
  const auto link = bus.agent("host1");
  std::vector<watch::AgentWord> told;
  {
    const std::jthread agent(
        [&](const std::stop_token& stop) { EXPECT_TRUE(run_standing_agent(options, *link, stop)); });
    for (int i = 0; i < 50; ++i) read.acquire();
    EXPECT_TRUE(feed->counters().empty());
    bus.set_away(false);
    while (told.empty()) told = feed->counters(), std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(told[0].host, "host1");
  const auto at = told[0].text.find("\"fcs_errors\":");
  ASSERT_NE(at, std::string::npos) << told[0].text;
  EXPECT_GE(std::stoul(told[0].text.substr(at + 13)), 40u) << "those before were dropped";
}

}  // namespace
}  // namespace weft::run
