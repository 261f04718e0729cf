// An agent that serves one run after the other: nothing of a run is left in the next.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "probes/session/agent_loop.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "tests/fakes/fake_bus.hpp"
#include "tests/fakes/fake_script.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Answers = fakes::FakeBus::Answers;

constexpr AgentTiming kQuick{.hello_interval = milliseconds(20),
                             .wait_for_start = milliseconds(200),
                             .alive_interval = milliseconds(20),
                             .coordinator_silence = milliseconds(200)};

/// Engines that are counted, and what they were opened with.
class CountedEngines {
 public:
  struct Opened {
    NicAssignment nic;
    packet::RunSecrets secrets;
    bool knows_first = false;  // the peer of the first run
    bool alone = true;         // no engine of another run was open
  };
  PrepareRun preparer() {
    return [this] {
      ++prepared;
      return RunHost{[this](const NicAssignment& nic, const packet::RunSecrets& secrets,
                            const datapath::SharedNics& nics) {
        const bool alone = open_.empty() || *open_.begin() == secrets.run;
        opened.push_back({nic, secrets, nics->find(PortId(11)) != nullptr, alone});
        return Result<NicEngines>(NicEngines{std::make_shared<Engine>(*this, secrets.run), nullptr});
      }};
    };
  }
  std::vector<Opened> opened;
  int prepared = 0;

 private:
  class Engine : public datapath::ProbeEngine {
   public:
    Engine(CountedEngines& of, RunId run) : of_(of), at_(of.open_.insert(run)) {}
    ~Engine() override { of_.open_.erase(at_); }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest&, std::stop_token) override {
      return {};
    }
    Result<std::vector<datapath::ReceivedTally>> received(BatchId) override { return {}; }

   private:
    CountedEngines& of_;
    std::multiset<RunId>::iterator at_;
  };
  std::multiset<RunId> open_;
};

packet::RunKey key_of(int byte) {
  packet::RunKey key{};
  key[0] = static_cast<std::byte>(byte);
  return key;
}

const datapath::RunNic kFirstPeer{PortId(11), *IpAddress::parse("10.0.1.1")};
const datapath::RunNic kSecondPeer{PortId(22), *IpAddress::parse("10.0.2.2")};
const StartRun kFirst{{RunId(7), key_of(1)}, {{"p1", PortId(1)}}, {kFirstPeer}};
const StartRun kSecond{{RunId(8), key_of(2)}, {{"p2", PortId(2)}, {"p3", PortId(3)}}, {kSecondPeer}};

Task ping_from(PortId nic, const datapath::RunNic& peer, std::uint32_t id) {
  datapath::PingRequest request{.run = RunId(8), .batch = BatchId(1)};
  request.peers = {{peer.nic, peer.address}};
  request.specs = {{0, PathLabel(50000), PathLabel(50000), 1, Bytes(128)}};
  return {TaskId(id), nic, std::chrono::seconds(1), request};
}

/// An agent that lives until the test stops it.
struct Standing {
  fakes::FakeBus bus;
  CountedEngines engines;
  std::stop_source stop;
  Result<void> serve() {
    return run_agent(bus, {.host = "host1"}, engines.preparer(), stop.get_token(), AgentLife::until_stopped,
                     kQuick);
  }
  /// What was said of a run.
  template <class Message>
  std::vector<Message> said(std::optional<RunId> run) const {
    std::vector<Message> found;
    for (const auto& [of, message] : bus.said_of_runs())
      if (const auto* wanted = std::get_if<Message>(&message); wanted && of == run) found.push_back(*wanted);
    return found;
  }
  void sends(RunId run, const ToAgent& message) {
    bus.comes(std::string(kCoordinator), encode(MessageToAgent{run, message}));
  }
};

TEST(SeveralRuns, TheSecondHasItsOwnNicsKeyAndPeersAndNothingOfTheFirst) {
  Standing agent;
  int runs = 0;
  std::set<TaskId> told;  // refusals and results come in any order
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {runs == 0 ? kFirst : kSecond};
    if (std::holds_alternative<Ready>(message)) {
      if (++runs == 1) return {StopRun{}};
      return {ping_from(PortId(1), kSecondPeer, 1), ping_from(PortId(2), kFirstPeer, 2),
              ping_from(PortId(2), kSecondPeer, 3)};
    }
    if (const auto* result = std::get_if<TaskResult>(&message)) told.insert(result->id);
    if (told.size() == 3) agent.stop.request_stop();
    return {};
  };
  ASSERT_TRUE(agent.serve());
  EXPECT_EQ(agent.engines.prepared, 2);
  ASSERT_EQ(agent.engines.opened.size(), 3u);
  EXPECT_EQ(agent.engines.opened[0].secrets, kFirst.secrets);
  EXPECT_TRUE(agent.engines.opened[0].knows_first);
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& opened = agent.engines.opened[i + 1];
    EXPECT_EQ(opened.nic, kSecond.nics[i]);
    EXPECT_EQ(opened.secrets, kSecond.secrets);
    EXPECT_FALSE(opened.knows_first);
    EXPECT_TRUE(opened.alone) << "the first run's are closed before";
  }
  const auto results = agent.said<TaskResult>(RunId(8));
  ASSERT_EQ(results.size(), 3u);
  for (const TaskResult& result : results) {
    EXPECT_EQ(result.error.has_value(), result.id != TaskId(3)) << result.id.value();
    const char* const why = result.id == TaskId(1) ? "serves no NIC 1" : "10.0.1.1";
    EXPECT_THAT(result.error.value_or(why), HasSubstr(why));
  }
}

