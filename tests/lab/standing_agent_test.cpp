// Standing agents on real packets: two hosts behind two routers, their bus in memory.
#include "probes/run/standing_agent.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "probes/engine/raw/raw_engine.hpp"
#include "probes/watch/assignment_json.hpp"
#include "probes/watch/key_epochs.hpp"
#include "probes/watch/window.hpp"
#include "tests/fakes/fake_watch_bus.hpp"
#include "tests/support/router_chain.hpp"

namespace weft::run {
namespace {

using namespace std::chrono_literals;
using fakes::FakeWatchBus;
using fakes::InNamespace;
using fakes::RouterChain;

/// An agent in a thread of its own, in its host's namespace.
class AgentOnHost {
 public:
  AgentOnHost(FakeWatchBus& bus, const RouterChain& chain, int host, watch::SpoolLimits spool = {})
      : link_(bus.agent(fmt::format("host{}", host))),
        thread_([this, where = chain.name(fmt::format("h{}", host)), host, spool,
                 served = served_](const std::stop_token& stop) {
          const InNamespace here(where);
          const StandingOptions options{
              .host = fmt::format("host{}", host),
              .version = "test",
              .nics = {{fmt::format("r{}", host), RouterChain::address(host, false)}},
              .open = raw_standing_nics(0),
              .runs_served = served,
              .spool = spool,
              .timing = {.hello_interval = 100ms}};
          EXPECT_TRUE(run_standing_agent(options, *link_, stop));
        }) {}
  std::atomic<int>& runs_served() { return *served_; }

 private:
  std::shared_ptr<std::atomic<int>> served_ = std::make_shared<std::atomic<int>>(0);
  std::unique_ptr<watch::AgentLink> link_;
  std::jthread thread_;
};

struct Sums {
  std::uint64_t windows = 0;
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
  std::uint64_t there = 0;
  std::uint64_t stalled = 0;
  std::uint64_t plan = 0;  // of the last
};

class StandingAgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = RouterChain::make();
    ASSERT_TRUE(made) << made.error().message;
    chain = std::move(*made);
    feed = bus.feed();
  }

  watch::Assignment assignment_of(int host, std::uint32_t plan) const {
    const int other = 3 - host;
    watch::Assignment made{
        .plan = watch::PlanVersion(plan),
        .nics = {{.nic = PortId(static_cast<std::uint32_t>(host)), .interface = fmt::format("r{}", host)}},
        .peers = {{PortId(static_cast<std::uint32_t>(other)), RouterChain::address(other, false)}}};
    for (std::uint32_t i = 0; i < 20; ++i)
      made.nics[0].streams.push_back({0, PathLabel(50'000 + i), PathLabel(51'000 + i)});
    made.asked = {{made.peers[0].nic, made.peers[0].address}};
    epochs.give(made, NodeId(static_cast<std::uint32_t>(host)), {RouterChain::address(host, false)},
                {NodeId(static_cast<std::uint32_t>(other))}, now());
    return made;
  }
  static Nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }
  void assign(std::uint32_t plan) {
    for (int host : {1, 2})
      ASSERT_TRUE(feed->send_to(fmt::format("host{}", host), watch::to_json_text(assignment_of(host, plan))));
  }
  /// What came in this time, of one host.
  Sums watch_for(Nanoseconds time, const std::string& host = "host1") {
    Sums sums;
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
      const auto windows = feed->fetch(100, 50ms);
      if (!windows) std::this_thread::sleep_for(50ms);
      if (!windows) continue;
      for (const auto& received : *windows) {
        if (received.host != host) continue;
        const auto window = watch::decode_window(received.bytes);
        EXPECT_TRUE(window);
        if (!window) continue;
        ++sums.windows;
        sums.stalled += window->stalled ? 1 : 0;
        sums.plan = window->plan.value();
        numbers.insert(window->number);
        for (const auto& nic : window->nics) {
          sums.sent += nic.count;
          sums.lost += nic.lost.size();
          for (const auto& lost : nic.lost) sums.there += lost.way == watch::LostWay::there ? 1 : 0;
        }
      }
    }
    return sums;
  }
  std::vector<watch::AgentHello> hellos() {
    std::vector<watch::AgentHello> said;
    for (const auto& word : feed->words())
      if (const auto speech = watch::read_speech(word.text))
        if (const auto* hello = std::get_if<watch::AgentHello>(&*speech)) said.push_back(*hello);
    return said;
  }

  std::unique_ptr<RouterChain> chain;
  FakeWatchBus bus;
  watch::KeyEpochs epochs{{std::byte{7}}, 1h};
  std::unique_ptr<watch::WindowFeed> feed;
  std::set<std::uint64_t> numbers;
};

