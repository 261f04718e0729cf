#include "balancer/reliability/simulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "balancer/reliability/closed_form.hpp"
#include "tests/support/exact_chain.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/model/clos.hpp"

namespace weft::reliability {
namespace {

using files::RepairLaw;

files::ClassRates class_rates(PartClass part, double per_hour, std::uint64_t parts, Hours repair) {
  return {.part = part,
          .events = per_hour * 1e6 * static_cast<double>(parts),
          .parts = parts,
          .time = Hours(1e6),
          .repair = {{RepairLaw::fixed, repair, 0, 1}}};
}

Plant small_plant() { return make_plant(*make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 4}), {}, 8); }

Failure failure(double at, PartClass part, Index index, double repair, Effect effect = Effect::stops) {
  return {.at = Hours(at),
          .repair = Hours(repair),
          .cause = static_cast<std::uint32_t>(part),
          .part = index,
          .effect = effect};
}

/// Of a job of so many hosts on the small plant; every time is round, checkpoints cost nothing.
Outcome outcome_of(std::vector<Failure> failures, Job job, double hours = 100) {
  static const Plant plant = small_plant();
  static const files::Rates rates{.origin = "test",
                                  .classes = {class_rates(PartClass::switch_cable, 1, 1, Hours(1))}};
  const HistorySource source(plant, rates);
  return Simulator(source, job).run({Hours(hours), std::move(failures)});
}

Job job_of(Index hosts, Index spares) {
  Job job{.hosts = hosts, .spares = spares};
  job.detect = Hours(0.5), job.restart = Hours(0.5);
  job.checkpoint_every = Hours(1), job.checkpoint_cost = Hours(0);
  job.network_share = 1;
  return job;
}

double all(const TimeSpent& time) {
  return (time.effective + time.checkpoints + time.repeated + time.detection + time.restart + time.waiting +
          time.slow + time.sweeps + time.shrunk)
      .count();
}

TEST(Simulator, ASlowGpuSlowsWhatIsNoNetworkAndSlowSoftwareIsMendedByARestart) {
  auto job = job_of(4, 4);
  job.network_share = 0.2, job.find_slow = Hours(10), job.detect = job.restart = Hours(0.5);
  const auto gpu = outcome_of({failure(10, PartClass::gpu, 0, 5, Effect::slows)}, job);
  EXPECT_EQ(gpu.all_interruptions(), 0U);
  EXPECT_EQ(gpu.drains, 1U);
  EXPECT_NEAR(gpu.time.slow.count(), 0, 1e-9) << "these rates say nothing of GPUs: as fast as ever";
  const auto software = outcome_of({failure(10, PartClass::software, 0, 0, Effect::slows)}, job);
  EXPECT_EQ(software.all_interruptions(), 0U) << "it stops nothing";
  EXPECT_EQ(software.drains, 1U);
  StepTime step;
  step.note(static_cast<std::size_t>(PartClass::gpu), 2);
  EXPECT_DOUBLE_EQ(step.over_whole(0.2), 1.8);
  step.note(static_cast<std::size_t>(PartClass::leaf), 4);
  step.note(static_cast<std::size_t>(PartClass::switch_cable), 3);
  EXPECT_DOUBLE_EQ(step.over_whole(0.2), 2.4);
}

TEST(Simulator, ABundleThatIsNotTheNarrowestMayLoseALink) {
  // Of a pod 6 NICs share 4 links to the cores, of a leaf 2 NICs 2 links: those above the spines are
  // narrower.
  const auto plant = make_plant(
      *make_pod_clos({.pods = 3, .leaves = 3, .spines = 2, .cores = 4, .hosts_per_leaf = 2}), {}, 1);
  PlantState state(plant);
  state.reset({.hosts = 18});
  const auto cable = [&](PartClass below) {
    for (Index i = 0;; ++i)
      if (plant.switches[plant.cables[i].lower].part == below) return i;
  };
  state.take_cable(cable(PartClass::leaf));
  EXPECT_NEAR(state.narrowest(), (2 * 16 / 1.0) / (6 * 12 / 4.0), 1e-9);
  state.give_cable(cable(PartClass::leaf));
  EXPECT_EQ(state.narrowest(), 1);
  state.take_cable(cable(PartClass::spine));
  EXPECT_NEAR(state.narrowest(), 4.0 / 3, 1e-9);
  state.reset({.hosts = 2});
  state.take_cable(cable(PartClass::leaf));
  state.take_cable(cable(PartClass::spine));
  EXPECT_EQ(state.narrowest(), 1) << "two hosts of a leaf send nothing over it";
}

