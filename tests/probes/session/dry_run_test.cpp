// What a dry run tells is what the sweep then does.
#include "probes/session/dry_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/run/engines.hpp"
#include "topology/model/clos.hpp"
#include "topology/model/fault.hpp"

namespace weft::session {
namespace {

struct Planned {
  Fabric fabric =
      make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2, .link = Bandwidth::gbit(100)}).value();
  AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  plan::SendingPlan plan;
  std::uint64_t probes = 0;  // that the sweep's own count says were sent

  explicit Planned(const SweepOptions& options, std::vector<PortId> out = {}) {
    Sweep sweep(fabric, addresses.book, options, RunId(1));
    std::vector<PortId> nics(fabric.nics().begin(), fabric.nics().end());
    for (const PortId nic : out) {
      sweep.leave_out(nic);
      std::erase(nics, nic);
    }
    plan = dry_run(fabric, sweep, nics, {RunId(1), {}}, run::simulated_engines(fabric, addresses.book, {}, 1))
               .value();
    probes = sweep.finish().sent;
  }
  std::uint64_t packets(std::string_view stage) const {
    std::uint64_t all = 0;
    for (const plan::StageSending& each : plan.stages)
      if (each.stage == stage) all += each.packets;
    return all;
  }
  const plan::StageSending& stage(std::string_view name) const {
    return *std::ranges::find(plan.stages, name, &plan::StageSending::stage);
  }
};

TEST(DryRun, CountsTheProbesThatTheSweepSends) {
  const Planned run({});
  EXPECT_GT(run.probes, 0u);
  EXPECT_EQ(run.packets("probing"), run.probes);
  EXPECT_EQ(run.packets("loading"), 0u);
  EXPECT_EQ(run.plan.nics.size(), 4u);
  EXPECT_EQ(run.plan.switches.size(), 4u);
}

/// A sweep of simulated NICs whose devices stood in a pause for a second between two readings.
NicCounterSteps counted_in(const SweepOptions& options) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  const AddressPlan addresses = plan_addresses(fabric, IpFamily::v4).value();
  const auto open = run::simulated_engines(fabric, addresses.book, {}, 1);
  Sweep sweep(fabric, addresses.book, options, RunId(1));
  std::map<PortId, NicEngines> engines;
  for (const PortId nic : fabric.nics())
    engines.emplace(nic, open({fabric.name_of_nic(nic), nic}, {RunId(1), {}}, {}).value());
  std::map<PortId, std::uint64_t> readings;
  for (auto work = sweep.next_wave(); !work.empty(); work = sweep.next_wave())
    for (const WorkItem& item : work) {
      if (std::holds_alternative<CounterQuery>(item.work)) {
        const auto count = ++readings[item.nic];
        const TaskAnswer answer = std::vector<NicCounters>{
            {"mlx5_0", 1, std::chrono::seconds(2 * count), {{"rx_prio3_pause_duration", count * 1'000'000}}}};
        sweep.take(item, &answer);
        continue;
      }
      const auto answer = do_work(engines.at(item.nic), item.work, {});
      sweep.take(item, answer ? &*answer : nullptr);
    }
  EXPECT_EQ(sweep.nic_counters().size(), 2u);
  return sweep.nic_counters().at(0);
}

TEST(SweepCounters, OfTheLoadAreReadBeforeItAndApartFromThoseOfTheRun) {
  SweepOptions options{.load = LoadLevel::light};
  options.nic_counters = true;
  const auto loaded = counted_in(options);
  EXPECT_EQ(loaded.grew("rx_prio3_pause_duration"), 2'000'000u);
  EXPECT_EQ(loaded.load_window, std::chrono::seconds(2));
  EXPECT_EQ(std::get<Advanced>(loaded.load_steps.at("rx_prio3_pause_duration")).by, 1'000'000u);
  options.load = LoadLevel::none;
  const auto idle = counted_in(options);
  EXPECT_EQ(idle.grew("rx_prio3_pause_duration"), 1'000'000u);
  EXPECT_EQ(idle.load_window, Nanoseconds(0));
}

TEST(DryRun, KeepsToTheRatesThatAreAsked) {
  const Planned run({.answers_per_second = 50, .probes_per_second = 200});
  const plan::StageSending& maps = run.stage("mapping paths");
  EXPECT_LE(maps.answers_per_second, 50.5) << "what a switch is asked for";
  EXPECT_GE(maps.answers_per_second, 25);
  // 200 probes of 128 bytes a second, and the echoes of others' as many on the average.
  const plan::StageSending& small = run.stage("probing");
  EXPECT_EQ(small.size, Bytes(128));
  EXPECT_GE(small.nic, Bandwidth::bit(200 * 128 * 8));
  EXPECT_LE(small.nic, Bandwidth::bit(3 * 200 * 128 * 8));
  EXPECT_LT(run.plan.time(), std::chrono::seconds(60));
}

TEST(DryRun, SaysThatAFullLoadFillsChannels) {
  const Planned run({.load = LoadLevel::full});
  EXPECT_NEAR(run.stage("loading").share, 0.95, 0.01);
  EXPECT_GT(run.packets("loading"), 0u);
  EXPECT_NEAR(Planned({.load = LoadLevel::light}).stage("loading").share, 0.25, 0.01);
}

TEST(DryRun, HostsThatAreLeftOutSendNothing) {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  const Planned run({}, {fabric.nics()[0]});
  EXPECT_EQ(run.plan.nics.size(), 3u);
  EXPECT_FALSE(run.plan.nics.contains(fabric.nics()[0]));
  EXPECT_EQ(run.packets("probing"), run.probes);
}

TEST(SweepProgress, EachWaveBeginsWhereTheLastEndedOrLater) {
  for (const auto load : {LoadLevel::none, LoadLevel::full}) {
    const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
    const auto addresses = plan_addresses(fabric, IpFamily::v4).value();
    const auto fault = parse_fault(fabric, "leaf1--spine2:loss=1%").value();
    const auto open = run::simulated_engines(fabric, addresses.book, {fault}, 1);
    Sweep sweep(fabric, addresses.book, {.load = load}, RunId(1));
    std::map<PortId, NicEngines> engines;
    for (const PortId nic : fabric.nics()) engines.emplace(nic, open({"", nic}, {RunId(1), {}}, {}).value());
    double end = 0;
    int waves = 0;
    for (auto wave = sweep.next_wave(); !wave.empty(); wave = sweep.next_wave()) {
      ++waves;
      const auto part = sweep.part().value();
      EXPECT_GE(part.begin, end - 1e-9) << sweep.doing();
      EXPECT_GE(part.end, part.begin);
      end = part.end;
      for (const WorkItem& item : wave) {
        const auto answer = do_work(engines.at(item.nic), item.work, {});
        sweep.take(item, answer ? &*answer : nullptr);
      }
    }
    EXPECT_GE(waves, 5);
    EXPECT_GT(end, 0.8) << "what is left finds nothing to do";
    EXPECT_LE(end, 1.0);
  }
}

}  // namespace
}  // namespace weft::session