TEST(SeveralRuns, ASecondRunAtATimeIsRefusedWithAWordAndTheFirstGoesOn) {
  Standing agent;
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {kFirst};
    if (std::holds_alternative<Ready>(message)) agent.sends(RunId(8), kSecond);
    if (std::holds_alternative<Bye>(message)) return {ping_from(PortId(1), kFirstPeer, 1)};
    if (std::holds_alternative<TaskResult>(message)) agent.stop.request_stop();
    return {};
  };
  ASSERT_TRUE(agent.serve());
  const auto refused = agent.said<Bye>(RunId(8));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_THAT(refused[0].why, HasSubstr("serves another run (7), and one at a time"));
  EXPECT_EQ(agent.engines.opened.size(), 1u);
  EXPECT_FALSE(agent.said<TaskResult>(RunId(7)).at(0).error);
}

TEST(SeveralRuns, WhatIsLeftOfARunThatIsOverIsPassedOver) {
  Standing agent;
  int runs = 0;
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) return {runs == 0 ? kFirst : kSecond};
    if (std::holds_alternative<Ready>(message)) {
      if (++runs == 1) return {StopRun{}};
      agent.sends(RunId(7), ping_from(PortId(2), kSecondPeer, 1));
      agent.sends(RunId(7), PeerQuestion{PortId(11), PortId(2), 1, "anyone?"});
      agent.sends(RunId(7), StopRun{});
      agent.sends(RunId(7), kFirst);
      return {ping_from(PortId(2), kSecondPeer, 2)};
    }
    if (std::holds_alternative<TaskResult>(message)) agent.stop.request_stop();
    return {};
  };
  ASSERT_TRUE(agent.serve());
  EXPECT_EQ(agent.said<TaskResult>(RunId(8)).at(0).id, TaskId(2));
  for (const RunId run : {RunId(7), RunId(8)}) {
    EXPECT_THAT(agent.said<PeerReply>(run), IsEmpty());
    EXPECT_EQ(agent.said<TaskResult>(run).size(), run == RunId(8) ? 1u : 0u);
  }
}

TEST(SeveralRuns, AStartThatComesAgainAfterItsRunBeginsNoOther) {
  Standing agent;
  int hellos = 0;
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message)) {
      if (++hellos == 5) agent.stop.request_stop();
      return {kFirst};
    }
    return std::holds_alternative<Ready>(message) ? Answers{StopRun{}} : Answers{};
  };
  ASSERT_TRUE(agent.serve());
  EXPECT_EQ(agent.engines.opened.size(), 1u);
}

TEST(SeveralRuns, ACoordinatorThatFallsSilentOrCannotBeReadEndsItsRunAlone) {
  for (const bool garbage : {false, true}) {
    Standing agent;
    int runs = 0;
    agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
      if (std::holds_alternative<Hello>(message)) return {runs == 0 ? kFirst : kSecond};
      if (!std::holds_alternative<Ready>(message)) return {};
      if (++runs == 2) agent.stop.request_stop();
      if (garbage) agent.bus.comes(std::string(kCoordinator), "{");
      return {};
    };
    ASSERT_TRUE(agent.serve()) << garbage;
    EXPECT_EQ(agent.engines.opened.size(), 3u) << garbage;
    EXPECT_EQ(agent.said<Bye>(RunId(7)).size(), garbage ? 1u : 0u);
  }
}

TEST(SeveralRuns, NoCoordinatorForLongIsNoReasonToEnd) {
  Standing agent;
  int hellos = 0;
  agent.bus.coordinator = [&](const ToCoordinator& message) -> Answers {
    if (std::holds_alternative<Hello>(message) && ++hellos == 8) agent.stop.request_stop();
    return {};
  };
  EXPECT_TRUE(agent.serve()) << "8 hellos take twice as long as one waits that serves one run";
  EXPECT_EQ(agent.said<Bye>(std::nullopt).size(), 1u);
}

TEST(SeveralRuns, ACoordinatorHeedsNothingOfAnotherRun) {
  const auto fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  fakes::FakeScript script({fabric.nics()[0]}, 1);
  Coordinator coordinator(fabric, script, {RunId(7), {}}, {{fabric.hosts()[0], {{"p1", fabric.nics()[0]}}}});
  class Scripted : public fakes::FakeBus {
   public:
    Result<bool> carry(std::string_view, std::string_view bytes) override {
      const auto sent = decode_to_agent(bytes);
      if (const auto* task = std::get_if<Task>(&sent->message))
        for (const RunId run : {RunId(6), RunId(7)}) says(run, result(run, task->id));
      return true;
    }
    void says(std::optional<RunId> run, const ToCoordinator& message) {
      comes("host1", encode(MessageToCoordinator{run, message}));
    }
    static TaskResult result(RunId run, TaskId id) {
      if (run == RunId(7)) return {.id = id, .answer = std::vector<datapath::ReceivedTally>()};
      return {.id = id, .error = "of a run before", .answer = std::vector<datapath::ReceivedTally>()};
    }
  } bus;
  bus.says(std::nullopt, Hello{.host = "host1"});
  bus.says(RunId(6), Bye{"from the run before"});
  bus.says(RunId(7), Ready{});
  const auto ran = coordinate(bus, coordinator, [](const Progress&) {}, {});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(script.answered, 1);
  EXPECT_THAT(script.blamed, IsEmpty());
  EXPECT_THAT(script.untested, IsEmpty());
}

}  // namespace
}  // namespace weft::session
