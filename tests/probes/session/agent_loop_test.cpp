// The agent's side of a run, over a bus in memory, with the simulator's engines.
#include "probes/session/agent_loop.hpp"

#include <gtest/gtest.h>

#include "probes/run/engines.hpp"
#include "tests/fakes/fake_bus.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::milliseconds;
using Answers = fakes::FakeBus::Answers;

constexpr AgentTiming kQuick{.hello_interval = milliseconds(20),
                             .wait_for_start = milliseconds(300),
                             .alive_interval = milliseconds(20),
                             .coordinator_silence = milliseconds(300)};

/// An agent of host1, whose NIC is the fabric's first, in a simulated fabric.
class OneAgent {
 public:
  Result<void> run(AgentTiming timing = {}, std::stop_token stop = {}) {
    const auto open = run::simulated_engines(fabric_, addresses_.book, {}, 1);
    return run_agent(
        bus, {.host = "host1", .version = "1", .engine = "sim", .nics = {}}, [&] { return RunHost{open}; },
        stop, AgentLife::one_run, timing);
  }
  ToAgent start() const { return StartRun{{RunId(7), {}}, {{"p1", nic}}, targets}; }
  /// Four pings to host2.
  ToAgent task(PortId on) const {
    datapath::PingRequest request{.run = RunId(7), .batch = BatchId(1)};
    request.peers = {{*fabric_.find_nic("host2"), address_of("host2")}};
    request.specs = {{0, PathLabel(50000), PathLabel(50000), 4, Bytes(128)}};
    return Task{TaskId(3), on, std::chrono::seconds(5), request};
  }
  IpAddress address_of(const char* host) const {
    return *addresses_.book.address_of(*fabric_.find_nic(host));
  }
  template <class Message>
  std::vector<Message> said() const {
    std::vector<Message> found;
    for (const ToCoordinator& message : bus.said())
      if (const auto* wanted = std::get_if<Message>(&message)) found.push_back(*wanted);
    return found;
  }

 private:
  Fabric fabric_ = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  AddressPlan addresses_ = plan_addresses(fabric_, IpFamily::v4).value();

 public:
  fakes::FakeBus bus;
  const PortId nic = *fabric_.find_nic("host1");
  std::vector<datapath::RunNic> targets{{*fabric_.find_nic("host2"), address_of("host2")},
                                        {nic, address_of("host1")}};
};

TEST(AgentLoop, SaysHelloOpensItsNicsDoesItsTasksAndStops) {
  OneAgent agent;
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {agent.start()};
    if (std::holds_alternative<Ready>(message)) return {Alive{}, agent.task(agent.nic)};
    if (std::holds_alternative<TaskResult>(message)) return {StopRun{}};
    return {};
  };
  const auto ran = agent.run();
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(agent.said<Hello>().at(0).host, "host1");
  EXPECT_EQ(agent.said<Ready>().at(0), (Ready{}));
  const auto result = agent.said<TaskResult>().at(0);
  EXPECT_EQ(result.id, TaskId(3));
  EXPECT_FALSE(result.error);
  const auto tallies = std::get<std::vector<datapath::PingTally>>(result.answer);
  ASSERT_EQ(tallies.size(), 1u);
  EXPECT_EQ(tallies[0].sent, 4u);
  EXPECT_EQ(tallies[0].answered, 4u);
}

TEST(AgentLoop, AnswersATaskForANicItDoesNotServeWithAnError) {
  OneAgent agent;
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {agent.start()};
    if (std::holds_alternative<Ready>(message)) return {agent.task(PortId(9999))};
    if (std::holds_alternative<TaskResult>(message)) return {StopRun{}};
    return {};
  };
  ASSERT_TRUE(agent.run());
  EXPECT_NE(agent.said<TaskResult>().at(0).error.value_or("").find("9999"), std::string::npos);
}

TEST(AgentLoop, RefusesATaskThatSendsToAnAddressOutsideTheRunAndNamesIt) {
  OneAgent agent;
  agent.targets.erase(agent.targets.begin());
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {agent.start()};
    if (std::holds_alternative<Ready>(message)) return {agent.task(agent.nic)};
    if (std::holds_alternative<TaskResult>(message)) return {StopRun{}};
    return {};
  };
  ASSERT_TRUE(agent.run());
  const auto result = agent.said<TaskResult>().at(0);
  EXPECT_NE(result.error.value_or("").find(to_string(agent.address_of("host2"))), std::string::npos);
  EXPECT_TRUE(std::get<std::vector<datapath::PingTally>>(result.answer).empty()) << "nothing was sent";
}

TEST(AgentLoop, EndsWhenNoCoordinatorComes) {
  OneAgent agent;
  const auto ran = agent.run(kQuick);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::timeout);
  EXPECT_GE(agent.said<Hello>().size(), 2u) << "it says hello until it is heard";
}

TEST(AgentLoop, WaitsForItsStartAsLongAsTheCoordinatorSaysThatItIsKnown) {
  OneAgent agent;
  const auto begin = std::chrono::steady_clock::now();
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    const bool others_have_come = std::chrono::steady_clock::now() - begin > 3 * kQuick.wait_for_start;
    if (std::holds_alternative<Hello>(message)) return {others_have_come ? agent.start() : Alive{}};
    if (std::holds_alternative<Ready>(message)) return {StopRun{}};
    return {};
  };
  EXPECT_TRUE(agent.run(kQuick));
}

TEST(AgentLoop, EndsWhenTheCoordinatorFallsSilent) {
  OneAgent agent;
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    return std::holds_alternative<Hello>(message) ? Answers{agent.start()} : Answers{};
  };
  const auto ran = agent.run(kQuick);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::timeout);
  EXPECT_NE(ran.error().message.find("silent"), std::string::npos) << ran.error().message;
  EXPECT_FALSE(agent.said<Alive>().empty()) << "it gave signs of life";
}

TEST(AgentLoop, EndsWithAWordToTheCoordinatorWhenAMessageCannotBeRead) {
  OneAgent agent;
  agent.bus.comes(std::string(kCoordinator), "{\"type\":");
  const auto ran = agent.run();
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().message.find("coordinator"), std::string::npos) << ran.error().message;
  EXPECT_EQ(agent.said<Bye>().size(), 1u);
}

TEST(AgentLoop, HeedsNobodyButTheCoordinator) {
  OneAgent agent;
  agent.bus.comes("host2", encode(MessageToAgent{RunId(7), StopRun{}}));
  agent.bus.comes("host2", "nonsense");
  const auto ran = agent.run(kQuick);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::timeout) << "it went on waiting for the coordinator";
}

TEST(AgentLoop, SaysByeWhenItIsToldToStop) {
  OneAgent agent;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_TRUE(agent.run({}, stop.get_token()));
  EXPECT_EQ(agent.said<Bye>().size(), 1u);
}

TEST(AgentLoop, EndsWithTheConnection) {
  OneAgent agent;
  agent.bus.lose_connection();
  const auto ran = agent.run();
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().kind, ErrorKind::absent);
}

}  // namespace
}  // namespace weft::session
