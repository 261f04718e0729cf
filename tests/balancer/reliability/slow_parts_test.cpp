// Parts that are slow or out of use, in the simulator: what is not used slows and stops nothing.
#include <gtest/gtest.h>

#include "balancer/reliability/simulator.hpp"
#include "topology/model/clos.hpp"

namespace weft::reliability {
namespace {

files::ClassRates class_rates(PartClass part) {
  return {.part = part,
          .events = 1,
          .parts = 1,
          .time = Hours(1e6),
          .slow_to = 0.5,
          .repair = {{files::RepairLaw::fixed, Hours(1), 0, 1}}};
}

Failure failure(double at, PartClass part, Index index, double repair, Effect effect = Effect::stops) {
  return {.at = Hours(at),
          .repair = Hours(repair),
          .cause = static_cast<std::uint32_t>(part),
          .part = index,
          .effect = effect};
}

/// 2 leaves of 4 hosts and 4 spines; checkpoints cost nothing, the network is all of a step.
Outcome outcome_of(std::vector<Failure> failures, const Job& job) {
  static const Plant plant = make_plant(*make_clos({.leaves = 2, .spines = 4, .hosts_per_leaf = 4}), {}, 8);
  static const files::Rates rates{.origin = "test",
                                  .classes = {class_rates(PartClass::switch_cable),
                                              class_rates(PartClass::nic), class_rates(PartClass::spine)}};
  const HistorySource source(plant, rates);
  return Simulator(source, job).run({Hours(100), std::move(failures)});
}

Job job_of(Index hosts, Index spares) {
  Job job{.hosts = hosts, .spares = spares};
  job.detect = Hours(0.5), job.restart = Hours(0.5);
  job.checkpoint_every = Hours(1), job.checkpoint_cost = Hours(0);
  job.network_share = 1;
  return job;
}

TEST(SlowParts, ACableOrASpineThatIsOutOfUseDoesNotStopTheJobAgain) {
  const auto once = outcome_of({failure(10, PartClass::switch_cable, 0, 60)}, job_of(8, 0));
  EXPECT_EQ(once.all_interruptions(), 1U);
  const auto again =
      outcome_of({failure(10, PartClass::switch_cable, 0, 60), failure(20, PartClass::switch_cable, 0, 60)},
                 job_of(8, 0));
  EXPECT_EQ(again.all_interruptions(), 1U) << "it is under repair";
  const auto spine = outcome_of({failure(10, PartClass::spine, 0, 60), failure(20, PartClass::spine, 0, 60),
                                 failure(30, PartClass::switch_cable, 4, 60)},
                                job_of(8, 0));
  EXPECT_EQ(spine.all_interruptions(), 1U) << "and nothing is sent over its cables";
}

TEST(SlowParts, AHostThatTheJobDoesNotRunOnAnyMoreDoesNotSlowIt) {
  // The job runs on host 0, below the first leaf, and on host 4; the first leaf fails, and host 0 is
  // replaced.
  const auto outcome =
      outcome_of({failure(10, PartClass::nic, 0, 5, Effect::silent), failure(20, PartClass::leaf, 0, 1000)},
                 job_of(2, 6));
  EXPECT_EQ(outcome.all_interruptions(), 1U);
  EXPECT_NEAR(outcome.time.slow.count(), 5, 1e-9) << "10 hours at half the speed";
}

TEST(SlowParts, ACableThatWasSlowAndFailsIsWholeAfterItsRepair) {
  const auto outcome = outcome_of({failure(10, PartClass::switch_cable, 0, 5, Effect::silent),
                                   failure(20, PartClass::switch_cable, 0, 5)},
                                  job_of(8, 0));
  EXPECT_NEAR(outcome.time.slow.count(), 5 + 4 * 0.25, 1e-9) << "then three of four uplinks until 25 h";
}

TEST(SlowParts, ShorterRepairsAreShorterOnceForWhatWasFound) {
  auto job = job_of(8, 0);
  job.find_slow = Hours(1);
  job.repair_factor.fill(0.5);
  const auto outcome = outcome_of({failure(10, PartClass::switch_cable, 0, 8, Effect::slows)}, job);
  EXPECT_NEAR(outcome.time.slow.count(), 0.5 + 4 * 0.25, 1e-9) << "an hour until it is found, 4 without it";
}

TEST(SlowParts, TheCapsOfABlacklistKeepASecondUplinkOfALeafInUse) {
  auto job = job_of(8, 0);
  job.find_slow = Hours(1);
  const std::vector<Failure> failures{failure(10, PartClass::switch_cable, 0, 20, Effect::slows),
                                      failure(10, PartClass::switch_cable, 1, 20, Effect::slows)};
  EXPECT_NEAR(outcome_of(failures, job).time.slow.count(), 0.5 + 20 * 0.5, 1e-9) << "both out for 20 hours";
  job.caps = true;
  // One is out from 11 h to 31 h, the other is slow until it is asked for again, and out for 20 h.
  EXPECT_NEAR(outcome_of(failures, job).time.slow.count(), 21 * 0.5 + 20 * 0.25, 1e-9);
}

TEST(HistorySource, OffendersThatNobodyNamedAreDrawnAndTheRateOfTheClassStays) {
  const Plant plant = make_plant(*make_clos({.leaves = 8, .spines = 2, .hosts_per_leaf = 16}), {}, 8);
  auto hosts = class_rates(PartClass::host);
  hosts.events = 1e6, hosts.parts = plant.hosts, hosts.time = Hours(1e6);  // one in the plant an hour
  files::Rates rates{.origin = "test", .classes = {hosts}};
  const auto most_of_one = [&](std::uint64_t number) {
    const HistorySource source(plant, rates);
    const auto history = source.draw(number, {.seed = 1, .length = Hours(2000), .open_rates = false});
    EXPECT_NEAR(static_cast<double>(history.failures.size()), 2000, 200);
    std::vector<int> counts(plant.hosts, 0);
    for (const Failure& each : history.failures) ++counts[each.part];
    const auto most = std::ranges::max_element(counts);
    return std::pair(static_cast<Index>(most - counts.begin()), *most);
  };
  EXPECT_LT(most_of_one(0).second, 45) << "16 of each, by chance";
  rates.classes[0].offenders = files::Offenders{0.02, 20};
  const auto first = most_of_one(0);
  EXPECT_GT(first.second, 120);
  bool differs = false;
  for (std::uint64_t number = 1; number < 5; ++number)
    differs = differs || most_of_one(number).first != first.first;
  EXPECT_TRUE(differs) << "nobody knows which they are";
}

}  // namespace
}  // namespace weft::reliability
