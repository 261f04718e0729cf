// Messages that the bus loses: those that somebody waits for come again, and no host is blamed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <semaphore>
#include <set>
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
using std::chrono::seconds;
using ::testing::IsEmpty;
using Answers = fakes::FakeBus::Answers;

/// Engines that received nothing, and count how often they were asked.
class Asked {
 public:
  PrepareRun preparer() {
    return [this] {
      return RunHost{[this](const NicAssignment&, const packet::RunSecrets&, const datapath::SharedNics&) {
        return Result<NicEngines>(NicEngines{std::make_shared<Engine>(*this), nullptr});
      }};
    };
  }
  std::atomic<int> times = 0;

 private:
  class Engine : public datapath::ProbeEngine {
   public:
    explicit Engine(Asked& of) : of_(of) {}
    Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::ReceivedTally>> received(BatchId) override {
      ++of_.times;
      return {};
    }

   private:
    Asked& of_;
  };
};

const StartRun kStart{{RunId(7), {}}, {{"p1", PortId(1)}}};
const Task kTask{TaskId(1), PortId(1), seconds(1), ReceivedQuery{BatchId(1)}};

/// What comes again by itself.
bool repeats(const ToCoordinator& message) {
  return std::holds_alternative<Hello>(message) || std::holds_alternative<Alive>(message);
}

/// What an agent says to a coordinator that gives it one task and then ends, over a bus that loses the first
/// message of each kind that does not come again by itself.
std::vector<ToCoordinator> said_over_a_bus_that_loses(Asked& asked, const Answers& tasks) {
  fakes::FakeBus bus;
  std::set<std::size_t> lost;
  bus.loses = [&](const ToCoordinator& message) {
    return !repeats(message) && lost.insert(message.index()).second;
  };
  bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {kStart};
    if (std::holds_alternative<Ready>(message)) return tasks;
    if (std::holds_alternative<TaskResult>(message)) return {StopRun{}};
    return {};
  };
  EXPECT_TRUE(run_agent(bus, {.host = "host1"}, asked.preparer(), {}));
  return bus.said();
}

TEST(LostMessages, AnAgentSaysAgainThatItIsReadyAndWhatCameOfItsTask) {
  Asked asked;
  int ready = 0;
  int results = 0;
  for (const auto& message : said_over_a_bus_that_loses(asked, {kTask})) {
    ready += std::holds_alternative<Ready>(message) ? 1 : 0;
    results += std::holds_alternative<TaskResult>(message) ? 1 : 0;
  }
  EXPECT_EQ(ready, 1);
  EXPECT_EQ(results, 1);
}

TEST(LostMessages, ATaskThatComesTwiceIsDoneOnce) {
  Asked asked;
  (void)said_over_a_bus_that_loses(asked, {kTask, kTask, kTask});
  EXPECT_EQ(asked.times, 1);
}

TEST(LostMessages, AnAgentThatNobodyHearsEndsAllTheSameWhenItIsToldTo) {
  fakes::FakeBus bus;
  std::stop_source stop;
  Asked asked;
  bus.loses = [&](const ToCoordinator& message) {
    if (std::holds_alternative<Ready>(message)) stop.request_stop();
    return !repeats(message);
  };
  bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    return std::holds_alternative<Hello>(message) ? Answers{kStart} : Answers{};
  };
  EXPECT_TRUE(run_agent(bus, {.host = "host1"}, asked.preparer(), stop.get_token()));
}

/// Says one thing of a kind to the agent, over a bus that loses the first two words of farewell.
std::vector<Bye> farewells(const Answers& to_ready) {
  fakes::FakeBus bus;
  int lost = 0;
  std::stop_source stop;
  bus.loses = [&](const ToCoordinator& message) {
    return std::holds_alternative<Bye>(message) && ++lost < 3;
  };
  bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {kStart};
    if (!std::holds_alternative<Ready>(message)) return {};
    if (to_ready.empty()) stop.request_stop();
    if (!to_ready.empty()) bus.comes(std::string(kCoordinator), "{");
    return to_ready;
  };
  Asked asked;
  (void)run_agent(bus, {.host = "host1"}, asked.preparer(), stop.get_token());
  std::vector<Bye> said;
  for (const auto& message : bus.said())
    if (const auto* bye = std::get_if<Bye>(&message)) said.push_back(*bye);
  return said;
}

TEST(LostMessages, AnAgentSaysAgainThatItGoes) {
  EXPECT_EQ(farewells({}), std::vector<Bye>{{"it was told to stop"}});
  EXPECT_EQ(farewells({Alive{}}).size(), 1u) << "of what it cannot read";
}

TEST(LostMessages, AnAgentSaysAgainThatItRefusesATask) {
  Asked asked;
  const Task of_no_nic{TaskId(1), PortId(9), seconds(1), ReceivedQuery{BatchId(1)}};
  std::vector<TaskResult> refusals;
  for (const auto& message : said_over_a_bus_that_loses(asked, {of_no_nic}))
    if (const auto* result = std::get_if<TaskResult>(&message)) refusals.push_back(*result);
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_THAT(refusals[0].error.value_or(""), ::testing::HasSubstr("serves no NIC 9"));
  EXPECT_EQ(asked.times, 0);
}

