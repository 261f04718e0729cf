// What a plan says beside its figures, and whether its changes follow one another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancer/reliability/plan.hpp"
#include "topology/model/clos.hpp"

namespace weft::reliability {
namespace {

using testing::HasSubstr;
using testing::Not;

Plant plant_of(std::uint32_t leaves, std::uint32_t hosts) {
  return make_plant(*make_clos({.name = "f", .leaves = leaves, .spines = 4, .hosts_per_leaf = hosts}), {}, 8);
}

PlanRequest request_of(Index hosts) {
  PlanRequest request;
  request.job.hosts = hosts;
  request.histories = 60;
  return request;
}

TEST(PlanAnswer, OneThingIsOneThing) {
  auto request = request_of(1);
  request.spares = 1;
  request.guesses = {};
  files::Rates rates{.origin = "site", .is_own = true, .classes = {}};
  for (files::ClassRates each : files::published_rates().classes)
    each.guesses.clear(), each.events *= 1000, rates.classes.push_back(each);
  rates.classes.front().guesses = {"repair"};
  const auto plan = make_plan(make_plant(*make_clos({.leaves = 1, .spines = 1, .hosts_per_leaf = 2}), {}, 1),
                              rates, request);
  ASSERT_TRUE(plan) << plan.error().message;
  const auto text = plan_table(*plan, 400);
  for (const char* part :
       {"1 GPU on 1 host for", "1 spare host ", "1 input is a guess", "may drain 1 host and "})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(testing::ContainsRegex("\\b1 (hosts|GPUs|inputs|spares|cables)")));
}

TEST(PlanAnswer, ACheaperCheckpointIsWrittenMoreOften) {
  const auto plant = plant_of(64, 32);
  const auto rates = files::published_rates();
  auto request = request_of(1600);
  request.spares = 60;
  request.job.checkpoint_cost = Hours(5.0 / 60);
  request.what_ifs = {"checkpoint-cost=2s"};
  const auto changed = make_plan(plant, rates, request);
  ASSERT_TRUE(changed) << changed.error().message;
  request.what_ifs.clear();
  request.job.checkpoint_cost = Hours(2.0 / 3600);
  const auto other = make_plan(plant, rates, request);
  EXPECT_NEAR(changed->what_ifs.front().gain, other->effective.mean - changed->effective.mean, 0.001);
}

TEST(PlanAnswer, AnIntervalThatWasGivenStays) {
  const auto plant = plant_of(8, 8);
  auto request = request_of(40);
  request.best_interval = false;
  request.job.checkpoint_every = Hours(2);
  request.what_ifs = {"checkpoint-cost=0s"};
  const auto plan = make_plan(plant, files::published_rates(), request);
  ASSERT_TRUE(plan) << plan.error().message;
  // Of each 2 h and 30 s the 30 s.
  EXPECT_NEAR(plan->what_ifs.front().gain, 30.0 / 7230 * plan->effective.mean, 0.001);
}

TEST(PlanAnswer, NothingInterruptsAJobWhileItWaits) {
  const auto plant = plant_of(1, 4);
  files::Rates rates{.origin = "site", .is_own = true, .classes = {}};
  for (const auto part : {PartClass::gpu, PartClass::host, PartClass::nic, PartClass::host_cable})
    rates.classes.push_back({.part = part,
                             .events = 60,  // in 54 days fewer than one
                             .parts = plant.count(part),
                             .time = Hours(100 * 54 * 24),
                             .repair = {{files::RepairLaw::fixed, Hours(150), 0, 1}}});
  auto request = request_of(4);
  request.histories = 40, request.spares = 0;
  const auto plan = make_plan(plant, rates, request);
  ASSERT_TRUE(plan) << plan.error().message;
  const double waiting = plan->spent.waiting / plan->length;
  EXPECT_GT(waiting, 0.15);
  EXPECT_NEAR(plan->interruptions.mean, 2.4 * (1 - waiting), 0.1);
}

TEST(PlanAnswer, TellsWhatIsBeingDoneAndHowFarItIs) {
  std::vector<std::string> doing;
  std::size_t last = 0;
  auto request = request_of(40);
  request.what_ifs = {"detect=5s"};
  const auto plan = make_plan(plant_of(8, 8), files::published_rates(), request,
                              [&](std::string_view what, std::size_t done, std::size_t total) {
                                if (doing.empty() || doing.back() != what) doing.emplace_back(what), last = 0;
                                EXPECT_LE(done, total) << what;
                                EXPECT_GE(done, last) << what;
                                last = done;
                              });
  ASSERT_TRUE(plan);
  EXPECT_THAT(doing, testing::ElementsAre("drawing failures", "looking for spares", "running the job",
                                          "what to improve", "what if"));
  EXPECT_EQ(last, request.histories);
}

TEST(PlanAnswer, AWhatIfThatIsNoneIsRefusedBeforeAnythingIsDrawn) {
  bool began = false;
  for (const char* what_if : {"colour=red", "spares=1000", "sweep=1m"}) {
    auto request = request_of(40);
    request.what_ifs = {"detect=5s", what_if};
    const auto plan = make_plan(plant_of(8, 8), files::published_rates(), request,
                                [&](std::string_view, std::size_t, std::size_t) { began = true; });
    EXPECT_FALSE(plan) << what_if;
    EXPECT_FALSE(began) << what_if;
  }
}

TEST(PlanAnswer, EachTimeThatTheJobHasIsAmongWhatToImprove) {
  auto rates = files::published_rates();
  for (auto& each : rates.classes)
    if (each.part != PartClass::software) each.stops = 0.8, each.slows = 0.1, each.silent = 0.1;
  const auto named = [&](SweepPolicy policy, Hours spare_start) {
    auto request = request_of(40);
    request.job.sweeps.policy = policy;
    request.job.spare_start = spare_start;
    const auto plan = make_plan(plant_of(8, 8), rates, request);
    std::string all;
    for (const Gain& each : plan->improvements) all += each.what + ";";
    return all;
  };
  const auto agents = named(SweepPolicy::agents, Hours(0));
  EXPECT_THAT(agents, HasSubstr("until what is slow is found"));
  EXPECT_THAT(agents, HasSubstr("delay of agents"));
  EXPECT_THAT(agents, Not(HasSubstr("cost of a sweep")));
  EXPECT_THAT(agents, Not(HasSubstr("start of a spare")));
  const auto swept = named(SweepPolicy::every, Hours(0.1));
  EXPECT_THAT(swept, HasSubstr("cost of a sweep"));
  EXPECT_THAT(swept, HasSubstr("start of a spare"));
}

TEST(PlanAnswer, NamesPartsOfThisFabricThatFailAgainAndAgain) {
  auto rates = files::published_rates();
  for (auto& each : rates.classes)
    if (each.part == PartClass::host)
      each.known = {{"host3", 9, 15, 0.97}, {"host4", 2, 3, 0.2}, {"elsewhere1", 9, 15, 0.99}};
  const auto plan = make_plan(plant_of(2, 4), rates, request_of(4));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->offenders.size(), 1U);
  EXPECT_EQ(plan->offenders.front().name, "host3");
  EXPECT_THAT(plan_table(*plan, 200), HasSubstr("host3 (0.97, 9 failures)"));
}

}  // namespace
}  // namespace weft::reliability
