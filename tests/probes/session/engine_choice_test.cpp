// Which engine a run takes whose agents leave that open, and what becomes of the NICs that cannot send by it.
#include "probes/session/engine_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/session/coordinator.hpp"
#include "tests/fakes/fake_script.hpp"
#include "topology/model/clos.hpp"

namespace weft::session {
namespace {

using ::testing::HasSubstr;

constexpr TimePoint kBegin{};

/// A script that also keeps what it is told of the engine.
class EngineScript : public weft::fakes::FakeScript {
 public:
  using FakeScript::FakeScript;
  void note_engine(std::string_view chosen, std::string_view because) override {
    engine = chosen;
    why = because;
    ++choices;
  }
  bool mixes_engines() const override { return mixes; }
  std::string engine, why;
  int choices = 0;
  bool mixes = false;
};

class Hosts {
 public:
  explicit Hosts(std::uint32_t count)
      : fabric(make_clos({.leaves = 1, .spines = 1, .hosts_per_leaf = count}).value()) {
    std::vector<ExpectedHost> expected;
    for (const NodeId host : fabric.hosts()) {
      const PortId nic = fabric.ports_of(host)[0];
      nics.push_back(nic);
      expected.push_back({host, {{"eth0", nic}}});
    }
    script.emplace(nics, 1);
    coordinator.emplace(fabric, *script, packet::RunSecrets{RunId(7), {}}, expected);
    keep(coordinator->start(kBegin));
  }
  void hails(const std::string& host, const std::string& device, const std::string& engine = "auto") {
    Hello hello{.host = host, .engine = engine};
    hello.offers = {{"eth0", device, device.empty() ? "no RDMA device has an address of eth0" : ""}};
    keep(coordinator->on_message(host, hello, kBegin));
  }
  /// The engine that this host was started with; "-": it was not.
  std::string started_with(const std::string& host) const {
    for (const SendToAgent& message : sent)
      if (const auto* start = std::get_if<StartRun>(&message.message); start && message.host == host)
        return start->nics.at(0).engine;
    return "-";
  }
  void keep(const Coordinator::Actions& actions) {
    for (const CoordinatorAction& action : actions)
      if (const auto* send = std::get_if<SendToAgent>(&action)) sent.push_back(*send);
  }