TEST_F(StandingAgentTest, ProbesByItsAssignmentAndSaysWhoItIs) {
  AgentOnHost one(bus, *chain, 1);
  AgentOnHost two(bus, *chain, 2);
  std::this_thread::sleep_for(300ms);
  const auto said = hellos();
  ASSERT_GE(said.size(), 2u);
  EXPECT_EQ(said[0].plan, watch::PlanVersion(0));
  EXPECT_EQ(said[0].interfaces.at(0).addresses.size(), 1u);
  assign(1);
  const auto sums = watch_for(6s);
  EXPECT_GE(sums.windows, 2u);
  EXPECT_NEAR(static_cast<double>(sums.sent) / static_cast<double>(sums.windows), 500, 60);
  EXPECT_EQ(sums.lost, 0u);
  EXPECT_EQ(hellos().back().plan, watch::PlanVersion(1));
}

TEST_F(StandingAgentTest, ADeadCableShowsWithinASecondAndItsReturnToo) {
  AgentOnHost one(bus, *chain, 1);
  AgentOnHost two(bus, *chain, 2);
  assign(1);
  watch_for(5s);
  ASSERT_TRUE(chain->ip("r1", "link set r2 down"));
  const auto down = watch_for(1200ms);
  EXPECT_GE(down.lost, 40u) << "three of each stream";
  watch_for(1s);
  ASSERT_TRUE(chain->ip("r1", "link set r2 up\nroute replace 10.77.2.0/24 via 10.77.12.2"));
  watch_for(2500ms);
  EXPECT_EQ(watch_for(3s).lost, 0u);
}

TEST_F(StandingAgentTest, ItsOwnInterfaceMayGoAndComeBack) {
  AgentOnHost one(bus, *chain, 1);
  AgentOnHost two(bus, *chain, 2);
  assign(1);
  watch_for(4s);
  ASSERT_TRUE(chain->ip("h1", "link set r1 down"));
  const auto down = watch_for(3s);
  EXPECT_GE(down.there, 500u) << "what cannot leave is lost on the way there";
  ASSERT_TRUE(chain->ip("h1", "link set r1 up\nroute add default via 10.77.1.1"));
  watch_for(5s);
  const auto up = watch_for(3s);
  EXPECT_GE(up.sent, 1000u);
  EXPECT_EQ(up.lost, 0u);
}

TEST_F(StandingAgentTest, ANewPlanLosesNothingAndAnOldOneSaidAgainChangesNothing) {
  AgentOnHost one(bus, *chain, 1);
  AgentOnHost two(bus, *chain, 2);
  assign(1);
  watch_for(4s);
  assign(2);
  const auto changed = watch_for(5s);
  EXPECT_EQ(changed.plan, 2u);
  EXPECT_EQ(changed.lost, 0u);
  assign(2);
  const auto again = watch_for(3s);
  EXPECT_GE(again.windows, 2u) << "it begins nothing anew";
  EXPECT_EQ(again.lost, 0u);
}

TEST_F(StandingAgentTest, AnHourChangesWithoutALostProbe) {
  AgentOnHost one(bus, *chain, 1);
  AgentOnHost two(bus, *chain, 2);
  epochs = watch::KeyEpochs({std::byte{7}}, 5s);
  epochs.renew(now());
  assign(1);
  watch_for(4s);
  const RunId first = epochs.name();
  std::uint64_t sent = 0;
  for (int hour = 0; hour < 2; ++hour) {
    while (!epochs.renew(now())) sent += watch_for(100ms).sent;
    for (int host : {2, 1}) {
      ASSERT_TRUE(feed->send_to(fmt::format("host{}", host), watch::to_json_text(assignment_of(host, 1))));
      const auto sums = watch_for(1s);
      EXPECT_EQ(sums.lost, 0u);
      sent += sums.sent;
    }
  }
  const auto last = watch_for(8s);  // and the third one without a word
  EXPECT_EQ(last.lost, 0u);
  EXPECT_EQ(last.plan, 1u);
  EXPECT_GE(last.sent, 3000u);
  EXPECT_GE(sent, 3000u);
  const auto said = hellos();
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.back().epoch, epochs.name());
  EXPECT_NE(said.back().epoch, first);
}

