#include "balancer/reliability/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancer/reliability/draw.hpp"
#include "balancer/reliability/offenders.hpp"
#include "balancer/reliability/simulator.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/schema.hpp"
#include "topology/model/clos.hpp"

namespace weft::reliability {
namespace {

using testing::HasSubstr;

/// 80 leaves of 32 hosts of 8 GPUs: 20,480 GPUs, of which the job takes 16,384.
Plant wide_plant() {
  return make_plant(*make_clos({.name = "wide", .leaves = 80, .spines = 16, .hosts_per_leaf = 32}), {}, 8);
}

/// Of Llama 3, with the leaves failing so often that six of the job's do in 54 days, or never.
files::Rates rates_with(double leaves) {
  auto rates = files::published_rates();
  std::erase_if(rates.classes, [](const auto& each) {
    return each.part >= PartClass::host_cable && each.part <= PartClass::core;
  });
  if (leaves > 0)
    rates.classes.push_back({.part = PartClass::leaf,
                             .events = leaves,
                             .parts = 64,
                             .time = Hours(54 * 24),
                             .repair = {{files::RepairLaw::fixed, Hours(4), 0, 1}}});
  return rates;
}

PlanRequest request_of(Index hosts) {
  PlanRequest request;
  request.job.hosts = hosts;
  request.histories = 100;
  return request;
}

Index spares_for(const Plan& plan, double asked) {
  for (const SpareStep& each : plan.steps)
    if (each.asked == asked) return each.spares.value_or(100'000);
  return 0;
}

TEST(Plan, HostsThatFailTogetherNeedMoreSparesThanHostsThatFailOneByOne) {
  const auto plant = wide_plant();
  const auto alone = make_plan(plant, rates_with(0), request_of(2048));
  const auto grouped = make_plan(plant, rates_with(6), request_of(2048));
  ASSERT_TRUE(alone && grouped);
  EXPECT_NEAR(spares_for(*alone, 0.999), 12, 2);
  EXPECT_GT(spares_for(*grouped, 0.999), 32U);
  EXPECT_EQ(grouped->largest_group, 32U);
  EXPECT_THAT(plan_table(*grouped, 80), HasSubstr("hosts fail in groups"));
  auto request = request_of(2048);
  request.spares = 32;
  EXPECT_NEAR(make_plan(plant, rates_with(6), request)->kept, 0.985, 0.006);
}

TEST(Plan, ADomainIsAGroupToo) {
  const auto fabric = make_clos({.name = "d", .leaves = 8, .spines = 4, .hosts_per_leaf = 32});
  FailureDomain power{.name = "pdu", .kind = "power", .members = {}, .events = 6, .exposure = Hours(54 * 24)};
  power.repair = Hours(4);
  for (std::size_t i = 0; i < 24; ++i) power.members.push_back(fabric->hosts()[i * 8]);
  const auto with = make_plan(make_plant(*fabric, {power}, 8), rates_with(0), request_of(192));
  const auto without = make_plan(make_plant(*fabric, {}, 8), rates_with(0), request_of(192));
  ASSERT_TRUE(with && without);
  EXPECT_GT(spares_for(*with, 0.99), spares_for(*without, 0.99) + 4);
  EXPECT_EQ(with->causes.back().cause, kDomainCause);
  EXPECT_NEAR(with->causes.back().failures.mean, 6, 1e-9);
  EXPECT_NEAR(with->causes.back().interruptions.mean, 4, 0.5)
      << "once it failed, spares have the places of its hosts, and it hits spares";
}

TEST(Plan, ADomainInterruptsByTheMembersThatItHits) {
  const auto fabric = make_clos({.name = "d", .leaves = 4, .spines = 2, .hosts_per_leaf = 4});
  FailureDomain rare{
      .name = "rack", .kind = "rack", .members = {}, .events = 1000, .exposure = Hours(54 * 24)};
  rare.repair = Hours(1), rare.share = Fraction(0.001);
  for (std::size_t i = 0; i < 4; ++i) rare.members.push_back(fabric->hosts()[i]);
  auto request = request_of(8);
  request.spares = 0;
  const auto of_hosts = make_plan(make_plant(*fabric, {rare}, 8), rates_with(0), request);
  ASSERT_TRUE(of_hosts);
  EXPECT_NEAR(of_hosts->causes.back().interruptions.mean, 4, 0.1) << "one in 250 of them hits a host";
  // A spine that fails alone interrupts the job; so does one of a domain.
  auto spine = rare;
  spine.members = {*fabric->find_node("spine1")}, spine.share = Fraction(1), spine.events = 50;
  spine.repair = Hours(1.0 / 60);  // out already, it interrupts nothing
  const auto above = make_plan(make_plant(*fabric, {spine}, 8), rates_with(0), request);
  ASSERT_TRUE(above);
  const double ready = 1 - above->spent.waiting / above->length;
  EXPECT_NEAR(above->causes.back().interruptions.mean, 50 * ready, 0.1);
  EXPECT_GT(static_cast<double>(above->restarts) / 100, 40) << "in the simulation too";
}

/// Published rates, each with more events in this plant, which are repaired within an hour.
files::Rates lively_rates(const Plant& plant, double silent) {
  auto rates = files::published_rates();
  for (auto& each : rates.classes) {
    each.events += 20, each.parts = std::max<std::uint64_t>(plant.count(each.part), 1);
    each.stops = 1 - silent, each.slows = each.silent = silent / 2;
    each.repair = {{files::RepairLaw::fixed, Hours(each.part == PartClass::software ? 0 : 1), 0, 1}};
    if (plant.count(each.part) > 0 && each.part == PartClass::host)
      each.known.push_back({.name = plant.name_of(each.part, 0), .events = 5, .ratio = 20, .offender = 1});
  }
  return rates;
}

TEST(Plan, TheForecastOfInterruptionsIsThatOfTheSimulationWhateverTheShape) {
  struct Case {
    Result<Fabric> fabric;
    Index hosts, spares;
    double silent;
  };
  const Case cases[]{
      {make_clos({.leaves = 8, .spines = 4, .hosts_per_leaf = 8}), 64, 0, 0},   // it waits for hosts
      {make_clos({.leaves = 8, .spines = 4, .hosts_per_leaf = 8}), 32, 30, 0},  // stands at leaves of spares
      {make_clos({.leaves = 8, .spines = 4, .hosts_per_leaf = 8}), 6, 2, 0},    // under one leaf: no uplinks
      {make_clos({.leaves = 1, .spines = 1, .hosts_per_leaf = 8}), 6, 1, 0},
      {make_pod_clos({.pods = 4, .leaves = 4, .spines = 4, .cores = 8, .hosts_per_leaf = 4}), 40, 4, 0},
      {make_rails({.groups = 2, .hosts_per_group = 4, .rails = 4, .spines = 4, .pods = 4, .cores = 8}), 12, 3,
       0.4},
  };
  for (const Case& each : cases) {
    const auto plant = make_plant(*each.fabric, {}, 4);
    const auto rates = lively_rates(plant, each.silent);
    auto request = request_of(each.hosts);
    request.spares = each.spares;
    const auto plan = make_plan(plant, rates, request);
    ASSERT_TRUE(plan) << plan.error().message;
    const HistorySource source(plant, rates);
    Simulator simulator(source, plan->job);
    std::array<double, kCauses> came{};
    constexpr int kHistories = draws(100);
    for (std::uint64_t i = 0; i < kHistories; ++i) {
      const auto outcome =
          simulator.run(source.draw(i, {.seed = 77, .length = request.length, .open_rates = false}));
      for (std::size_t cause = 0; cause < kCauses; ++cause)
        came[cause] += outcome.interruptions[cause] / double{kHistories};
    }
    for (const auto& cause : plan->causes)
      EXPECT_NEAR(cause.interruptions.mean, came[cause.cause],
                  0.03 * came[cause.cause] + 5 * std::sqrt((came[cause.cause] + 0.01) / kHistories))
          << cause_name(cause.cause) << ", " << each.hosts << " of " << plant.hosts << " hosts";
  }
}

TEST(Plan, OfPartsThatAgeTheShareLiesInItsInterval) {
  auto rates = files::published_rates();
  for (auto& each : rates.classes)
    if (each.part == PartClass::gpu) each.ageing = files::Ageing{.shape = 0.3, .age = Hours(0)};
  const auto plan = make_plan(wide_plant(), rates, request_of(64));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_GE(plan->effective.mean, plan->effective.low);
  EXPECT_LE(plan->effective.mean, plan->effective.high);
}

/// Failures of one class that come to a plant on average, as drawn.
double drawn_failures(const Plant& plant, const files::Rates& rates, Hours length) {
  const HistorySource source(plant, rates);
  double sum = 0;
  for (std::uint64_t i = 0; i < 300; ++i)
    sum += static_cast<double>(
        source.draw(i, {.seed = 4, .length = length, .open_rates = false}).failures.size());
  return sum / 300;
}

TEST(Plan, TheForecastOfPartsThatAgeIsThatOfTheirAgesNotOfAConstantRate) {
  const auto plant = make_plant(*make_clos({.leaves = 8, .spines = 2, .hosts_per_leaf = 16}), {}, 8);
  struct Case {
    double shape, age, mean_life, repair;
  };
  // Early failures of new parts; wear of old ones; parts that fail several times within the 54 days.
  for (const Case& each : {Case{0.5, 0, 3000, 4}, Case{3, 1500, 3000, 4}, Case{3, 0, 3000, 4},
                           Case{0.6, 10, 400, 30}, Case{5, 200, 300, 2}}) {
    files::Rates rates{.origin = "drawn", .classes = {}};
    rates.classes.push_back({.part = PartClass::host,
                             .events = 1e6,
                             .parts = 1'000'000,
                             .time = Hours(each.mean_life),
                             .repair = {{files::RepairLaw::fixed, Hours(each.repair), 0, 1}}});
    rates.classes[0].ageing = files::Ageing{.shape = each.shape, .age = Hours(each.age)};
    const double drawn = drawn_failures(plant, rates, Hours(54 * 24));
    const auto plan = make_plan(plant, rates, request_of(8));
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_NEAR(plan->causes.front().failures.mean, drawn, 4 * std::sqrt(drawn / 300) + 0.005 * drawn)
        << each.shape << " " << each.age;
    EXPECT_NEAR(plan->causes.front().interruptions.mean, drawn * 8 / plant.hosts, 0.02 * drawn) << each.shape;
  }
}

TEST(Plan, EventsThatWereCountedAtAnAgeAreThoseOfThatAge) {
  // 100 of 2,560 hosts in the 90 days before: the next 90 days of parts that wear see more, of young ones
  // fewer.
  const auto plant = wide_plant();
  const auto forecast = [&](double shape, double from) {
    files::Rates rates{.origin = "seen", .classes = {}};
    rates.classes.push_back({.part = PartClass::host,
                             .events = 100,
                             .parts = 2560,
                             .time = Hours(90 * 24),
                             .repair = {{files::RepairLaw::fixed, Hours(4), 0, 1}}});
    rates.classes[0].ageing =
        files::Ageing{.shape = shape, .age = Hours(from + 90 * 24), .counted_from = Hours(from)};
    auto request = request_of(8);
    request.length = Hours(90 * 24);
    const auto plan = make_plan(plant, rates, request);
    EXPECT_NEAR(plan->causes.front().failures.mean, drawn_failures(plant, rates, request.length), 3);
    return plan->causes.front().failures.mean;
  };
  EXPECT_NEAR(forecast(2, 0), 286, 4)
      << "2,560 (1 - exp(-3 x 100 / 2,560)), and 3 of parts that were repaired";
  EXPECT_NEAR(forecast(0.5, 0), 100 * (std::sqrt(2) - 1), 3);
  EXPECT_NEAR(forecast(2, 1e6), 98, 1) << "of old parts the rate hardly changes";
}

TEST(Plan, AnOffenderOfACableCountsWhereTheJobIs) {
  const auto plant = wide_plant();
  const auto forecast = [&](const char* name, PartClass part) {
    auto rates = files::published_rates();
    for (auto& each : rates.classes)
      if (each.part == part) each.known.push_back({.name = name, .events = 9, .ratio = 5000, .offender = 1});
    const auto plan = make_plan(plant, rates, request_of(64));  // at leaf1 and leaf2
    EXPECT_EQ(plan->unknown_parts, std::string_view(name).starts_with("none") ? 1U : 0U) << name;
    for (const auto& each : plan->causes)
      if (each.cause == static_cast<std::size_t>(part)) return each.interruptions.mean;
    return 0.0;
  };
  for (const auto& [near, far, part] :
       {std::tuple("leaf1--spine3", "leaf80--spine3", PartClass::switch_cable),
        std::tuple("host1--leaf1", "host2560--leaf80", PartClass::host_cable),
        std::tuple("host1", "host2560", PartClass::host), std::tuple("leaf2", "leaf80", PartClass::leaf)})
    EXPECT_GT(forecast(near, part), 3 * forecast(far, part)) << near;
  forecast("none--there", PartClass::switch_cable);
}

TEST(Plan, HugeNumbersOfCrewsAndSweepsAreNoTroubleOrRefused) {
  auto request = request_of(64);
  request.job.crews = 4'000'000'000U;
  EXPECT_TRUE(make_plan(wide_plant(), rates_with(0), request));
  request.job.sweeps.policy = SweepPolicy::every;
  request.job.sweeps.every = Hours(0.04), request.length = Hours(24 * 365);
  const auto refused = make_plan(wide_plant(), rates_with(0), request);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("sweeps"));
}

TEST(Plan, TheFirstLineNamesRatesThatAreNotTheSitesAndGuesses) {
  auto request = request_of(64);
  request.guesses = {"--detect 60 s"};
  const auto plan = make_plan(wide_plant(), files::published_rates(), request);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_THAT(plan_sentence(*plan), HasSubstr("Rates are published, not this site's"));
  EXPECT_THAT(plan_sentence(*plan), HasSubstr("guesses"));
  EXPECT_THAT(plan_table(*plan, 80), HasSubstr("--detect 60 s"));
  for (std::size_t at = 0, end; at < plan_table(*plan, 80).size(); at = end + 1) {
    end = plan_table(*plan, 80).find('\n', at);
    EXPECT_LE(end - at, 80U);
  }
  expect_matches_schema(plan_json(*plan, {.generated_at = {}, .tool_version = "1"}), "plan");
}

TEST(Plan, WhatIfMeetsTheSameFailuresAndItsIntervalIsNarrower) {
  auto request = request_of(2048);
  request.what_ifs = {"restart=90s", "spares=0",     "dual-leaf",
                      "gpu=50%",     "sweep=agents", "planned-work=7d,4h,400"};
  const auto plan = make_plan(wide_plant(), rates_with(6), request);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->what_ifs.size(), 6U);
  EXPECT_LT(plan->what_ifs[5].high, 0);
  EXPECT_GT(plan->what_ifs[0].low, 0);
  EXPECT_LT(plan->what_ifs[0].high - plan->what_ifs[0].low, plan->what_ifs[0].unpaired);
  EXPECT_LT(plan->what_ifs[1].high, 0);
  EXPECT_GT(plan->what_ifs[3].low, 0);
  EXPECT_EQ(plan->what_ifs[4].gain, 0) << "these rates have nothing silent";
}

TEST(Plan, AWhatIfThatIsNoneNamesWhatThereIs) {
  const Job job{.hosts = 1};
  for (const char* text :
       {"", "=", "detect", "detect=", "detect=5", "detect=-5s", "spares=x", "spares=-1", "leaf=200%",
        "sweep=1s", "planned-work=30d", "planned-work=1h,2h,3", "planned-work=30d,4h,0", "planned-work=,,",
        "planned-work=30d,4h,4294967296", "colour=red", "dual-leaf=1"})
    EXPECT_EQ(parse_what_if(text, job).error().kind, ErrorKind::usage) << text;
}

TEST(Plan, AJobThatDoesNotFitAndACheckpointThatMakesNoProgressAreRefused) {
  const auto plant = wide_plant();
  EXPECT_THAT(make_plan(plant, files::published_rates(), request_of(99'999)).error().message,
              HasSubstr("does not fit"));
  auto request = request_of(2048);
  request.spares = 4'000'000'000U;
  EXPECT_THAT(make_plan(plant, files::published_rates(), request).error().message, HasSubstr("does not fit"));
  request = request_of(2048);
  request.best_interval = false;
  request.job.checkpoint_every = Hours(1000);
  EXPECT_THAT(make_plan(plant, files::published_rates(), request).error().message, HasSubstr("no progress"));
  request.job.checkpoint_every = Hours(0);
  EXPECT_FALSE(make_plan(plant, files::published_rates(), request));
}

TEST(Plan, RatesThatMakeTooManyFailuresAreRefusedAndRepairsBeyondTheEndAreNot) {
  const auto plant = wide_plant();
  auto rates = files::published_rates();
  rates.classes[0].events = 1e9;
  EXPECT_FALSE(make_plan(plant, rates, request_of(64)));
  rates = files::published_rates();
  rates.classes[0].repair = {{files::RepairLaw::fixed, Hours(24 * 3650), 0, 1}};
  const auto plan = make_plan(plant, rates, request_of(64));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_GE(plan->effective.mean, 0);
}

TEST(Plan, SilentFailuresMakeSweepsPayAndAgentsFindThemSoonest) {
  auto rates = rates_with(0);
  rates.classes.push_back({.part = PartClass::switch_cable,
                           .events = 100,
                           .parts = 1280,
                           .time = Hours(54 * 24),
                           .stops = 0,
                           .slows = 0,
                           .silent = 1,
                           .repair = {{files::RepairLaw::fixed, Hours(4), 0, 1}}});
  const auto plan = make_plan(wide_plant(), rates, request_of(2048));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_GE(plan->sweeps.size(), 3U);
  EXPECT_GT(plan->sweeps[2].effective, plan->sweeps[0].effective) << plan->sweeps[2].policy;
  EXPECT_LT(plan->sweeps[2].undetected, plan->sweeps[1].undetected);
  EXPECT_THAT(plan_table(*plan, 200),
              HasSubstr("How often to sweep: standing agents, or without them every "));
  EXPECT_TRUE(plan->if_silent.empty());
  EXPECT_TRUE(plan->sweep_every.has_value());
}

TEST(Plan, TheOnlySpineTakesAllHostsThatSendOverIt) {
  const auto fabric = make_clos({.name = "s", .leaves = 4, .spines = 1, .hosts_per_leaf = 8});
  FailureDomain power{.name = "pdu",
                      .kind = "power",
                      .members = {*fabric->find_node("spine1")},
                      .events = 1,
                      .exposure = Hours(9999)};
  power.repair = Hours(4);
  const auto plan = make_plan(make_plant(*fabric, {power}, 8), files::published_rates(), request_of(25));
  ASSERT_TRUE(plan) << plan.error().message;
  const auto hosts_of = [&](const Plan& of, std::string_view what) {
    for (const BlastRow& each : of.blast)
      if (each.what.starts_with(what)) return each.hosts;
    return std::size_t{9999};
  };
  EXPECT_EQ(hosts_of(*plan, "a spine"), 32U);
  EXPECT_EQ(hosts_of(*plan, "domain pdu"), 32U);
  EXPECT_EQ(plan->largest_group, 32U);
  auto request = request_of(25);
  request.job.dual_leaf = true;
  EXPECT_EQ(hosts_of(*make_plan(make_plant(*fabric, {}, 8), files::published_rates(), request), "a leaf"),
            0U);
  // Below one leaf nothing is sent over the spine. Of two spines of a pod one is half, both together are all.
  const auto one = make_plant(*make_clos({.leaves = 1, .spines = 1, .hosts_per_leaf = 8}), {}, 8);
  EXPECT_EQ(hosts_of(*make_plan(one, files::published_rates(), request_of(6)), "a spine"), 0U);
  const auto pods = make_pod_clos({.pods = 2, .leaves = 2, .spines = 2, .cores = 2, .hosts_per_leaf = 4});
  power.members = {*pods->find_node("spine1"), *pods->find_node("spine2")};
  const auto both = make_plan(make_plant(*pods, {power}, 8), files::published_rates(), request_of(12));
  EXPECT_EQ(hosts_of(*both, "a spine"), 0U);
  EXPECT_EQ(hosts_of(*both, "domain pdu"), 8U) << "a pod";
}

TEST(Plan, OfFewRestartsMoreHistoriesTellHowManySpares) {
  const auto plant = make_plant(*make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 8}), {}, 8);
  auto rates = files::published_rates();
  const auto plan = make_plan(plant, rates, request_of(14));
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_TRUE(plan->steps[1].spares && plan->steps[2].spares);
  EXPECT_LE(*plan->steps[0].spares, *plan->steps[2].spares);
  EXPECT_EQ(plan->job.spares, *plan->steps[1].spares);
  // Where none tell of it, as many as were needed ever, not all hosts that there are.
  for (auto& each : rates.classes) each.events = std::ceil(each.events / 1e4), each.time *= 100;
  auto rare = request_of(1);
  rare.length = Hours(24);
  const auto few = make_plan(plant, rates, rare);
  ASSERT_TRUE(few) << few.error().message;
  EXPECT_FALSE(few->steps[1].spares);
  EXPECT_LE(few->job.spares, 8U);
}

TEST(Plan, ASmallJobNeedsSparesBeyondItsLeaf) {
  const auto plant = make_plant(*make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 40}), {}, 8);
  auto rates = rates_with(6);
  auto request = request_of(2);
  request.length = Hours(1000 * 24);
  const auto plan = make_plan(plant, rates, request);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_GE(plan->job.spares, 39U) << "one leaf takes all 40 hosts below it";
  EXPECT_GT(plan->kept, 0.998);
}

