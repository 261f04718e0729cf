// `weft plan` as a user calls it; and a history of known rates through a watcher's store into rates, a plan
// and the check of the next period.
#include "cli/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "cli/report.hpp"
#include "collectors/store/watch_store.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
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
  const auto outcome = call(plan_command, {fabric.path(), "--job", "8", "--days", "0.0001"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("no restart in"));
  EXPECT_THAT(outcome.out, HasSubstr("too few restarts"));
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
  EXPECT_THAT(said({"--job", "8", "--what-if", "colour=red"}), HasSubstr("dual-leaf"));
  EXPECT_THAT(said({"--job", "8", "--gpus-per-host", "100000"}), HasSubstr("at most"));
  EXPECT_THAT(said({"--job", "8", "--scale", "99999999999"}), HasSubstr("at most"));
  EXPECT_THAT(said({"--job", "8", "--sweep", "often"}), HasSubstr("never, restart, agents"));
  EXPECT_THAT(said({"--job", "8", "--shortage", "pray"}), HasSubstr("wait or shrink"));
  EXPECT_THAT(said({"--job", "8", "--histories", "1"}), HasSubstr("40 to"));
  EXPECT_THAT(said({"--job", "64", "--group", "3000000"}), HasSubstr("expected 1 to 8"));
  EXPECT_THAT(said({"--job", "64", "--group", "0"}), HasSubstr("expected 1 to 8"));
  EXPECT_THAT(said({"--job", "8", "--sweep", "1h", "--sweep-cost", "2h"}), HasSubstr("all of the time"));
  EXPECT_THAT(said({"--job", "8", "--sweep", "1h", "--what-if", "sweep-cost=2h"}),
              HasSubstr("all of the time"));
  EXPECT_THAT(call(plan_command, {"rate", "--published"}).err, HasSubstr("did you mean 'rates'?"));
  EXPECT_THAT(call(plan_command, {"chek"}).err, HasSubstr("did you mean 'check'?"));
  EXPECT_EQ(call(plan_command, {"rates"}).status, 64);
  EXPECT_EQ(call(plan_command, {"check"}).status, 64);
}

/// What stands in a text between two others.
std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const auto begin = text.find(from);
  const auto end = begin == std::string::npos ? begin : text.find(to, begin + from.size());
  return end == std::string::npos ? "" : text.substr(begin + from.size(), end - begin - from.size());
}

TEST(WeftPlan, SaysOfLlama3WhatItsPageShows) {
  const auto page = text_of(WEFT_SOURCE_DIR "/docs/plan.md");
  const ScratchFile fabric(between(page, "<<'END'\n", "END\n"));
  const auto command = between(page, "END\nweft plan llama24.yaml ", "\n");
  ASSERT_EQ(command, "--job 16384");
  const auto shown = between(page, "The first of them begins so:\n\n```\n", "```");
  ASSERT_FALSE(shown.empty());
  EXPECT_THAT(call(plan_command, {fabric.path(), "--job", "16384"}).out, testing::StartsWith(shown));
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
    IncidentEvent made;
    made.incident.id = IncidentId(events_.size() + 1);
    made.incident.place.channels = {fabric_.find_channel(channel).value()};
    made.incident.verdict = verdict;
    made.incident.state = hours_long ? IncidentState::closed : IncidentState::open;
    made.at = made.incident.first_seen = now_ - std::chrono::hours(hours_ago);
    made.incident.opened = made.at;
    made.incident.last_seen = made.at;
    if (hours_long) made.incident.closed = made.at + std::chrono::hours(*hours_long);
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
  EXPECT_THAT(plan.out, HasSubstr("Rates of roce-a"));
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
    const auto plan = call(plan_command, {text_.path(), "--job", "32", "--rates", file.path(), "--histories",
                                          "40", "-o", "json"});
    EXPECT_EQ(plan.status, 0) << plan.err;
    const auto document = nlohmann::json::parse(plan.out);
    EXPECT_EQ(document["unknown_parts"], 0);
    for (const auto& each : document["causes"])
      if (each["cause"] == cause) return each["interruptions"]["mean"].get<double>();
    return 0.0;
  };
  auto alike = learnt;
  for (auto& each : alike["classes"]) each.erase("known");
  EXPECT_GT(of_cables(learnt, "switch_cable"), 2 * of_cables(alike, "switch_cable")) << "the job is at leaf1";
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
