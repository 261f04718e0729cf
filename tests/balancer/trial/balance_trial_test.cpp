// A trial over a world in arithmetic: agents answer from the script's own work, links count what the labels
// put on them.
#include "balancer/trial/balance_trial.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancer/demand/collectives.hpp"
#include "balancer/trial/trial_summary.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/work.hpp"
#include "topology/model/clos.hpp"

namespace weft::trial {
namespace {

using std::chrono::milliseconds;

/// Probes are answered by the simulator, transfers by arithmetic; time passes by 1 ms a question.
class FakeTrialWorld : public TrialWorld {
 public:
  FakeTrialWorld(const Fabric& fabric, const AddressBook& addresses)
      : fabric_(fabric), addresses_(addresses), counters_(fabric.channel_count()) {
    heal();
  }

  std::set<PortId> lost_agents;
  bool breaks = false;  // every queue pair
  // After a diagnosis:
  std::optional<PortId> mute;     // nothing that it sends is acknowledged
  std::optional<PortId> late;     // it is asked two seconds late
  std::uint64_t stray_bytes = 0;  // on the first channel, at every reading

  Result<std::vector<std::uint64_t>> carried() override {
    counters_[0] += stray_bytes;
    return counters_;
  }
  Nanoseconds now() override { return now_ += milliseconds(1); }
  Result<void> take_down(LinkId link) override {
    open({{.link = link, .down = true}});
    down_ = link;
    return {};
  }

  void run(BalanceTrial& trial) {
    for (auto wave = trial.next_wave(); !wave.empty(); wave = trial.next_wave())
      for (const session::WorkItem& item : wave) answer(trial, item);
  }
  std::size_t transfers = 0;

 private:
  void heal() { open({}); }
  void open(const std::vector<FaultSpec>& faults) {
    engines_ = run::simulated_engines(fabric_, addresses_, faults, 1);
  }

  void answer(BalanceTrial& trial, const session::WorkItem& item) {
    if (lost_agents.contains(item.nic)) {
      trial.blame({fabric_.port(item.nic).node, item.nic, Verdict::failed, std::nullopt, "its agent died"});
      trial.exclude(item.nic);
      return trial.take(item, nullptr);
    }
    if (const auto* request = std::get_if<datapath::TransferRequest>(&item.work))
      return deliver(trial, item, *request);
    const auto* query = std::get_if<session::ReceivedQuery>(&item.work);
    if (query && received_.contains(query->batch)) {
      const session::TaskAnswer tallies(received_[query->batch][item.nic]);
      return trial.take(item, &tallies);
    }
    const auto engines = engines_({"p1", item.nic}, {RunId(1), {}}, {});
    ASSERT_TRUE(engines);
    const auto done = do_work(*engines, item.work, {});
    trial.take(item, done ? &*done : nullptr);
  }

  /// The path of a label as the simulator's switches hash it now; absent: it leads over the dead link.
  std::optional<std::vector<ChannelId>> path_of(PortId src, PortId dst, PathLabel label) {
    const session::SweepInputs in{fabric_, addresses_, {}, RunId(1)};
    session::SweepResults results(in);
    datapath::TraceRequest trace{.run = RunId(1),
                                 .batch = BatchId(1U << 30),
                                 .peers = {{dst, *addresses_.address_of(dst)}},
                                 .specs = {{0, label, 4}}};
    const auto hops = (*engines_({"p1", src}, {RunId(1), {}}, {})).probes->trace(trace, {});
    results.learner.learn(src, dst, label, *hops);
    const PathMap map = results.learner.path_map();
    if (map.pairs.empty() || map.pairs[0].paths.empty()) return std::nullopt;
    const auto channels = map.table.channels(map.pairs[0].paths[0].path);
    return std::vector<ChannelId>(channels.begin(), channels.end());
  }

