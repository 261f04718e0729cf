// Devices that take long: signs of life go on meanwhile, and a run that ends meanwhile ends cleanly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "probes/run/engines.hpp"
#include "probes/session/agent_loop.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "tests/fakes/fake_bus.hpp"
#include "tests/fakes/fake_script.hpp"
#include "tests/fakes/memory_hub.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::milliseconds;
using Answers = fakes::FakeBus::Answers;

constexpr AgentTiming kQuick{.hello_interval = milliseconds(20),
                             .wait_for_start = milliseconds(2000),
                             .alive_interval = milliseconds(20),
                             .coordinator_silence = milliseconds(2000)};
constexpr milliseconds kLong(600);

/// Engines that do nothing, and take their time to come and to answer.
class SlowDevices {
 public:
  PrepareRun preparer() {
    return [this] { return RunHost{opener()}; };
  }
  OpenEngines opener() {
    return [this](const NicAssignment&, const packet::RunSecrets&,
                  const datapath::SharedNics&) -> Result<NicEngines> {
      ++opening;
      std::this_thread::sleep_for(opens_in);
      ++opened;
      return NicEngines{std::make_shared<Nothing>(), nullptr, std::make_shared<SlowPeer>(answers_in)};
    };
  }
  milliseconds opens_in{};
  milliseconds answers_in{};
  std::atomic<int> opening = 0;
  std::atomic<int> opened = 0;

 private:
  class Nothing : public datapath::ProbeEngine {
   public:
    Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::ReceivedTally>> received(BatchId) override { return {}; }
  };
  class SlowPeer : public datapath::PeerService {
   public:
    explicit SlowPeer(milliseconds takes) : takes_(takes) {}
    void meet(datapath::PeerExchange&) override {}
    Result<std::string> answer(PortId, std::string_view question) override {
      std::this_thread::sleep_for(takes_);
      return "to " + std::string(question);
    }

   private:
    milliseconds takes_;
  };
};

const packet::RunSecrets kSecrets{RunId(7), {}};
const StartRun kTwoNics{kSecrets, {{"p1", PortId(1)}, {"p2", PortId(2)}}};

template <class Message>
std::size_t count_of(const std::vector<ToCoordinator>& messages) {
  return static_cast<std::size_t>(std::ranges::count_if(
      messages, [](const ToCoordinator& message) { return std::holds_alternative<Message>(message); }));
}

/// What was said before the first message of this kind, which must be there.
template <class Message>
std::vector<ToCoordinator> said_before(const fakes::FakeBus& bus) {
  auto said = bus.said();
  const auto first = std::ranges::find_if(
      said, [](const ToCoordinator& message) { return std::holds_alternative<Message>(message); });
  EXPECT_NE(first, said.end());
  said.erase(first, said.end());
  return said;
}

TEST(SlowAgent, GivesSignsOfLifeWhileItOpensItsDevices) {
  fakes::FakeBus bus;
  SlowDevices devices;
  devices.opens_in = kLong / 2;
  bus.coordinator = [](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {kTwoNics};
    if (std::holds_alternative<Ready>(message)) return {StopRun{}};
    return {};
  };
  const auto ran = run_agent(bus, {.host = "host1"}, devices.preparer(), {}, AgentLife::one_run, kQuick);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(devices.opened, 2);
  EXPECT_GE(count_of<Alive>(said_before<Ready>(bus)), 5u) << "one each 50 ms, in 600";
}

TEST(SlowAgent, GivesSignsOfLifeWhileItAnswersAPeer) {
  fakes::FakeBus bus;
  SlowDevices devices;
  devices.answers_in = kLong;
  bus.coordinator = [](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {kTwoNics};
    if (std::holds_alternative<Ready>(message)) return {PeerQuestion{PortId(9), PortId(1), 4, "you"}};
    if (std::holds_alternative<PeerReply>(message)) return {StopRun{}};
    return {};
  };
  ASSERT_TRUE(run_agent(bus, {.host = "host1"}, devices.preparer(), {}, AgentLife::one_run, kQuick));
  const auto said = bus.said();
  const auto reply = std::ranges::find_if(said, [](const auto& m) { return m.index() == 6; });
  ASSERT_NE(reply, said.end());
  EXPECT_EQ(std::get<PeerReply>(*reply), (PeerReply{PortId(1), PortId(9), 4, false, "to you"}));
  EXPECT_GE(count_of<Alive>(said_before<PeerReply>(bus)), 5u);
}