std::string_view type_of(const ToAgent& message) {
  return std::holds_alternative<StartRun>(message)  ? "start"
         : std::holds_alternative<Task>(message)    ? "task"
         : std::holds_alternative<StopRun>(message) ? "stop"
                                                    : "";
}

TEST(LostMessages, ARunOverABusThatLosesTheFirstOfEachKindBlamesNobodyAndEndsItsAgents) {
  const auto fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  const std::vector<PortId> nics(fabric.nics().begin(), fabric.nics().end());
  fakes::FakeScript script(nics, 2);
  std::vector<ExpectedHost> expected;
  for (const PortId nic : nics) expected.push_back({fabric.port(nic).node, {{"p1", nic}}});
  Coordinator coordinator(fabric, script, kStart.secrets, expected);
  fakes::MemoryHub hub;
  std::set<std::string> lost;
  hub.loses = [&](std::string_view to, std::string_view bytes) {
    if (to == kCoordinator) {
      const auto sent = decode_to_coordinator(bytes);
      return !repeats(sent->message) && lost.insert(fmt::format("{}", sent->message.index())).second;
    }
    const auto sent = decode_to_agent(bytes);
    const auto type = type_of(sent->message);
    return !type.empty() && lost.insert(fmt::format("{} {}", to, type)).second;
  };
  Asked asked;
  const auto began = std::chrono::steady_clock::now();
  {
    const auto bus = hub.join(std::string(kCoordinator));
    std::vector<std::jthread> agents;
    for (const char* host : {"host1", "host2"})
      agents.emplace_back([&hub, &asked, host] {
        const auto own = hub.join(host);
        EXPECT_TRUE(run_agent(*own, {.host = host}, asked.preparer(), {}));
      });
    const auto ran = coordinate(*bus, coordinator, [](const Progress&) {}, {});
    EXPECT_TRUE(ran);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds(9)) << "nobody waited for silence to tell";
  EXPECT_EQ(lost.size(), 8u) << "a start, a task and a stop of each host; a Ready and a result";
  EXPECT_EQ(script.answered, 4);
  EXPECT_EQ(asked.times, 4);
  EXPECT_THAT(script.blamed, IsEmpty());
  EXPECT_THAT(script.untested, IsEmpty());
}

TEST(LostMessages, WhatIsAnsweredIsNotSentAgainThoughNobodyAcknowledgedIt) {
  const auto fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  const std::vector<PortId> nics(fabric.nics().begin(), fabric.nics().end());
  fakes::FakeScript script(nics, 2);
  std::vector<ExpectedHost> expected;
  for (const PortId nic : nics) expected.push_back({fabric.port(nic).node, {{"p1", nic}}});
  Coordinator coordinator(fabric, script, kStart.secrets, expected);
  fakes::MemoryHub hub;
  const auto task_in = [](std::string_view bytes) {
    const auto sent = decode_to_agent(bytes);
    const auto* task = sent ? std::get_if<Task>(&sent->message) : nullptr;
    return task ? task->id.value() : 0;
  };
  bool second_wave = false;
  int late = 0;  // of the first wave, as the second is sent for the second time
  hub.loses = [&](std::string_view to, std::string_view bytes) {
    if (to == kCoordinator) return false;
    const auto id = task_in(bytes);
    const bool starts = std::holds_alternative<StartRun>(decode_to_agent(bytes)->message);
    late += second_wave && (starts || id == 1 || id == 2) ? 1 : 0;
    return id > 2 && !std::exchange(second_wave, true);
  };
  hub.forgets = [](std::string_view to, std::string_view) { return to != kCoordinator; };
  Asked asked;
  {
    const auto bus = hub.join(std::string(kCoordinator));
    std::vector<std::jthread> agents;
    for (const char* host : {"host1", "host2"})
      agents.emplace_back([&hub, &asked, host] {
        const auto own = hub.join(host);
        EXPECT_TRUE(run_agent(*own, {.host = host}, asked.preparer(), {}));
      });
    EXPECT_TRUE(coordinate(*bus, coordinator, [](const Progress&) {}, {}));
  }
  EXPECT_TRUE(second_wave);
  EXPECT_EQ(late, 0);
  EXPECT_EQ(asked.times, 4);
}

/// Engines of two NICs; the first answers a peer no sooner than the second has.
class InTurn {
 public:
  PrepareRun preparer() {
    return [this] {
      return RunHost{
          [this](const NicAssignment& nic, const packet::RunSecrets&, const datapath::SharedNics&) {
            const auto engine = std::make_shared<Engine>(*this, nic.nic == PortId(1));
            return Result<NicEngines>(NicEngines{engine, nullptr, engine});
          }};
    };
  }

