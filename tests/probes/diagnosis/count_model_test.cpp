// The likelihood of counts as a function of one hazard, and what bounds it.
#include "probes/diagnosis/counts/count_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "probes/diagnosis/counts/likeliest_hazards.hpp"
#include "tests/probes/diagnosis/made_up_run.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kMinFault = 1e-3;

/// Two lossy cables beside a background, in few or many packets.
MadeUpRun lossy_run(std::uint64_t seed) {
  MadeUpRun run(seed, {.leaves = 3, .spines = 3, .hosts_per_leaf = 2});
  run.background = seed % 2 == 0 ? 0 : 5e-5;
  run.fault("leaf1->spine2").loss = 0.002 * static_cast<double>(seed);
  run.fault("spine3->leaf2").loss = 0.3;
  run.probe(120, 100 * seed, Bytes(128));
  return run;
}

/// Sets the hazards of what is at fault, of suspects that are one channel.
void tell_faults(const MadeUpRun& run, std::uint64_t seed, CountModel& model) {
  const auto set = [&](std::string_view name, double loss) {
    for (std::uint32_t s = 0; s < model.suspects(); ++s)
      if (std::ranges::equal(model.problem().suspects[s].channels, std::vector{run.channel(name)}) &&
          model.problem().suspects[s].is_channel())
        model.set_hazard(s, -std::log1p(-loss));
  };
  set("leaf1->spine2", 0.002 * static_cast<double>(seed));
  set("spine3->leaf2", 0.3);
}

TEST(CountModel, NoHazardOfAFaultGainsMoreThanItsBound) {
  for (const bool told : {false, true}) {
    std::size_t bounded = 0;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      const MadeUpRun run = lossy_run(seed);
      const CountProblem problem = count_problem(run.fabric, run.seen, {});
      CountModel model(problem, {});
      if (told) tell_faults(run, seed, model);
      for (std::uint32_t s = 0; s < model.suspects(); ++s) {
        const double close = model.most_gained_from(s, kMinFault, 1.0);
        const double most = close < 1.0 ? close : model.most_gained_from(s, kMinFault, 1e9);
        bounded += close < 1.0 ? 1 : 0;
        const double healthy = model.value(s, model.healthy_hazard(s));
        for (const double hazard : model.grid().hazards()) {
          if (hazard < kMinFault) continue;
          ASSERT_LE(model.value(s, hazard) - healthy, most + 1e-6)
              << "seed " << seed << " suspect " << s << " hazard " << hazard;
        }
      }
    }
    // Once the faults are told, little speaks for any other.
    if (told) {
      EXPECT_GT(bounded, 12u * 20u);
    }
  }
}

/// A path in ten or so crosses no fault, and only these tell of the healthy channels; nothing is lost there.
TEST(CountModel, LearnsTheUsualLossToItsEndWhereMostPathsCrossAFault) {
  MadeUpRun run(1, {.leaves = 4, .spines = 4, .hosts_per_leaf = 2});
  const std::vector<std::string> faults{"host1->leaf1",  "host3->leaf2",  "host6->leaf3",  "leaf1->host1",
                                        "leaf2->host4",  "leaf4->host7",  "leaf1->spine1", "leaf2->spine3",
                                        "leaf3->spine4", "leaf4->spine2", "spine1->leaf1", "spine3->leaf2",
                                        "spine2->leaf3", "spine4->leaf4"};
  for (const std::string& fault : faults) run.fault(fault).loss = 0.01;
  run.probe(4000, 100);
  const CountProblem problem = count_problem(run.fabric, run.seen, {});
  CountModel model(problem, {});
  std::vector<bool> faulty(2 * problem.suspects.size(), false);
  for (std::uint32_t s = 0; s < model.suspects(); ++s)
    for (const std::string& fault : faults)
      if (std::ranges::equal(problem.suspects[s].channels, std::vector{run.channel(fault)}) &&
          problem.suspects[s].is_channel())
        faulty[s] = true, model.set_hazard(s, -std::log1p(-0.01));
  model.learn_background(faulty);
  const double mean = model.learned().mean;
  EXPECT_LT(mean, 1e-5);
  model.learn_background(faulty);
  EXPECT_NEAR(model.learned().mean, mean, 0.3 * mean);
}

/// What no hazards reach is held against many turns.
TEST(LikeliestHazards, LieBetweenWhatIsReachedAndWhatNoneReach) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const MadeUpRun run = lossy_run(seed);
    const CountProblem problem = count_problem(run.fabric, run.seen, {});
    LikeliestHazards settled(problem, std::vector<bool>(problem.suspects.size(), false), false);
    while (settled.go_on()) {
    }
    const double best = settled.reached();
    EXPECT_LT(settled.most(), best + 0.5) << seed;
    std::vector<std::uint32_t> bad;
    for (std::uint32_t s = 0; s < problem.suspects.size(); ++s)
      if (std::ranges::equal(problem.suspects[s].channels, std::vector{run.channel("spine3->leaf2")}))
        bad.push_back(s);
    auto again = settled.without({}), rest = settled.without(bad);
    while (again.go_on()) {
      EXPECT_LE(again.reached(), best + 1e-6) << seed;
      EXPECT_GE(again.most(), best - 1e-6) << seed;
    }
    int looks = 0;
    while (rest.most() > best - 12 && rest.go_on()) ++looks;
    EXPECT_LT(looks, 3) << seed;
    const double none_reaches = rest.most();
    EXPECT_LT(none_reaches, best - 12) << seed;
    while (rest.go_on()) EXPECT_LE(rest.reached(), none_reaches + 1e-6) << seed;
  }
}

}  // namespace
}  // namespace weft::diagnosis