  void deliver(BalanceTrial& trial, const session::WorkItem& item, const datapath::TransferRequest& request) {
    ++transfers;
    std::vector<datapath::TransferTally> tallies;
    const bool diagnosed = trial.after_failure() && trial.after_failure()->diagnosing > 0;
    if (diagnosed && item.nic == late) now_ += std::chrono::seconds(2);
    for (std::uint32_t i = 0; i < request.specs.size(); ++i) {
      const datapath::TransferSpec& spec = request.specs[i];
      const PortId dst = request.peers[spec.peer].nic;
      const auto there = path_of(item.nic, dst, spec.label);
      const auto back = path_of(dst, item.nic, spec.back_label);
      const bool arrives = there && back && !(diagnosed && item.nic == mute);
      tallies.push_back({i, spec.packets, arrives ? spec.packets : 0, milliseconds(arrives ? 900 : 0)});
      tallies.back().took = milliseconds(900);
      if (breaks) tallies.back().error = "its queue pair broke";
      if (!arrives) continue;
      tallies.back().first = milliseconds(2);
      for (const ChannelId c : *there) counters_[c.value()] += std::uint64_t{spec.packets} * 4110;
      for (const ChannelId c : *back) counters_[c.value()] += std::uint64_t{spec.packets} * 118;
      received_[request.batch][dst].push_back({.batch = request.batch,
                                               .from = item.nic,
                                               .spec = i,
                                               .packets = spec.packets,
                                               .bytes = std::uint64_t{spec.packets} * 4096});
    }
    now_ += milliseconds(900);
    const session::TaskAnswer done(tallies);
    trial.take(item, &done);
    now_ -= milliseconds(900);  // all agents send at once
  }

  const Fabric& fabric_;
  const AddressBook& addresses_;
  session::OpenEngines engines_;
  std::vector<std::uint64_t> counters_;
  std::optional<LinkId> down_;
  Nanoseconds now_ = std::chrono::seconds(5);
  std::map<BatchId, std::map<PortId, std::vector<datapath::ReceivedTally>>> received_;
};

struct TrialTest : ::testing::Test {
  Fabric fabric = *make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 4, .link = Bandwidth::mbit(50)});
  AddressPlan addresses = *plan_addresses(fabric, IpFamily::v4);
  demand::Demand demand = demand::make_shift(fabric.nics(), 4, Bytes(4'096'000));
  FakeTrialWorld world{fabric, addresses.book};
  TrialOptions options{
      .assign = {.qps = 2},
      .repeats = 2,
      .frames = {Bytes(4110), Bytes(118)},
      .sweep = {.budget = std::chrono::seconds(2), .answers_per_second = 1e5, .probes_per_second = 1500}};

  BalanceTrial trial() { return {fabric, addresses.book, demand, RunId(1), options, world}; }
};

TEST_F(TrialTest, LinksCarryWhatWasPlannedForThem) {
  auto t = trial();
  world.run(t);
  ASSERT_TRUE(t.outcome());
  ASSERT_EQ(t.sendings().size(), 4u);
  EXPECT_EQ(t.assignment().ratio(), 1.0);
  for (const TrialSending& sending : t.sendings()) {
    EXPECT_EQ(sending.counted, sending.planned);
    EXPECT_EQ(sending.unfinished, 0u);
    EXPECT_EQ(sending.wanted, 8u * 1000);
    EXPECT_EQ(sending.received, 8u * 1000);
    EXPECT_NEAR(sending.measured, 0.9, 1e-9);
  }
  const auto summary = summarize(fabric, options, t);
  EXPECT_EQ(summary.worst->counted, summary.worst->planned);
  EXPECT_GT(summary.gain_predicted, 1.0);
}

TEST_F(TrialTest, BytesThatWereNotPlannedAreComplainedOf) {
  world.stray_bytes = 100'000;
  auto t = trial();
  world.run(t);
  const auto summary = summarize(fabric, options, t);
  EXPECT_EQ(summary.worst->channel, ChannelId(0));
  EXPECT_THAT(summary.complaints, ::testing::Contains(::testing::HasSubstr("host1->leaf1 carried")));
}

TEST_F(TrialTest, WhatAQueuePairSaidAsItBrokeIsComplainedOf) {
  world.breaks = true;
  auto t = trial();
  world.run(t);
  EXPECT_THAT(
      summarize(fabric, options, t).complaints,
      ::testing::Contains(::testing::MatchesRegex("host1 -> host5 by label [0-9]+: its queue pair broke")));
}

