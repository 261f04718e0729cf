// `weft plan` as a user calls it; and a history of known rates through a watcher's store into rates, a plan
// and the check of the next period.
#include "cli/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "balancer/reliability/history.hpp"
#include "cli/report.hpp"
#include "collectors/store/watch_store.hpp"
#include "tests/support/command.hpp"
#include "tests/support/llama_page.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/base/utc.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

constexpr std::string_view kFabric = "fabric: roce-a\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4}\n";

TEST(WeftPlan, AnswersWithInterruptionsEffectiveTimeAndSpares) {
  const ScratchFile fabric(kFabric);
  const auto outcome = call(plan_command, {fabric.path(), "--job", "96", "--histories", "40"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("96 GPUs on 12 hosts for 54 d: "));
  EXPECT_THAT(outcome.out, HasSubstr("--gpus-per-host 8"));
  const auto json = call(plan_command, {fabric.path(), "--job", "96", "--histories", "40", "-o", "json"});
  expect_matches_schema(json.out, "plan");
  EXPECT_EQ(json.out.substr(json.out.find("\"fabric\"")), [&] {
    const auto again = call(plan_command, {fabric.path(), "--job", "96", "--histories", "40", "-o", "json"});
    return again.out.substr(again.out.find("\"fabric\""));
  }()) << "the same seed, the same answer";
}

TEST(WeftPlan, OfNoRestartAndOfNoSpareThereIsNoFigure) {
  const ScratchFile fabric("fabric: tiny\nclos: {leaves: 1, spines: 1, hosts_per_leaf: 1}\n");
  const auto outcome = call(plan_command, {fabric.path(), "--job", "8", "--days", "0.05"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no restart in"));
  EXPECT_THAT(outcome.out, HasSubstr("more --histories"));
}

TEST(WeftPlan, WhatNobodyGaveIsCalledAGuessAndWhatWasGivenIsNot) {
  const ScratchFile fabric(kFabric);
  const auto guesses = [&](const Arguments& more) {
    Arguments words{fabric.path(), "--job", "96", "--histories", "40", "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto plan = call(plan_command, words);
    EXPECT_EQ(plan.status, 0) << plan.err;
    return nlohmann::json::parse(plan.out)["guesses"].dump();
  };
  const auto usual = guesses({});
  for (const char* guess : {"--sweep-cost 120 s", "--find-slow 1 h", "--agent-delay 15 s", "--lead-time 14 d",
                            "--spare-start 0 s", "--detect 60 s"})
    EXPECT_THAT(usual, HasSubstr(guess));
  const auto given = guesses({"--sweep-cost", "5m", "--find-slow", "10m", "--lead-time", "60d"});
  for (const char* guess : {"--sweep-cost", "--find-slow", "--lead-time"})
    EXPECT_THAT(given, testing::Not(HasSubstr(guess)));
  const auto help = call(plan_command, {"--help"}).out;
  for (const char* key : {"find-slow=TIME", "switch_cable", "CLASS=PERCENT", "shrink, wait"})
    EXPECT_THAT(help, HasSubstr(key));
}

TEST(WeftPlan, ScalesTheFabric) {
  const ScratchFile fabric(kFabric);
  const auto outcome =
      call(plan_command, {fabric.path(), "--job", "512", "--scale", "640", "--histories", "40"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("512 GPUs on 64 hosts"));
}

TEST(WeftPlan, WhatIsWrongIsNamed) {
  const ScratchFile fabric(kFabric), broken("{\"schema\":\"weft.rates/1\"}");
  const auto said = [&](Arguments words) {
    words.insert(words.begin(), fabric.path());
    const auto outcome = call(plan_command, words);
    EXPECT_EQ(outcome.status, 64) << outcome.out;
    return outcome.err;
  };
  EXPECT_THAT(said({}), HasSubstr("--job GPUS is missing"));
  EXPECT_THAT(said({"--job", "0"}), HasSubstr("above 0"));
  EXPECT_THAT(said({"--job", "-1"}), HasSubstr("--job"));
  EXPECT_THAT(said({"--job", "1e300"}), HasSubstr("--job"));
  EXPECT_THAT(said({"--job", "1000"}), HasSubstr("--scale"));
  EXPECT_THAT(said({"--job", "8", "--days", "1e300"}), HasSubstr("--days"));
  EXPECT_THAT(said({"--job", "8", "--days", "nan"}), HasSubstr("--days"));
  EXPECT_THAT(said({"--job", "8", "--rates", broken.path()}), HasSubstr("origin"));
  EXPECT_THAT(said({"--job", "8", "--what-if", "spares=99999"}), HasSubstr("beside the job"));
  EXPECT_THAT(said({"--job", "8", "--what-if", "colour=red"}), HasSubstr("lists them under --what-if"));
  EXPECT_THAT(said({"--job", "8", "--what-if", "restrat=1m"}), HasSubstr("did you mean 'restart'?"));
  EXPECT_THAT(said({"--job", "8", "--what-if", "nic=3"}), HasSubstr("file of rates"))
      << "three times as much?";
  EXPECT_THAT(said({"--job", "8", "--what-if", "nic=300%"}), HasSubstr("file of rates"));
  EXPECT_THAT(said({"--job", "8", "--network-share", "0.2"}), HasSubstr("write 0.2%"));
  EXPECT_THAT(said({"--job", "8", "--scale", "8"}), HasSubstr("only be enlarged"));
  EXPECT_THAT(said({"--job", "8", "--days", "1e-9"}), HasSubstr("an hour (0.042) at least"));
  EXPECT_THAT(said({"--job", "8", "--gpus-per-host", "100000"}), HasSubstr("at most"));
  EXPECT_THAT(said({"--job", "8", "--scale", "99999999999"}), HasSubstr("at most"));
  EXPECT_THAT(said({"--job", "8", "--sweep", "often"}),
              testing::AllOf(HasSubstr("--sweep"), HasSubstr("never, restart, agents")));
  EXPECT_THAT(said({"--job", "8", "--shortage", "pray"}), HasSubstr("wait or shrink"));
  EXPECT_THAT(said({"--job", "8", "--histories", "1"}), HasSubstr("40 to"));
  EXPECT_THAT(said({"--job", "64", "--group", "3000000"}), HasSubstr("expected 1 to 8"));
  EXPECT_THAT(said({"--job", "64", "--group", "0"}), HasSubstr("expected 1 to 8"));
  EXPECT_THAT(said({"--job", "8", "--sweep", "1h", "--sweep-cost", "2h"}), HasSubstr("all of the time"));
  EXPECT_THAT(said({"--job", "8", "--sweep", "1h", "--what-if", "sweep-cost=2h"}),
              HasSubstr("all of the time"));
  EXPECT_THAT(call(plan_command, {"rate", "--published"}).err, HasSubstr("did you mean 'rates'?"));
  EXPECT_THAT(call(plan_command, {"chek"}).err, HasSubstr("did you mean 'check'?"));
  EXPECT_THAT(call(plan_command, {"none.yaml"}).err, HasSubstr("none.yaml"));
  EXPECT_THAT(call(plan_command, {"rates", "--published", "--since", "x"}).err, HasSubstr("--since"));
  EXPECT_THAT(call(plan_command, {"rates", "--published", "--since", "30d"}).err,
              HasSubstr("go with --from"));
  EXPECT_EQ(call(plan_command, {"rates"}).status, 64);
  EXPECT_EQ(call(plan_command, {"check"}).status, 64);
}

/// Published rates, some of them changed by hand.
std::string edited_rates(const std::function<void(nlohmann::json&)>& edit) {
  auto rates = nlohmann::json::parse(call(plan_command, {"rates", "--published"}).out);
  edit(rates);
  return rates.dump();
}

TEST(WeftPlan, SaysWhichRatesAreTheSitesOwnAfterSomeWereChanged) {
  const ScratchFile fabric(kFabric);
  const auto first_lines = [&](const std::function<void(nlohmann::json&)>& edit) {
    const ScratchFile rates(edited_rates(edit));
    auto out =
        call(plan_command, {fabric.path(), "--job", "96", "--histories", "40", "--rates", rates.path()}).out;
    out = out.substr(0, out.find("\n\n"));
    std::ranges::replace(out, '\n', ' ');
    return out;
  };
  const auto change_gpus = [](nlohmann::json& rates) { rates["classes"][0]["events"] = 100; };
  EXPECT_THAT(first_lines(change_gpus), HasSubstr("not this site's, but those of GPUs are the file's own"));
  const auto make_own = [&](nlohmann::json& rates) {
    change_gpus(rates);
    rates["origin"] = "east", rates["is_own"] = true;
  };
  EXPECT_THAT(first_lines(make_own), HasSubstr("Rates of east, but those of hosts, NICs"));
}

TEST(WeftPlan, WhatFindsSilentFailuresIsNamedWhereItGainsMost) {
  const ScratchFile fabric(kFabric);
  const ScratchFile rates(edited_rates([](nlohmann::json& all) {
    for (auto& each : all["classes"])
      if (each["class"] == "host_cable") each["stops"] = 0.2, each["silent"] = 0.8, each["events"] = 300;
  }));
  const Arguments words{fabric.path(), "--job", "96", "--histories", "40", "--rates", rates.path()};
  EXPECT_THAT(call(plan_command, words).out, HasSubstr("More than any of these gains"));
  auto agents = words;
  agents.insert(agents.end(), {"--sweep", "agents"});
  EXPECT_THAT(call(plan_command, agents).out, testing::Not(HasSubstr("More than any of these")));
}

TEST(WeftPlan, AJobThatDoesNotFillItsHostsAndADayWithItsUnitAreTaken) {
  const ScratchFile fabric(kFabric);
  const auto outcome = call(plan_command, {fabric.path(), "--job", "95", "--days", "54d", "--histories", "40",
                                           "--what-if", "sweep-cost=5m"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("--job 95: hosts have 8 GPUs"));
  EXPECT_THAT(outcome.out, testing::StartsWith("96 GPUs"));
  EXPECT_THAT(outcome.out, HasSubstr("changes nothing here")) << "nothing sweeps";
}

TEST(WeftPlan, SaysOfLlama3WhatItsPageShows) {
  const auto page = llama_page();
  ASSERT_EQ(page.commands.size(), 5U);
  ASSERT_EQ(page.rows.size(), page.commands.size());
  const ScratchFile fabric(page.fabric);
  ASSERT_FALSE(page.begin.empty());
  EXPECT_THAT(call(plan_command, {fabric.path(), "--job", "16384"}).out, testing::StartsWith(page.begin));
  // The others, of 100,000 GPUs, take half a minute: `./bootstrap bench plan` makes all of them.
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(llama_row(page, page.commands[i]), page.rows[i]);
}

TEST(WeftPlan, EachThingThatCannotBeIsRefusedAndNamed) {
  const ScratchFile fabric(kFabric);
  const auto said = [&](Arguments words) {
    words.insert(words.begin(), {fabric.path(), "--job", "96", "--histories", "40"});
    const auto outcome = call(plan_command, words);
    EXPECT_EQ(outcome.status, 64) << outcome.out;
    return outcome.err;
  };
  const auto of_rates = [&](std::string_view gpu) {
    const ScratchFile rates(fmt::format(
        R"({{"schema":"weft.rates/1","origin":"site","is_own":true,"classes":[{{"class":"gpu",{}}}]}})",
        gpu));
    return said({"--rates", rates.path()});
  };
  constexpr const char* kSeen = R"("exposure":{"parts":100,"time":"54d"})";
  constexpr const char* kRepair = R"("repair":[{"law":"fixed","mean":"4h"}])";
  EXPECT_THAT(said({"--checkpoint", "2000d"}), HasSubstr("no progress"));
  EXPECT_THAT(said({"--checkpoint", "55d"}), HasSubstr("more than the 54 d that are planned"));
  EXPECT_THAT(said({"--what-if", "checkpoint=55d"}), HasSubstr("more than the 54 d that are planned"));
  EXPECT_THAT(said({"--checkpoint", "0s"}), HasSubstr("--checkpoint"));
  EXPECT_THAT(said({"--checkpoint-cost", "300d"}), HasSubstr("no progress"));
  EXPECT_THAT(said({"--detect", "-1s"}), HasSubstr("--detect"));
  EXPECT_THAT(said({"--network-share", "101%"}), HasSubstr("--network-share"));
  EXPECT_THAT(said({"--crews", "-1"}), HasSubstr("--crews"));
  EXPECT_THAT(said({"--spares", "5"}), HasSubstr("does not fit"));
  EXPECT_THAT(of_rates(fmt::format(R"("events":1e300,{},{})", kSeen, kRepair)), HasSubstr("events"));
  EXPECT_THAT(of_rates(fmt::format(R"("events":-1,{},{})", kSeen, kRepair)), HasSubstr("events"));
  EXPECT_THAT(of_rates(fmt::format(R"("events":1,{})", kRepair)), HasSubstr("exposure"));
  EXPECT_THAT(of_rates(fmt::format(R"("events":1,{},{},"slient":0.1)", kSeen, kRepair)),
              HasSubstr("did you mean 'silent'?"));
  EXPECT_THAT(of_rates(fmt::format(R"("events":1,{},{},"stops":0.949)", kSeen, kRepair)),
              HasSubstr("add up"));
  EXPECT_THAT(of_rates(fmt::format(R"("events":1e9,{},{})", kSeen, kRepair)),
              testing::AnyOf(HasSubstr("no progress"), HasSubstr("are simulated")));
  // Repairs that end long after what is planned, and a class without an event, are no trouble.
  const ScratchFile odd(fmt::format(
      R"({{"schema":"weft.rates/1","origin":"site","is_own":true,"classes":[{{"class":"gpu","events":0,{},"repair":[{{"law":"fixed","mean":"3000d"}}]}}]}})",
      kSeen));
  const auto fine =
      call(plan_command, {fabric.path(), "--job", "96", "--rates", odd.path(), "--histories", "40"});
  EXPECT_EQ(fine.status, 0) << fine.err;
  EXPECT_THAT(fine.out, HasSubstr("Rates of site;"));
}

class PlanOfAStore : public ::testing::Test {
 protected:
  os::ScratchDirectory directory_ = os::ScratchDirectory::make().value();
  std::string file_ = directory_.path() / "watch.db";
  Fabric fabric_ = make_clos({.name = "roce-a", .leaves = 4, .spines = 4, .hosts_per_leaf = 4}).value();
  ScratchFile text_{kFabric};
  Nanoseconds now_ = std::chrono::system_clock::now().time_since_epoch();
  std::vector<watch::StoredEvent> events_;

  void add(std::string_view channel, int hours_ago, std::optional<int> hours_long,
           Verdict verdict = Verdict::failed) {
    add({.channels = {fabric_.find_channel(channel).value()}, .nodes = {}}, Hours(hours_ago),
        hours_long ? std::optional(Hours(*hours_long)) : std::nullopt, verdict);
  }
  void add(IncidentPlace place, Hours ago, std::optional<Hours> length, Verdict verdict = Verdict::failed) {
    const auto in_time = [](Hours span) { return std::chrono::round<Nanoseconds>(span); };
    IncidentEvent made;
    made.incident.id = IncidentId(events_.size() + 1);
    made.incident.place = std::move(place);
    made.incident.verdict = verdict;
    made.incident.state = length ? IncidentState::closed : IncidentState::open;
    made.at = made.incident.first_seen = now_ - in_time(ago);
    made.incident.opened = made.at;
    made.incident.last_seen = made.at;
    if (length) made.incident.closed = made.at + in_time(*length);
    made.incident.evidence = {"38 of 4,096 lost"};
    events_.push_back({.incident = made.incident.id.value(),
                       .sequence = made.incident.id.value(),
                       .text = files::event_line(files::report_of(fabric_, made))});
  }
  /// Watched in each of the last so many hours.
  void write(int hours) {
    auto store = store::WatchStore::open(file_, fabric_).value();
    ASSERT_TRUE(store.apply(events_));
    const auto layout = store::layout_of(store.database(), fabric_).value();
    for (int hour = hours; hour > 0; --hour) {
      store::HistoryBucket bucket;
      bucket.begin = std::chrono::floor<store::Seconds>(now_ - std::chrono::hours(hour));
      bucket.begin -= bucket.begin % store::Seconds(10);
      bucket.channels.resize(fabric_.channel_count());
      for (auto& channel : bucket.channels) channel.sent = 10;
      ASSERT_TRUE(store::record(store.database(), layout, bucket));
    }
  }
  /// A watcher's file of what came of a history, as it is `at`, which is now.
  void write_history(const reliability::Plant& plant, const reliability::History& history, Hours at) {
    std::filesystem::remove(file_);
    events_.clear();
    for (const auto& each : history.failures) {
      if (each.at >= at) break;
      const auto part = files::kPartClasses[each.cause];
      const auto name = plant.name_of(part, each.part);
      IncidentPlace place;
      if (part == files::PartClass::host_cable || part == files::PartClass::switch_cable)
        place.channels = {Fabric::a_to_b(fabric_.find_link(name).value())};
      else
        place.nodes = {fabric_.find_node(name).value()};
      add(place, at - each.at, each.at + each.repair < at ? std::optional(each.repair) : std::nullopt);
    }
    write(static_cast<int>(at.count()));
  }
  nlohmann::json rates(const Arguments& more = {}) const {
    Arguments words{"rates", "--from", file_, "--fabric", text_.path()};
    words.insert(words.end(), more.begin(), more.end());
    const auto outcome = call(plan_command, words);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    expect_matches_schema(outcome.out, "rates");
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }
  static nlohmann::json of_class(const nlohmann::json& rates, const char* name) {
    for (const auto& each : rates["classes"])
      if (each["class"] == name) return each;
    return {};
  }
};

TEST_F(PlanOfAStore, OnlyWatchedTimeIsExposureAndOpenRepairsCountForTheirTime) {
  add("leaf1->spine1", 100, 10);
  add("leaf2->spine3", 20, std::nullopt);
  add("leaf1->host1", 50, 2, Verdict::degraded);
  add("leaf3->spine1", 24 * 60, 1);  // before
  write(200);
  const auto learnt = rates({"--since", "30d"});
  const auto cables = of_class(learnt, "switch_cable");
  EXPECT_EQ(cables["events"], 2);
  EXPECT_EQ(cables["exposure"]["parts"], 16);
  EXPECT_EQ(cables["exposure"]["time"], "200h") << "not 30 days";
  EXPECT_NEAR(std::stod(cables["repair"][0]["mean"].get<std::string>()), 30, 0.01)
      << "10 h and 20 h so far, one repair that ended";
  EXPECT_EQ(of_class(learnt, "host_cable")["slows"], 1);
  EXPECT_EQ(of_class(learnt, "spine")["events"], 0);
  EXPECT_THAT(of_class(learnt, "gpu")["guesses"].dump(), HasSubstr("events")) << "no watcher sees GPUs";
}

TEST_F(PlanOfAStore, AHistoryBecomesRatesAPlanAndACheckOfWhatCame) {
  for (int i = 0; i < 12; ++i) add(fmt::format("leaf{}->spine{}", 1 + i % 4, 1 + i / 4), 300 + 20 * i, 4);
  write(700);
  const ScratchFile learnt(rates({"--since", "30d"}).dump());
  const auto plan = call(plan_command, {text_.path(), "--job", "96", "--rates", learnt.path(), "--histories",
                                        "40", "-o", "json"});
  ASSERT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("Rates of roce-a, but those of GPUs, NICs, software are not this site's"));
  auto document = nlohmann::json::parse(plan.out);
  const auto check = [&](int hours_ago) {
    document["generated_at"] =
        to_string(UtcTime(std::chrono::floor<std::chrono::seconds>(now_ - std::chrono::hours(hours_ago))));
    const ScratchFile kept(document.dump());
    return call(plan_command, {"check", kept.path(), "--from", file_, "--fabric", text_.path()});
  };
  // 280 h without a failure, then with all of them: of a rate of one in 58 h neither is outside for long.
  EXPECT_EQ(check(700).status, 0) << check(700).out;
  const auto quiet = check(250);
  EXPECT_EQ(quiet.status, 0) << quiet.out;
  EXPECT_THAT(quiet.out, HasSubstr("switch_cable"));
  document["causes"][4]["times"] = 1000.0;
  EXPECT_EQ(check(700).status, 1) << "three hundred times as many were forecast";
  EXPECT_EQ(check(0).status, 3) << "nothing was watched since";
}

/// So many failures of each class that a watcher sees, in the fabric within 240 h.
files::Rates known_rates(const reliability::Plant& plant, double events) {
  files::Rates rates{.origin = "drawn", .is_own = true, .classes = {}};
  for (const auto part : {files::PartClass::host, files::PartClass::host_cable,
                          files::PartClass::switch_cable, files::PartClass::leaf, files::PartClass::spine})
    rates.classes.push_back({.part = part,
                             .events = events,
                             .parts = plant.count(part),
                             .time = Hours(240),
                             .repair = {{files::RepairLaw::exponential, Hours(3), 0, 1}}});
  return rates;
}

TEST_F(PlanOfAStore, WhatIsDrawnFromKnownRatesComesBackAsTheseAndTheNextPeriodIsAsForecast) {
  const auto plant = reliability::make_plant(fabric_, {}, 8);
  const auto truth = known_rates(plant, 12), worse = known_rates(plant, 48);
  const auto drawn = [&](const files::Rates& rates, std::uint64_t seed) {
    return reliability::HistorySource(plant, rates)
        .draw(0, {.seed = seed, .length = Hours(480), .open_rates = false});
  };
  std::size_t outside = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    auto history = drawn(truth, seed);
    write_history(plant, history, Hours(240));
    const auto learnt = rates();
    for (const auto& each : truth.classes) {
      const auto name = std::string(files::to_string(each.part));
      const auto of = of_class(learnt, name.c_str());
      EXPECT_EQ(of["exposure"]["time"], "240h") << name;
      EXPECT_NEAR(of["events"].get<double>(), 12, 4 * std::sqrt(12)) << name;
      EXPECT_NEAR(std::stod(of["repair"][0]["mean"].get<std::string>()), 3, 4 * 3 / std::sqrt(12)) << name;
    }
    const ScratchFile own(learnt.dump());
    const auto plan = call(plan_command, {text_.path(), "--job", "96", "--days", "10", "--rates", own.path(),
                                          "--histories", "40", "-o", "json"});
    ASSERT_EQ(plan.status, 0) << plan.err;
    auto document = nlohmann::json::parse(plan.out);
    document["generated_at"] =
        to_string(UtcTime(std::chrono::floor<std::chrono::seconds>(now_ - std::chrono::hours(240))));
    const ScratchFile kept(document.dump());
    const auto check = [&] { return call(plan_command, {"check", kept.path(), "--from", file_}); };
    write_history(plant, history, Hours(480));
    const auto as_forecast = check();
    EXPECT_THAT(as_forecast.out, testing::ContainsRegex("in (9.9[0-9]|10) days that were watched"))
        << as_forecast.err;
    for (std::size_t at = 0; (at = as_forecast.out.find(" to ", at)) != std::string::npos; ++at) ++all;
    for (std::size_t at = 0; (at = as_forecast.out.find("outside\n", at)) != std::string::npos; ++at)
      ++outside;
    std::erase_if(history.failures, [](const auto& each) { return each.at >= Hours(240); });
    for (const auto& each : drawn(worse, seed).failures)
      if (each.at >= Hours(240)) history.failures.push_back(each);
    write_history(plant, history, Hours(480));
    EXPECT_EQ(check().status, 1) << "four times as many came";
  }
  EXPECT_EQ(all, 20U);
  EXPECT_LE(outside, 3U) << "of 20 intervals of 95 % one is missed, three by bad luck";
}

TEST_F(PlanOfAStore, TheDatabaseAloneTellsTheFabricThatWasWatched) {
  add("leaf1->spine1", 100, 10);
  write(200);
  const auto alone = call(plan_command, {"rates", "--from", file_, "--since", "30d"});
  EXPECT_EQ(alone.status, 0) << alone.err;
  const auto classes = [](const std::string& text) { return nlohmann::json::parse(text)["classes"]; };
  EXPECT_EQ(classes(alone.out), rates({"--since", "30d"})["classes"]);
  {
    auto store = store::WatchStore::open(file_, fabric_).value();
    ASSERT_TRUE(store.database().run("DELETE FROM facts WHERE name='fabric file'"));
  }
  EXPECT_THAT(call(plan_command, {"rates", "--from", file_}).err, HasSubstr("an older weft wrote it"));
  {
    auto store = store::WatchStore::open(file_, fabric_).value();
    ASSERT_TRUE(store.database().run("UPDATE facts SET value='fabric: [' WHERE name='fabric file'"));
  }
  const auto forged = call(plan_command, {"rates", "--from", file_});
  EXPECT_EQ(forged.status, 64);
  EXPECT_THAT(forged.err, HasSubstr("the fabric that is kept in"));
}

TEST_F(PlanOfAStore, ACableThatFailsAgainAndAgainChangesTheForecastAndTheTableOfRepairs) {
  for (int i = 0; i < 14; ++i) add("spine1->leaf1", 20 + 20 * i, 4);
  for (int i = 0; i < 14; ++i) add("host16->leaf4", 30 + 20 * i, 4);
  add("leaf3->spine2", 500, 4);
  write(700);
  const auto learnt = rates({"--since", "30d"});
  EXPECT_EQ(of_class(learnt, "switch_cable")["known"][0]["name"], "leaf1--spine1") << learnt;
  EXPECT_EQ(of_class(learnt, "host_cable")["known"][0]["name"],
            fabric_.name_of(*fabric_.find_link("leaf4--host16")));
  const auto of_cables = [&](const nlohmann::json& rates, const char* cause) {
    const ScratchFile file(rates.dump());
    const auto plan = call(plan_command, {text_.path(), "--job", "40", "--spares", "0", "--rates",
                                          file.path(), "--histories", "40", "-o", "json"});
    EXPECT_EQ(plan.status, 0) << plan.err;
    const auto document = nlohmann::json::parse(plan.out);
    EXPECT_EQ(document["unknown_parts"], 0);
    for (const auto& each : document["causes"])
      if (each["cause"] == cause) return each["interruptions"]["mean"].get<double>();
    return 0.0;
  };
  auto alike = learnt;
  for (auto& each : alike["classes"]) each.erase("known");
  EXPECT_GT(of_cables(learnt, "switch_cable"), 1.5 * of_cables(alike, "switch_cable"))
      << "the job is at leaf1 and leaf2";
  EXPECT_LT(of_cables(learnt, "host_cable"), of_cables(alike, "host_cable") / 2) << "and not at leaf4";
  const ScratchFile file(learnt.dump());
  const auto table = call(report_command, {"--db", file_, "--since", "30d", "--rates", file.path()});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, testing::ContainsRegex("leaf1--spine1 +1.00"));
  EXPECT_THAT(table.out, testing::ContainsRegex("leaf3--spine2 +0.0"));
}

TEST_F(PlanOfAStore, APlanOfAnotherFabricOrOfAnotherSizeIsNotChecked) {
  write(200);
  const auto said = [&](std::string_view fabric, const Arguments& more) {
    const ScratchFile planned(fabric);
    Arguments words{planned.path(), "--job", "96", "--histories", "40", "-o", "json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto plan = call(plan_command, words);
    EXPECT_EQ(plan.status, 0) << plan.err;
    const ScratchFile kept(plan.out);
    const auto check = call(plan_command, {"check", kept.path(), "--from", file_, "--fabric", text_.path()});
    EXPECT_EQ(check.status, 64) << check.out;
    return check.err;
  };
  EXPECT_THAT(said("fabric: roce-b\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4}\n", {}),
              HasSubstr("roce-b"));
  EXPECT_THAT(said("fabric: roce-a\nclos: {leaves: 4, spines: 2, hosts_per_leaf: 4}\n", {}),
              HasSubstr("of 8 switch cables, and roce-a has 16"));
  EXPECT_THAT(said(kFabric, {"--scale", "512"}), HasSubstr("--scale"));
}

TEST_F(PlanOfAStore, RenamedHostsAndClocksThatJumpAreLeftOutAndTold) {
  add("leaf1->spine1", 100, 10);
  add("leaf2->spine2", 100, -5);
  write(200);
  const ScratchFile other("fabric: roce-a\nclos: {leaves: 1, spines: 1, hosts_per_leaf: 1}\n");
  const auto outcome = call(plan_command, {"rates", "--from", file_, "--fabric", other.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("left out"));
  EXPECT_THAT(outcome.err, HasSubstr("1 that end before they begin"));
}

TEST_F(PlanOfAStore, MoreIncidentsThanAnybodyHasAreRefusedBeforeTheyAreRead) {
  add("leaf1->spine1", 100, 10);
  write(200);
  {
    auto store = store::WatchStore::open(file_, fabric_).value();
    ASSERT_TRUE(
        store.database().run("INSERT INTO incidents WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 "
                             "FROM n WHERE i < 1000020) "
                             "SELECT i, i, (SELECT first_seen FROM incidents), (SELECT last_seen FROM "
                             "incidents), 'closed', 1, '' FROM n"));
  }
  const auto outcome = call(plan_command, {"rates", "--from", file_, "--fabric", text_.path()});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("1000000 at most"));
}

TEST_F(PlanOfAStore, WithoutWatchedTimeThereAreNoRates) {
  write(0);
  const auto outcome = call(plan_command, {"rates", "--from", file_, "--fabric", text_.path()});
  EXPECT_EQ(outcome.status, 69);
  EXPECT_THAT(outcome.err, HasSubstr("without exposure"));
  const ScratchFile other("fabric: other\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4}\n");
  EXPECT_THAT(call(plan_command, {"rates", "--from", file_, "--fabric", other.path()}).err,
              HasSubstr("roce-a"));
}

}  // namespace
}  // namespace weft::cli