TEST(SlowAgent, APeerThatAsksAgainIsAnsweredItsLastQuestionAlone) {
  fakes::FakeBus bus;
  SlowDevices devices;
  devices.answers_in = milliseconds(200);
  bus.coordinator = [](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {kTwoNics};
    if (std::holds_alternative<Ready>(message))
      return {PeerQuestion{PortId(8), PortId(1), 1, "before"}, PeerQuestion{PortId(9), PortId(1), 4, "first"},
              PeerQuestion{PortId(9), PortId(1), 5, "again"}};
    if (const auto* reply = std::get_if<PeerReply>(&message); reply && reply->to == PortId(9))
      return {StopRun{}};
    return {};
  };
  ASSERT_TRUE(run_agent(bus, {.host = "host1"}, devices.preparer(), {}, AgentLife::one_run, kQuick));
  std::vector<std::string> answers;
  for (const ToCoordinator& message : bus.said())
    if (const auto* reply = std::get_if<PeerReply>(&message)) answers.push_back(reply->text);
  EXPECT_THAT(answers, ::testing::ElementsAre("to before", "to again"));
}

TEST(SlowAgent, ARunThatIsStoppedWhileADeviceOpensEndsWithoutTheOthers) {
  fakes::FakeBus bus;
  SlowDevices devices;
  devices.opens_in = kLong;
  bus.coordinator = [](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {kTwoNics, StopRun{}};
    return {};
  };
  ASSERT_TRUE(run_agent(bus, {.host = "host1"}, devices.preparer(), {}, AgentLife::one_run, kQuick));
  EXPECT_LE(devices.opening, 1) << "the second was not begun";
  EXPECT_EQ(devices.opened, devices.opening) << "and none is being opened when it has ended";
  EXPECT_EQ(count_of<Ready>(bus.said()), 0u);
}

TEST(SlowAgent, AnInterruptWhileADeviceOpensIsSaidAtOnceAndEndsTheRun) {
  fakes::FakeBus bus;
  SlowDevices devices;
  devices.opens_in = kLong;
  std::stop_source stop;
  bool said_while_opening = false;
  bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {kTwoNics};
    if (std::holds_alternative<Alive>(message) && devices.opening == 1) stop.request_stop();
    if (std::holds_alternative<Bye>(message)) said_while_opening = devices.opened == 0;
    return {};
  };
  ASSERT_TRUE(
      run_agent(bus, {.host = "host1"}, devices.preparer(), stop.get_token(), AgentLife::one_run, kQuick));
  EXPECT_TRUE(said_while_opening);
  EXPECT_EQ(devices.opening, 1);
  EXPECT_EQ(devices.opened, 1) << "it waited for the one in hand";
  EXPECT_EQ(count_of<Ready>(bus.said()), 0u);
}

/// A run over agents in threads of this process, whose devices open and answer slowly.
struct SlowRun {
  Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  PortId one = *fabric.find_nic("host1");
  PortId two = *fabric.find_nic("host2");
  fakes::FakeScript script{{one, two}, 2};
  SlowDevices slow, quick;
  fakes::MemoryHub hub;

  Result<void> run(CoordinatorTiming timing, std::stop_token stop = {}) {
    Coordinator coordinator(
        fabric, script, kSecrets,
        {{*fabric.find_node("host1"), {{"p1", one}}}, {*fabric.find_node("host2"), {{"p1", two}}}}, timing);
    const auto bus = hub.join(std::string(kCoordinator));
    const auto agent = [this](const char* host, SlowDevices& devices) {
      return std::jthread([this, host, &devices] {
        const auto own = hub.join(host);
        EXPECT_TRUE(run_agent(*own, {.host = host}, devices.preparer(), {}, AgentLife::one_run, kQuick));
      });
    };
    const auto first = agent("host1", slow);
    const auto second = agent("host2", quick);
    return coordinate(
        *bus, coordinator, [](const Progress&) {}, std::move(stop));
  }
};

TEST(SlowAgent, IsWaitedForByTheCoordinatorAndNobodyIsBlamed) {
  SlowRun run;
  run.slow.opens_in = kLong;
  const auto ran = run.run({.gather = milliseconds(200), .silence = std::chrono::seconds(1)});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(run.script.answered, 4) << "both waves of both hosts";
  EXPECT_TRUE(run.script.blamed.empty());
  EXPECT_TRUE(run.script.untested.empty());
}

TEST(SlowAgent, IsToldToStopWhileItOpensWhenTheRunIsInterrupted) {
  SlowRun run;
  run.slow.opens_in = kLong;
  std::stop_source stop;
  const std::jthread interrupt([&] {
    while (run.slow.opening == 0) std::this_thread::sleep_for(milliseconds(5));
    stop.request_stop();
  });
  EXPECT_FALSE(run.run({}, stop.get_token()));
  EXPECT_EQ(run.slow.opened, 1);
  EXPECT_TRUE(run.script.blamed.empty());
}

}  // namespace
}  // namespace weft::session