TEST(Simulator, AnInterruptionCostsWhatCameSinceTheCheckpointDetectionAndRestart) {
  const auto outcome = outcome_of({failure(10.25, PartClass::host, 0, 5)}, job_of(4, 4));
  EXPECT_EQ(outcome.all_interruptions(), 1U);
  EXPECT_DOUBLE_EQ(outcome.time.repeated.count(), 0.25);
  EXPECT_DOUBLE_EQ(outcome.time.detection.count(), 0.5);
  EXPECT_DOUBLE_EQ(outcome.time.restart.count(), 0.5);
  EXPECT_DOUBLE_EQ(outcome.time.effective.count(), 98.75);
  EXPECT_EQ(outcome.full, 1U);
}

TEST(Simulator, WithoutASpareTheJobWaitsForTheRepair) {
  const auto outcome = outcome_of({failure(10, PartClass::host, 3, 5)}, job_of(8, 0));
  EXPECT_DOUBLE_EQ(outcome.time.waiting.count(), 4.5);  // from the end of detection
  EXPECT_EQ(outcome.full, 0U);
  auto shrinking = job_of(8, 0);
  shrinking.shortage = Shortage::shrink;
  const auto shrunk = outcome_of({failure(10, PartClass::host, 3, 5)}, shrinking);
  EXPECT_EQ(shrunk.time.waiting, Hours(0));
  EXPECT_NEAR(shrunk.time.shrunk.count(), 4.0 / 8, 1e-9) << "from 11 h until the repair at 15 h";
  EXPECT_DOUBLE_EQ(shrunk.time.restart.count(), 1) << "smaller, and whole again";
}

TEST(Simulator, AJobThatShrankAndGrewIsHitByItsHostsAsBefore) {
  auto job = job_of(8, 0);
  job.shortage = Shortage::shrink, job.group = 2;
  // The leaf's four hosts are back at 15 h: each of them interrupts again.
  std::vector<Failure> failures{failure(10, PartClass::leaf, 0, 5)};
  for (Index host = 0; host < 8; ++host)
    failures.push_back(failure(20 + 10 * host, PartClass::host, host, 2));
  const auto outcome = outcome_of(failures, job, 200);
  EXPECT_EQ(outcome.all_interruptions(), 9U);
  EXPECT_NEAR(all(outcome.time), 200, 1e-9);
  // Of groups of two the second host of the group that is short is no part of the job.
  const auto idle =
      outcome_of({failure(10, PartClass::host, 0, 20), failure(15, PartClass::host, 7, 1)}, job);
  EXPECT_EQ(idle.all_interruptions(), 1U);
  // What a host does until the next failure is less than a restart takes: the job stays as it is.
  std::vector<Failure> often{failure(10, PartClass::host, 3, 1.5)};
  for (int i = 0; i < 300; ++i) often.push_back(failure(13 + i * 0.01, PartClass::switch_cable, 0, 0.001));
  job.group = 1;
  EXPECT_NEAR(outcome_of(often, job, 20).time.shrunk.count(), 2.0 / 8, 1e-9);
}