TEST(Plan, ClassesThatTheRatesDoNotHaveAreCalledAGuess) {
  const auto plant = make_plant(*make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 8}), {}, 8);
  const auto plan = make_plan(plant, rates_with(0), request_of(14));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->guesses, testing::Contains("no failure of leaf switches, which the rates do not have"));
  EXPECT_THAT(plan->guesses, testing::Not(testing::Contains(HasSubstr("core switches"))));
}

TEST(Plan, SaysWhyMoreSparesAreNeededThanOfIndependentHosts) {
  const auto plant = make_plant(*make_clos({.leaves = 16, .spines = 2, .hosts_per_leaf = 2}), {}, 8);
  auto rates = rates_with(0);
  for (auto& each : rates.classes) each.events *= 10, each.repair[0].mean = Hours(6);
  auto request = request_of(16);
  request.job.crews = 1;
  const auto plan = make_plan(plant, rates, request);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_FALSE(plan->differs.empty());
  EXPECT_THAT(plan->differs.back(), HasSubstr("repairs wait for a crew"));
}

TEST(Plan, SparesStandInEveryPod) {
  const auto fabric =
      make_rails({.groups = 2, .hosts_per_group = 8, .rails = 2, .spines = 2, .pods = 4, .cores = 4});
  const auto large = enlarged(make_plant(*fabric, {}, 2), 256);
  ASSERT_TRUE(large);
  auto request = request_of(110);
  request.spares = 17;  // 127 of 128 hosts
  const auto plan = make_plan(*large, rates_with(0), request);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->pods.size(), 8U);
  Index hosts = 0, spares = 0;
  for (const PodRow& each : plan->pods) {
    hosts += each.hosts, spares += each.spares;
    EXPECT_GE(each.spares, 2U) << each.pod;
  }
  EXPECT_EQ(hosts, 127U);
  EXPECT_EQ(spares, 17U);
  EXPECT_THAT(plan_table(*plan, 200), testing::ContainsRegex("pod +8 +15 to 16 +2 to 3"));
  EXPECT_THAT(plan_table(*plan, 200), testing::ContainsRegex("leaf group +16 +7 to 8 +1 to 2"));
  EXPECT_THAT(plan_table(*plan, 200), testing::ContainsRegex("rail +2 +127 +17"));
  EXPECT_THAT(plan_table(*plan, 200), HasSubstr("How often to sweep: these rates have no silent failures"));
  ASSERT_EQ(plan->if_silent.size(), 3U);
  EXPECT_NEAR(plan->if_silent[0].sweep_every / plan->if_silent[2].sweep_every, 10, 1e-9)
      << "by the square root";
  EXPECT_THAT(plan_html(*plan), HasSubstr("leaf group"));
}