  Fabric fabric;
  std::vector<PortId> nics;
  std::optional<EngineScript> script;
  std::optional<Coordinator> coordinator;
  std::vector<SendToAgent> sent;
};

TEST(EngineChoice, AllWithRdmaDevicesSendByQueuePairsOnceAllHaveCome) {
  Hosts run(2);
  run.hails("host1", "mlx5_0");
  EXPECT_EQ(run.started_with("host1"), "-") << "not before the others have told";
  run.hails("host2", "mlx5_1");
  EXPECT_EQ(run.started_with("host1"), "verbs");
  EXPECT_EQ(run.started_with("host2"), "verbs");
  EXPECT_EQ(run.script->engine, "verbs");
  EXPECT_EQ(run.script->why, "each of the 2 NICs has an RDMA device");
}

TEST(EngineChoice, NoneWithRdmaDevicesSendRawPackets) {
  Hosts run(2);
  run.hails("host1", "");
  run.hails("host2", "");
  EXPECT_EQ(run.started_with("host1"), "raw");
  EXPECT_EQ(run.script->why, "none of the 2 NICs has an RDMA device");
  EXPECT_TRUE(run.script->untested.empty());
}

TEST(EngineChoice, WhoHasNoneAmongManyIsNotTestedAndNamed) {
  Hosts run(3);
  run.hails("host1", "mlx5_0");
  run.hails("host2", "");
  run.hails("host3", "mlx5_0");
  EXPECT_EQ(run.started_with("host1"), "verbs");
  EXPECT_EQ(run.started_with("host2"), "-");
  EXPECT_EQ(run.script->choices, 1);
  EXPECT_EQ(run.script->why, "2 of 3 NICs have an RDMA device; not tested: host2");
  ASSERT_EQ(run.script->untested.size(), 1u);
  EXPECT_THAT(run.script->untested[0].why,
              HasSubstr("no RDMA device has an address of eth0, and the others"));
  EXPECT_TRUE(run.script->excluded.contains(run.nics[1]));
  EXPECT_TRUE(run.script->blamed.empty()) << "it may be a host that is to have none";
}

TEST(EngineChoice, WhoHasOneAmongFewIsNotTestedEither) {
  Hosts run(3);
  run.hails("host1", "mlx5_0");
  run.hails("host2", "");
  run.hails("host3", "");
  EXPECT_EQ(run.started_with("host2"), "raw");
  EXPECT_EQ(run.started_with("host1"), "-");
  ASSERT_EQ(run.script->untested.size(), 1u);
  EXPECT_THAT(run.script->untested[0].why, HasSubstr("its RDMA device mlx5_0 takes"));
}

TEST(EngineChoice, AnAgentThatDoesNotComeDelaysItNoLongerThanTheGathering) {
  Hosts run(2);
  run.hails("host1", "mlx5_0");
  for (int tick = 1; tick <= 110; ++tick) {
    const TimePoint at = kBegin + tick * std::chrono::milliseconds(100);
    run.keep(run.coordinator->on_message("host1", Alive{}, at));
    run.keep(run.coordinator->on_tick(at));
  }
  EXPECT_EQ(run.started_with("host1"), "verbs");
  const auto alive = std::ranges::count_if(
      run.sent, [](const SendToAgent& m) { return std::holds_alternative<Alive>(m.message); });
  EXPECT_GE(alive, 10) << "it is told that it is not forgotten";
}

TEST(EngineChoice, IsLeftToEachNicWhereTheyNeedNotAnswerEachOther) {
  Hosts run(2);
  run.script->mixes = true;
  run.hails("host1", "mlx5_0");
  EXPECT_EQ(run.started_with("host1"), "") << "at once, and as its NIC can";
  EXPECT_EQ(run.script->choices, 0);
}

TEST(EngineChoice, IsNoneWhereAgentsWereTold) {
  Hosts run(2);
  run.hails("host1", "", "raw");
  EXPECT_EQ(run.started_with("host1"), "");
  EXPECT_EQ(run.script->choices, 0);
}

TEST(EngineChoice, NamesAFewOfMany) {
  const Fabric fabric = make_clos({.leaves = 1, .spines = 1, .hosts_per_leaf = 20}).value();
  std::vector<OfferOfNic> offers;
  for (const PortId nic : fabric.nics())
    offers.push_back({nic, {"eth0", offers.size() < 10 ? "mlx5_0" : "", ""}});
  const auto choice = choose_engine(fabric, offers);
  EXPECT_EQ(choice.engine, kVerbsEngine) << "of as many, those that jobs use";
  EXPECT_THAT(choice.why, HasSubstr("10 of 20 NICs have an RDMA device; not tested: host11, host12, host13, "
                                    "host14 and 6 more"));
}

TEST(TimeLimit, EndsTheGatheringWithWhoDidNotCome) {
  Hosts run(2);
  Coordinator limited(run.fabric, *run.script, {RunId(7), {}},
                      {{run.fabric.hosts()[0], {{"eth0", run.nics[0]}}}},
                      {.limit = TimeLimit{kBegin + std::chrono::seconds(3), std::chrono::seconds(3)}});
  limited.start(kBegin);
  limited.on_tick(kBegin + std::chrono::milliseconds(2900));
  EXPECT_FALSE(limited.is_done());
  limited.on_tick(kBegin + std::chrono::seconds(3));
  EXPECT_TRUE(limited.is_done());
  EXPECT_EQ(run.script->ended_by, "the time given (--timeout 3s) was over while gathering agents");
  ASSERT_EQ(run.script->untested.size(), 1u);
  EXPECT_THAT(run.script->untested[0].why, HasSubstr("did not come before"));
  EXPECT_TRUE(limited.outcome()) << "what is known is of use";
}

TEST(TimeLimit, EndsAWaveAndIsAnErrorWhereNothingIsOfUse) {
  Hosts run(1);
  run.script->keeps_a_part = false;
  Coordinator limited(run.fabric, *run.script, {RunId(7), {}},
                      {{run.fabric.hosts()[0], {{"eth0", run.nics[0]}}}},
                      {.limit = TimeLimit{kBegin + std::chrono::seconds(1), std::chrono::seconds(1)}});
  limited.start(kBegin);
  limited.on_message("host1", Hello{.host = "host1", .engine = "raw"}, kBegin);
  limited.on_message("host1", Ready{}, kBegin);
  limited.on_tick(kBegin + std::chrono::seconds(1));
  EXPECT_TRUE(limited.is_done());
  ASSERT_FALSE(limited.outcome());
  EXPECT_EQ(limited.outcome().error().kind, ErrorKind::timeout);
  EXPECT_THAT(limited.outcome().error().message, HasSubstr("was over while asking"));
}

}  // namespace
}  // namespace weft::session