TEST_F(StandingAgentTest, WithoutABusItGoesOnAndTellsLater) {
  AgentOnHost one(bus, *chain, 1);
  AgentOnHost two(bus, *chain, 2);
  assign(1);
  watch_for(4s);
  bus.set_away(true);
  std::this_thread::sleep_for(3s);
  bus.set_away(false);
  watch_for(2s);
  ASSERT_FALSE(numbers.empty());
  EXPECT_EQ(numbers.size(), *numbers.rbegin() + 1) << "no window is missing";
  EXPECT_GE(numbers.size(), 6u);
}

TEST_F(StandingAgentTest, AnAgentThatDiesAndComesBackIsAnsweredAtOnce) {
  auto one = std::make_unique<AgentOnHost>(bus, *chain, 1);
  AgentOnHost two(bus, *chain, 2);
  assign(1);
  watch_for(4s);
  one.reset();
  one = std::make_unique<AgentOnHost>(bus, *chain, 1);
  std::this_thread::sleep_for(300ms);
  assign(1);
  const auto sums = watch_for(5s);
  EXPECT_GE(sums.windows, 2u);
  EXPECT_EQ(sums.lost, 0u);
}

TEST_F(StandingAgentTest, ARunBesideItPausesItsProbesAndNotItsAnswers) {
  AgentOnHost one(bus, *chain, 1);
  AgentOnHost two(bus, *chain, 2);
  assign(1);
  watch_for(4s);
  ++one.runs_served();
  watch_for(1300ms);
  EXPECT_LE(watch_for(2s).sent, 20u);
  watch_for(1s, "host2");
  EXPECT_EQ(watch_for(2s, "host2").lost, 0u);
  --one.runs_served();
  watch_for(1300ms);
  const auto after = watch_for(3s);
  EXPECT_GE(after.sent, 1000u);
  EXPECT_EQ(after.lost, 0u);
}

TEST_F(StandingAgentTest, ASweepsEngineOpensBesideIt) {
  AgentOnHost one(bus, *chain, 1);
  assign(1);
  std::this_thread::sleep_for(500ms);
  const InNamespace here(chain->name("h1"));
  const auto nics = std::make_shared<const datapath::RunNics>(std::vector<datapath::RunNic>{});
  const nic::HostNic nic{.interface = "r1", .address = RouterChain::address(1, false)};
  const auto engine = raw::open_raw_engine(nic, {.run = RunId(9)}, PortId(1), nics);
  EXPECT_TRUE(engine) << engine.error().message;
}

TEST_F(StandingAgentTest, ANicThatIsNotThereIsSaid) {
  AgentOnHost one(bus, *chain, 1);
  auto wrong = assignment_of(1, 1);
  wrong.nics[0].interface = "eth7";
  ASSERT_TRUE(feed->send_to("host1", watch::to_json_text(wrong)));
  ASSERT_TRUE(feed->send_to("host1", "{\"plan\":"));
  std::this_thread::sleep_for(500ms);
  const auto said = hellos();
  ASSERT_FALSE(said.empty());
  std::string all;
  for (const auto& hello : said)
    for (const auto& trouble : hello.troubles) all += trouble + "\n";
  EXPECT_NE(all.find("assignment"), std::string::npos) << all;
}

TEST_F(StandingAgentTest, ItSaysThatItGoes) {
  { AgentOnHost one(bus, *chain, 1); }
  std::vector<watch::AgentBye> byes;
  for (const auto& word : feed->words())
    if (const auto speech = watch::read_speech(word.text))
      if (const auto* bye = std::get_if<watch::AgentBye>(&*speech)) byes.push_back(*bye);
  ASSERT_EQ(byes.size(), 1u);
  EXPECT_TRUE(byes[0].planned);
}

}  // namespace
}  // namespace weft::run