 private:
  class Engine : public datapath::ProbeEngine, public datapath::PeerService {
   public:
    Engine(InTurn& both, bool first) : both_(both), first_(first) {}
    Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::ReceivedTally>> received(BatchId) override { return {}; }
    void meet(datapath::PeerExchange&) override {}
    Result<std::string> answer(PortId, std::string_view) override {
      if (!first_) both_.second_.release();
      const bool waited = !first_ || both_.second_.try_acquire_for(seconds(10));
      return std::string(waited ? "yes" : "nobody else was let");
    }

   private:
    InTurn& both_;
    bool first_;
  };
  std::counting_semaphore<> second_{0};
};

TEST(LostMessages, ANicThatAnswersSlowlyKeepsNoOtherFromAnswering) {
  fakes::FakeBus bus;
  InTurn engines;
  const StartRun start{{RunId(7), {}}, {{"p1", PortId(1)}, {"p2", PortId(2)}}};
  std::vector<std::string> replies;
  bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {start};
    if (std::holds_alternative<Ready>(message))
      return {PeerQuestion{PortId(5), PortId(1), 1, ""}, PeerQuestion{PortId(5), PortId(2), 1, ""},
              PeerQuestion{PortId(5), PortId(9), 1, ""}};
    if (const auto* reply = std::get_if<PeerReply>(&message)) replies.push_back(reply->text);
    return replies.size() == 3 ? Answers{StopRun{}} : Answers{};
  };
  EXPECT_TRUE(run_agent(bus, {.host = "host1"}, engines.preparer(), {}));
  EXPECT_THAT(replies,
              ::testing::UnorderedElementsAre("yes", "yes", "this agent's engine does not speak to others"));
}

/// Engines of two hosts; the first, asked what it received, asks the other.
class Askers {
 public:
  explicit Askers(PortId asks, PortId of) : asks_(asks), of_(of) {}
  PrepareRun preparer() {
    return [this] {
      return RunHost{
          [this](const NicAssignment& nic, const packet::RunSecrets&, const datapath::SharedNics&) {
            const auto engine = std::make_shared<Engine>(*this, nic.nic == asks_);
            return Result<NicEngines>(NicEngines{engine, nullptr, engine});
          }};
    };
  }
  std::atomic<int> questions = 0;
  std::atomic<int> answers = 0;

 private:
  class Engine : public datapath::ProbeEngine, public datapath::PeerService {
   public:
    Engine(Askers& all, bool asks) : all_(all), asks_(asks) {}
    Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::ReceivedTally>> received(BatchId) override {
      if (asks_ && exchange_ != nullptr && exchange_->ask(all_.of_, "ready?", seconds(5))) ++all_.answers;
      return {};
    }
    void meet(datapath::PeerExchange& exchange) override { exchange_ = &exchange; }
    Result<std::string> answer(PortId, std::string_view) override {
      ++all_.questions;
      return std::string("yes");
    }

   private:
    Askers& all_;
    bool asks_;
    datapath::PeerExchange* exchange_ = nullptr;
  };
  PortId asks_, of_;
};

TEST(LostMessages, WhatEnginesAskEachOtherComesOnceThoughEachPartOfTheWayLosesIt) {
  const auto fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  const std::vector<PortId> nics(fabric.nics().begin(), fabric.nics().end());
  fakes::FakeScript script(nics, 1);
  std::vector<ExpectedHost> expected;
  for (const PortId nic : nics) expected.push_back({fabric.port(nic).node, {{"p1", nic}}});
  Coordinator coordinator(fabric, script, kStart.secrets, expected);
  fakes::MemoryHub hub;
  std::set<std::string> lost;
  hub.loses = [&](std::string_view to, std::string_view bytes) {
    std::string kind;
    if (to == kCoordinator) {
      const auto sent = decode_to_coordinator(bytes);
      if (std::holds_alternative<PeerQuestion>(sent->message)) kind = "question to the coordinator";
      if (std::holds_alternative<PeerReply>(sent->message)) kind = "reply to the coordinator";
    } else {
      const auto sent = decode_to_agent(bytes);
      if (std::holds_alternative<PeerQuestion>(sent->message)) kind = "question";
      if (std::holds_alternative<PeerReply>(sent->message)) kind = "reply";
    }
    return !kind.empty() && lost.insert(kind).second;
  };
  Askers engines(nics.front(), nics.back());
  {
    const auto bus = hub.join(std::string(kCoordinator));
    std::vector<std::jthread> agents;
    for (const char* host : {"host1", "host2"})
      agents.emplace_back([&hub, &engines, host] {
        const auto own = hub.join(host);
        EXPECT_TRUE(run_agent(*own, {.host = host}, engines.preparer(), {}));
      });
    EXPECT_TRUE(coordinate(*bus, coordinator, [](const Progress&) {}, {}));
  }
  EXPECT_EQ(lost.size(), 4u);
  EXPECT_EQ(engines.answers, 1);
  EXPECT_EQ(engines.questions, 1) << "what comes twice is answered once";
  EXPECT_THAT(script.blamed, IsEmpty());
}

}  // namespace
}  // namespace weft::session