TEST(Simulator, WithoutARailAHostLacksOneNicAndNoSecondOne) {
  const auto plant =
      make_plant(*make_rails({.groups = 2, .hosts_per_group = 4, .rails = 4, .spines = 2}), {}, 4);
  const files::Rates rates{.origin = "test", .classes = {class_rates(PartClass::leaf, 1, 1, Hours(1))}};
  const HistorySource source(plant, rates);
  auto job = job_of(8, 0);
  job.without_rail = true;
  const auto run = [&](std::vector<Failure> failures) {
    return Simulator(source, job).run({Hours(100), std::move(failures)});
  };
  const auto one = run({failure(10, PartClass::leaf, 0, 10)});
  EXPECT_EQ(one.all_interruptions(), 0U);
  EXPECT_NEAR(one.time.slow.count(), 10 * (1 - 3.0 / 4), 1e-9);
  EXPECT_EQ(one.undetected, Hours(0)) << "it is known";
  EXPECT_EQ(
      run({failure(10, PartClass::leaf, 0, 10), failure(12, PartClass::leaf, 1, 10)}).all_interruptions(),
      1U);
  EXPECT_EQ(run({failure(10, PartClass::nic, 0, 10), failure(12, PartClass::nic, 0, 10)}).all_interruptions(),
            0U)
      << "it is out already";
  const auto other =
      static_cast<Index>(std::find(plant.nic_host.begin() + 1, plant.nic_host.end(), plant.nic_host[0]) -
                         plant.nic_host.begin());
  const auto both = [&](double repair) {
    return run({failure(10, PartClass::nic, 0, repair), failure(12, PartClass::nic, other, repair)});
  };
  EXPECT_EQ(both(10).all_interruptions(), 1U);
  EXPECT_EQ(both(1).all_interruptions(), 0U);
  job.without_rail = false, job.dual_leaf = true;
  EXPECT_EQ(run({failure(10, PartClass::nic, 0, 10)}).all_interruptions(), 1U) << "a NIC is not there twice";
  const auto dual = run({failure(10, PartClass::host_cable, 0, 10), failure(10, PartClass::leaf, 1, 10)});
  EXPECT_EQ(dual.all_interruptions(), 0U);
  EXPECT_NEAR(dual.time.slow.count(), 10 * (1 - 3.0 / 4), 1e-9) << "a host has two halves less";
}

TEST(Simulator, OfAHostWithAllItsNicsAtOneLeafNoneIsLeftWithoutIt) {
  const auto file = files::parse_fabric_file(
      "fabric: f\nnodes:\n"
      "  - {name: leaf1, kind: switch, tier: leaf}\n  - {name: leaf2, kind: switch, tier: leaf}\n"
      "  - {name: host1, kind: host}\n  - {name: host2, kind: host}\n"
      "links:\n"
      "  - {a: host1/p1, b: leaf1/p1, rate: 400G}\n  - {a: host1/p2, b: leaf1/p2, rate: 400G}\n"
      "  - {a: host2/p1, b: leaf1/p3, rate: 400G}\n  - {a: host2/p2, b: leaf2/p1, rate: 400G}\n"
      "  - {a: leaf1/p4, b: leaf2/p2, rate: 400G}\n",
      "test");
  ASSERT_TRUE(file) << file.error().message;
  const auto plant = make_plant(file->fabric, {}, 2);
  const files::Rates rates{.origin = "test", .classes = {class_rates(PartClass::leaf, 1, 1, Hours(1))}};
  const HistorySource source(plant, rates);
  auto job = job_of(2, 0);
  job.without_rail = true;
  const auto outcome = Simulator(source, job).run({Hours(100), {failure(10, PartClass::leaf, 0, 10)}});
  EXPECT_EQ(outcome.all_interruptions(), 1U);
  EXPECT_NEAR(outcome.time.waiting.count(), 9.5, 1e-9);
  EXPECT_EQ(
      Simulator(source, job).run({Hours(100), {failure(10, PartClass::leaf, 1, 10)}}).all_interruptions(),
      0U);
}

TEST(Simulator, ALeafTakesAllItsHostsAndOneSpareIsNotEnough) {
  const std::vector<Failure> leaf{failure(10, PartClass::leaf, 0, 4)};
  EXPECT_GT(outcome_of(leaf, job_of(6, 2)).time.waiting, Hours(3));
  EXPECT_EQ(outcome_of(leaf, job_of(4, 4)).time.waiting, Hours(0));
  auto dual = job_of(6, 2);
  dual.dual_leaf = true;
  EXPECT_EQ(outcome_of(leaf, dual).all_interruptions(), 0U) << "it goes on with half of the rate";
}

TEST(Simulator, AMissingUplinkSlowsByTheLinksThatAreLeftAndSeveralOfOneLeafAddUp) {
  const auto one = outcome_of({failure(0, PartClass::switch_cable, 0, 50)}, job_of(8, 0));
  EXPECT_NEAR(one.time.slow.count(), 49 * 0.25, 1.1);  // 3 of 4 links for 50 h; the restart is in it
  const auto two = outcome_of(
      {failure(0, PartClass::switch_cable, 0, 50), failure(0, PartClass::switch_cable, 1, 50)}, job_of(8, 0));
  EXPECT_NEAR(two.time.slow.count(), 49 * 0.5, 1.1);
  const auto apart = outcome_of(
      {failure(0, PartClass::switch_cable, 0, 50), failure(0, PartClass::switch_cable, 4, 50)}, job_of(8, 0));
  EXPECT_NEAR(apart.time.slow.count(), one.time.slow.count(), 1.1)
      << "of two leaves the narrower counts alone";
}