TEST_F(TrialTest, AfterAFailureNothingCrossesTheDeadLinkAndEverythingArrives) {
  options.fail = *fabric.find_link("leaf1--spine2");
  auto t = trial();
  world.run(t);
  ASSERT_TRUE(t.outcome()) << t.outcome().error().message;
  ASSERT_TRUE(t.after_failure());
  const TrialAfterFailure& after = *t.after_failure();
  EXPECT_GT(after.stuck.unfinished, 0u);
  EXPECT_EQ(after.verdict, Verdict::failed);
  EXPECT_EQ(after.blamed, std::vector<LinkId>{*options.fail});
  EXPECT_GT(after.moved, 0u);
  EXPECT_EQ(after.again.unfinished, 0u);
  EXPECT_EQ(after.again.counted, after.again.planned);
  EXPECT_EQ(bytes_over(after.again, *options.fail), 0);
  EXPECT_EQ(after.unacknowledged, 0u);
  EXPECT_GT(after.in_force.value(), 0);
  EXPECT_LT(after.in_force.value(), 1);
  EXPECT_NEAR(t.assignment().ratio(), 1.0, 1e-9);
}

TEST_F(TrialTest, ALabelThatIsNeverAcknowledgedIsNotInForce) {
  options.fail = *fabric.find_link("leaf1--spine2");
  world.mute = fabric.nics()[5];
  auto t = trial();
  world.run(t);
  ASSERT_TRUE(t.outcome() && t.after_failure());
  EXPECT_EQ(t.after_failure()->unacknowledged, 2u) << "both QPs of its one flow";
  EXPECT_TRUE(t.after_failure()->first_byte) << "others were";
  EXPECT_FALSE(t.after_failure()->in_force);
  EXPECT_THAT(summarize(fabric, options, t).complaints,
              ::testing::Contains("2 of 16 QPs were never acknowledged by their new labels"));
}

TEST_F(TrialTest, AnAgentThatWasAskedLateHasItsLabelsInForceLate) {
  options.fail = *fabric.find_link("leaf1--spine2");
  world.late = fabric.nics()[5];
  auto t = trial();
  world.run(t);
  ASSERT_TRUE(t.outcome() && t.after_failure());
  EXPECT_LT(t.after_failure()->first_byte.value(), 1) << "of the agents before it";
  EXPECT_GT(t.after_failure()->in_force.value(), 2);
  EXPECT_THAT(summarize(fabric, options, t).complaints,
              ::testing::Contains(::testing::HasSubstr("in force 2.")));
}

TEST_F(TrialTest, ALostAgentEndsItWithTheReason) {
  world.lost_agents.insert(fabric.nics()[2]);
  auto t = trial();
  world.run(t);
  ASSERT_FALSE(t.outcome());
  EXPECT_EQ(t.outcome().error().message, "host3: its agent died");
  EXPECT_TRUE(t.sendings().empty());
}

TEST_F(TrialTest, WithoutRepeatsPathsAreMappedAndNothingIsSent) {
  options.repeats = 0;
  auto t = trial();
  world.run(t);
  ASSERT_TRUE(t.outcome());
  EXPECT_EQ(world.transfers, 0u);
  EXPECT_EQ(t.paths().pairs.size(), 8u);
  for (const assign::SteeredQp& qp : t.assignment().phases[0].qps) EXPECT_TRUE(qp.label && qp.reverse);
}

TEST_F(TrialTest, PhasesAreSentOneAfterTheOther) {
  demand = make_collective(demand::Collective::recursive_doubling, fabric.nics(), Bytes(409'600));
  options.repeats = 1;
  auto t = trial();
  world.run(t);
  ASSERT_TRUE(t.outcome());
  EXPECT_EQ(world.transfers, 2u * 3 * 8);
  EXPECT_NEAR(t.sendings()[0].measured, 3 * 0.9, 1e-9);
  EXPECT_EQ(t.sendings()[0].counted, t.sendings()[0].planned);
}

}  // namespace
}  // namespace weft::trial
