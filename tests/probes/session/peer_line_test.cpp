// Engines that speak to each other: from one agent to the bus, over the coordinator, and back.
#include "probes/session/peer_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "probes/session/coordinator.hpp"
#include "tests/fakes/fake_bus.hpp"
#include "tests/fakes/fake_script.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using std::chrono::milliseconds;

TEST(PeerLine, GivesTheReplyToTheQuestionThatItAnswers) {
  fakes::FakeBus bus;
  PeerLine line(RunId(7), PortId(1), bus);
  bus.coordinator = [&](const ToCoordinator& message) -> fakes::FakeBus::Answers {
    const auto& question = std::get<PeerQuestion>(message);
    line.take({question.to, question.from, question.id + 100, false, "to another question"});
    std::jthread([&line, question] { line.take({question.to, question.from, question.id, false, "yes"}); });
    return {};
  };
  EXPECT_EQ(line.ask(PortId(2), "ready?", milliseconds(2000)).value(), "yes");
}

TEST(PeerLine, TellsWhyThePeerCouldNotAndThatNobodyAnswered) {
  fakes::FakeBus bus;
  PeerLine line(RunId(7), PortId(1), bus);
  EXPECT_EQ(line.ask(PortId(2), "anyone?", milliseconds(10)).error().kind, ErrorKind::timeout);
  bus.coordinator = [&](const ToCoordinator& message) -> fakes::FakeBus::Answers {
    const auto& question = std::get<PeerQuestion>(message);
    std::jthread([&line, question] {
      line.take({question.to, question.from, question.id, true, "out of queue pairs"});
    });
    return {};
  };
  EXPECT_THAT(line.ask(PortId(2), "more?", milliseconds(2000)).error().message,
              ::testing::HasSubstr("out of queue pairs"));
}

TEST(PeerLine, WaitsForNobodyOnceTheRunIsOver) {
  fakes::FakeBus bus;
  PeerLine line(RunId(7), PortId(1), bus);
  line.close();
  EXPECT_EQ(line.ask(PortId(2), "still?", std::chrono::seconds(30)).error().kind, ErrorKind::conflict);
}

/// A coordinator whose two agents are ready.
struct TwoAgents {
  Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  PortId one = *fabric.find_nic("host1");
  PortId two = *fabric.find_nic("host2");
  fakes::FakeScript script{{one, two}, 1};
  Coordinator coordinator{fabric,
                          script,
                          {RunId(7), {}},
                          {{fabric.find_node("host1").value(), {{"p1", one}}},
                           {fabric.find_node("host2").value(), {{"p1", two}}}}};
  TimePoint now{};
  TwoAgents() {
    (void)coordinator.start(now);
    for (const char* host : {"host1", "host2"}) (void)coordinator.on_message(host, Hello{.host = host}, now);
    for (const char* host : {"host1", "host2"}) (void)coordinator.on_message(host, Ready{}, now);
  }
  std::vector<SendToAgent> sent(const std::string& from, const ToCoordinator& message) {
    std::vector<SendToAgent> found;
    for (const auto& action : coordinator.on_message(from, message, now))
      if (const auto* send = std::get_if<SendToAgent>(&action)) found.push_back(*send);
    return found;
  }
};

TEST(Coordinator, PassesOnWhatEnginesSayToEachOther) {
  TwoAgents agents;
  const PeerQuestion question{agents.one, agents.two, 4, "hello"};
  const auto there = agents.sent("host1", question);
  ASSERT_EQ(there.size(), 1u);
  EXPECT_EQ(there[0].host, "host2");
  EXPECT_EQ(std::get<PeerQuestion>(there[0].message), question);
  const PeerReply reply{agents.two, agents.one, 4, false, "hello yourself"};
  const auto back = agents.sent("host2", reply);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_EQ(back[0].host, "host1");
  EXPECT_EQ(std::get<PeerReply>(back[0].message), reply);
}

TEST(Coordinator, LetsNobodySpeakForANicThatIsNotItsOwn) {
  TwoAgents agents;
  EXPECT_TRUE(agents.sent("host1", PeerQuestion{agents.two, agents.one, 4, "I am host2"}).empty());
  EXPECT_TRUE(agents.sent("host1", PeerReply{agents.two, agents.one, 4, false, "I am host2"}).empty());
}

TEST(Coordinator, AnswersForAPeerWhoseAgentHasGone) {
  TwoAgents agents;
  (void)agents.sent("host2", Bye{"gone"});
  const auto answer = agents.sent("host1", PeerQuestion{agents.one, agents.two, 4, "hello"});
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].host, "host1");
  EXPECT_TRUE(std::get<PeerReply>(answer[0].message).failed);
}

TEST(Coordinator, AnswersAtOnceForAPeerWhoseAgentGoesWhileItIsAsked) {
  TwoAgents agents;
  (void)agents.sent("host1", PeerQuestion{agents.one, agents.two, 4, "answered"});
  (void)agents.sent("host2", PeerReply{agents.two, agents.one, 4, false, "yes"});
  (void)agents.sent("host1", PeerQuestion{agents.one, agents.two, 5, "given up"});
  (void)agents.sent("host1", PeerQuestion{agents.one, agents.two, 6, "hello"});
  std::vector<PeerReply> told;
  for (const SendToAgent& send : agents.sent("host2", Bye{"gone"}))
    if (const auto* reply = std::get_if<PeerReply>(&send.message)) told.push_back(*reply);
  ASSERT_EQ(told.size(), 1u) << "who was answered, or gave up, waits no more";
  EXPECT_EQ(told[0].id, 6u);
  EXPECT_EQ(told[0].to, agents.one);
  EXPECT_TRUE(told[0].failed);
}

}  // namespace
}  // namespace weft::session