TEST(Simulator, WhatIsSilentSlowsUntilASweepFindsIt) {
  auto job = job_of(4, 4);
  const std::vector<Failure> silent{failure(10.5, PartClass::switch_cable, 0, 5, Effect::silent)};
  EXPECT_NEAR(outcome_of(silent, job).undetected.count(), 89.5, 1e-9);
  job.sweeps = {.policy = SweepPolicy::every, .every = Hours(24), .cost = Hours(0.1)};
  const auto swept = outcome_of(silent, job);
  EXPECT_NEAR(swept.undetected.count(), 13.5, 1e-9);
  EXPECT_NEAR(swept.time.sweeps.count(), 0.4, 1e-9);
  EXPECT_NEAR(all(swept.time), 100, 1e-6);
}

TEST(Simulator, ASweepThatFindsSomethingTakesItsTimeToo) {
  auto job = job_of(4, 4);
  job.sweeps = {.policy = SweepPolicy::every, .every = Hours(24), .cost = Hours(0.1)};
  const auto outcome = outcome_of({failure(10.5, PartClass::nic, 0, 5, Effect::silent),
                                   failure(11, PartClass::nic, 1, 5, Effect::silent)},
                                  job);
  EXPECT_NEAR(outcome.time.sweeps.count(), 0.4, 1e-9);
  EXPECT_NEAR(outcome.time.restart.count(), 0.5, 1e-9) << "one restart for both";
  EXPECT_NEAR(all(outcome.time), 100, 1e-9);
}

TEST(Simulator, PlannedWorkLosesNoWorkAndNeedsASpareForEachHost) {
  auto job = job_of(4, 0);
  job.planned = {.every = Hours(10), .length = Hours(2), .hosts = 1};
  const auto without = outcome_of({}, job);
  EXPECT_DOUBLE_EQ(without.time.waiting.count(), 9 * 2) << "at 10, 20, ... 90 h";
  EXPECT_DOUBLE_EQ(without.time.repeated.count(), 0);
  EXPECT_EQ(without.all_interruptions(), 0U);
  EXPECT_NEAR(all(without.time), 100, 1e-9);
  job.spares = 1;
  const auto with = outcome_of({}, job);
  EXPECT_DOUBLE_EQ(with.time.waiting.count(), 0);
  EXPECT_DOUBLE_EQ(with.time.restart.count(), with.drains * 0.5);
  EXPECT_EQ(with.full, with.restarts);
  // The host that is taken while the job restarts is replaced too.
  const auto during = outcome_of({failure(9.2, PartClass::host, 3, 50)}, job, 12);
  EXPECT_DOUBLE_EQ(during.time.waiting.count(), 2) << "two of five hosts are out from 10 h to 12 h";
}

TEST(Simulator, FailuresOfPartsThatAreDownAndOfHostsOutsideThePoolChangeNothing) {
  const auto once = outcome_of({failure(10, PartClass::host, 0, 5)}, job_of(4, 2));
  const auto twice = outcome_of({failure(10, PartClass::host, 0, 5), failure(11.5, PartClass::host, 0, 500),
                                 failure(20, PartClass::host, 7, 5)},
                                job_of(4, 2));
  EXPECT_EQ(twice.all_interruptions(), once.all_interruptions());
  EXPECT_EQ(twice.time.effective, once.time.effective);
}

TEST(Simulator, AFailureDuringTheRestartBeginsItAnew) {
  const auto outcome =
      outcome_of({failure(10, PartClass::host, 0, 5), failure(10.75, PartClass::host, 1, 5)}, job_of(4, 4));
  EXPECT_EQ(outcome.all_interruptions(), 2U);
  EXPECT_NEAR(all(outcome.time), 100, 1e-9);
  EXPECT_DOUBLE_EQ((outcome.time.detection + outcome.time.restart).count(), 1.75);
}