TEST(Plan, AnEnlargedFabricHasMoreOfTheSame) {
  const auto plant = wide_plant();
  const auto large = enlarged(plant, 100'000);
  ASSERT_TRUE(large);
  EXPECT_GE(large->gpus(), 100'000U);
  EXPECT_EQ(large->count(PartClass::leaf) / large->hosts, plant.count(PartClass::leaf) / plant.hosts);
  EXPECT_FALSE(enlarged(plant, 100'000'000'000));
  const auto many =
      enlarged(make_plant(*make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}), {}, 1), 200'000);
  ASSERT_TRUE(many) << "100,000 copies";
  EXPECT_EQ(many->hosts, 200'000U);
}

TEST(Plan, PartsOnTheShelfAreMoreWhereFewEventsSayLittleOfTheirRate) {
  const auto plant = make_plant(*make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 8}), {}, 8);
  auto rates = rates_with(0);
  auto& gpus = rates.classes[0];
  gpus.events = 1, gpus.parts = plant.gpus(), gpus.time = Hours(24);  // five within five days
  auto request = request_of(14);
  request.lead_time = Hours(5 * 24);
  const auto plan = make_plan(plant, rates, request);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_NEAR(plan->shelf[0].mean, 5, 1e-9);
  EXPECT_NEAR(static_cast<double>(plan->shelf[0].parts), std::log(0.01) / std::log(5.0 / 6) - 1, 2)
      << "of an open rate the counts are geometric; were it known, 11 would do";
}

TEST(ClosedForm, PublishedFiguresOfLlama3) {
  const Hours mean(54.0 * 24 / 419);
  const auto share = [&](double cost, double down) {
    return efficiency(young_interval(Hours(cost / 60), mean), Hours(cost / 60), Hours(down / 60), mean);
  };
  EXPECT_NEAR(share(0.5, 3), 0.913, 0.001);
  EXPECT_NEAR(share(0.05, 10), 0.926, 0.001);
  EXPECT_EQ(efficiency(Hours(1e6), Hours(1), Hours(1), Hours(1)), 0);
  const auto forecast = forecast_count({{419, 1}});
  EXPECT_EQ(forecast.low, 364U);
  EXPECT_EQ(forecast.high, 477U);
  EXPECT_NEAR(rate_at_most(0, Hours(1)), 2.9957, 1e-3);
  EXPECT_EQ(poisson_quantile(0.999, 4), 11U);
}

/// P(X = k) for k below `size`, term by term: P(k+1) / P(k) = (r + k) / (k + 1) s / (1 + s).
std::vector<double> count_chances(const CountSource& source, std::size_t size) {
  std::vector<double> chances{std::pow(1 + source.share, -source.events)};
  for (double k = 0; chances.size() < size; ++k)
    chances.push_back(chances.back() * (source.events + k) / (k + 1) * source.share / (1 + source.share));
  return chances;
}

TEST(ClosedForm, CountsAreThoseOfSummedNegativeBinomials) {
  constexpr std::size_t kSize = 3000;
  for (const auto& [one, other] : std::vector<std::pair<CountSource, CountSource>>{
           {{3, 0.2}, {40, 1.5}}, {{0.5, 20}, {7, 0.01}}, {{1, 100}, {0.5, 0.001}}, {{200, 3}, {0.5, 8}}}) {
    const auto a = count_chances(one, kSize), b = count_chances(other, kSize);
    std::vector<double> at_most;
    for (std::size_t k = 0; k < kSize; ++k) {
      double here = at_most.empty() ? 0 : at_most.back();
      for (std::size_t i = 0; i <= k; ++i) here += a[i] * b[k - i];
      at_most.push_back(here);
    }
    for (const double share : {0.025, 0.5, 0.975, 0.99}) {
      const auto k = count_quantile({one, other}, share);
      EXPECT_GE(at_most[k], share - 2e-4);
      EXPECT_LT(k == 0 ? 0 : at_most[k - 1], share + 2e-4);
    }
  }
  EXPECT_EQ(count_quantile({}, 0.975), 0U);
  EXPECT_EQ(count_quantile({{0, 1}, {5, 0}}, 0.975), 0U);
  const auto large = static_cast<double>(count_quantile({{1e12, 1}}, 0.975));
  EXPECT_NEAR((large - 1e12) / std::sqrt(2e12), 1.96, 0.01);
  EXPECT_NEAR(static_cast<double>(count_quantile({{1, 1e15}}, 0.5)) / 1e15, std::log(2), 0.01);
}

TEST(Offenders, AreNamedAndBadLuckIsNot) {
  Stream stream({7});
  std::vector<PartHistory> parts;
  std::size_t named = 0, wrong = 0;
  for (int i = 0; i < 3000; ++i) parts.push_back({stream.poisson(i < 45 ? 3.2 : 0.21), Hours(90 * 24)});
  const auto fit = fit_offenders(parts);
  EXPECT_NEAR(fit.offenders.share, 0.015, 0.01);
  for (std::size_t i = 0; i < parts.size(); ++i)
    if (posterior_of(fit, parts[i]).offender > 0.9) ++named, wrong += i < 45 ? 0 : 1;
  EXPECT_GE(named, 10U);
  EXPECT_LE(wrong, 1U);
  for (auto& each : parts) each.events = stream.poisson(0.21);
  EXPECT_EQ(fit_offenders(parts).offenders.share, 0) << "all are alike";
  EXPECT_EQ(fit_offenders({}).rate, 0);
}

}  // namespace
}  // namespace weft::reliability