TEST(Simulator, TimeAddsUpWhateverComes) {
  const auto plant = small_plant();
  auto rates = files::published_rates();
  for (auto& each : rates.classes) each.events = 1e5, each.stops = 0.5, each.slows = 0.2, each.silent = 0.3;
  const HistorySource source(plant, rates);
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    auto job = job_of(5, static_cast<Index>(seed % 4));
    job.checkpoint_cost = Hours(0.05);
    job.shortage = seed % 2 == 0 ? Shortage::wait : Shortage::shrink;
    job.crews = static_cast<Index>(seed % 3);
    job.sweeps.policy = static_cast<SweepPolicy>(seed % 4);
    const auto outcome = Simulator(source, job).run(source.draw(seed, {.seed = 3, .length = Hours(500)}));
    EXPECT_NEAR(all(outcome.time), 500, 1e-6) << seed;
    EXPECT_GE(outcome.time.effective, Hours(0)) << seed;
  }
}

TEST(Simulator, OneRateOfFailuresGivesTheClosedForm) {
  const auto plant = small_plant();
  const files::Rates rates{.origin = "test",
                           .classes = {class_rates(PartClass::software, 1.0 / 200 / 64, 64, Hours(0))}};
  const HistorySource source(plant, rates);
  auto job = job_of(8, 0);
  job.checkpoint_every = Hours(14), job.checkpoint_cost = Hours(0.5);
  job.detect = Hours(1), job.restart = Hours(2);
  const auto outcome =
      Simulator(source, job)
          .run(source.draw(1, {.seed = 1, .length = Hours(200 * 20'000), .open_rates = false}));
  EXPECT_NEAR(outcome.effective_share(), efficiency(Hours(14), Hours(0.5), Hours(3), Hours(200)), 0.004);
}

TEST(Simulator, TinyClustersComeNearToTheirExactChains) {
  for (const std::uint64_t seed : {2, 5, 8}) {  // two of them with a domain
    const auto cluster = draw_tiny_cluster(seed);
    const HistorySource source(cluster.plant, cluster.rates);
    Job job{.hosts = std::max<Index>(1, cluster.plant.hosts * 2 / 3)};
    job.spares = cluster.plant.hosts - job.hosts;
    job.detect = job.restart = Hours(0);
    double mean = 0, square = 0;
    constexpr int kRuns = 20;
    for (std::uint64_t i = 0; i < kRuns; ++i) {
      const auto outcome =
          Simulator(source, job)
              .run(source.draw(i, {.seed = seed, .length = Hours(10'000), .open_rates = false}));
      const double share = outcome.time.waiting / outcome.length;
      mean += share / kRuns, square += share * share / kRuns;
    }
    const double error = std::sqrt((square - mean * mean) / (kRuns - 1));
    EXPECT_NEAR(mean, exact_shortage(cluster, job.hosts), 4 * error) << seed;
  }
}

TEST(HistorySource, TheSameSeedGivesTheSameAndALowerRateLeavesTheOthersWhereTheyAre) {
  const auto plant = small_plant();
  auto rates = files::published_rates();
  for (auto& each : rates.classes) each.events *= 100;
  const HistorySource source(plant, rates);
  const auto one = source.draw(3, {.seed = 1, .length = Hours(1000)});
  const auto same = source.draw(3, {.seed = 1, .length = Hours(1000)});
  ASSERT_EQ(one.failures.size(), same.failures.size());
  for (std::size_t i = 0; i < one.failures.size(); ++i) EXPECT_EQ(one.failures[i].at, same.failures[i].at);
  rates.classes.erase(rates.classes.begin());  // without the GPUs
  const HistorySource fewer(plant, rates);
  const auto rest = fewer.draw(3, {.seed = 1, .length = Hours(1000)});
  std::size_t next = 0;
  for (const Failure& each : one.failures)
    if (each.cause != 0) {
      EXPECT_EQ(each.at, rest.failures[next++].at);
    }
  EXPECT_EQ(next, rest.failures.size());
}

TEST(HistorySource, EarlyFailuresComeEarlyAndWearComesLate) {
  const auto plant = small_plant();
  const auto mean_time = [&](double shape) {
    files::Rates rates{.origin = "test", .classes = {class_rates(PartClass::host, 0.001, 8, Hours(1))}};
    rates.classes[0].ageing = files::Ageing{shape, Hours(0)};
    const HistorySource source(plant, rates);
    double sum = 0, count = 0;
    for (std::uint64_t i = 0; i < 400; ++i)
      for (const Failure& each :
           source.draw(i, {.seed = 1, .length = Hours(800), .open_rates = false}).failures)
        sum += each.at.count(), ++count;
    return sum / count;
  };
  EXPECT_LT(mean_time(0.5), 370);
  EXPECT_GT(mean_time(3), 450);
}

}  // namespace
}  // namespace weft::reliability
