// `weft report` as a user calls it, on a database as a watcher keeps it.
#include "cli/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "cli/commands.hpp"
#include "collectors/store/counter_readings.hpp"
#include "collectors/store/reported_nics.hpp"
#include "collectors/store/watch_store.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/text_of.hpp"
#include "topology/base/instant.hpp"
#include "topology/files/time_span.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

class WeftReport : public ::testing::Test {
 protected:
  os::ScratchDirectory directory_ = os::ScratchDirectory::make().value();
  std::string file_ = directory_.path() / "watch.db";
  Fabric fabric_ = make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2}).value();
  Nanoseconds now_ = std::chrono::system_clock::now().time_since_epoch();

  /// An incident of that channel, so many hours ago.
  IncidentEvent event(std::uint64_t id, std::string_view channel, int hours_ago, IncidentState state) const {
    IncidentEvent made;
    made.at = now_ - std::chrono::hours(hours_ago);
    made.incident.id = IncidentId(id);
    made.incident.place.channels = {fabric_.find_channel(channel).value()};
    made.incident.state = state;
    made.incident.verdict = Verdict::degraded;
    made.incident.first_seen = made.incident.last_seen = made.at;
    if (state != IncidentState::dismissed) made.incident.opened = made.at;
    made.incident.evidence = {"38 of 4,096 lost"};
    made.incident.bad = std::chrono::minutes(3);
    return made;
  }
  void SetUp() override {
    auto store = store::WatchStore::open(file_, fabric_).value();
    std::vector<watch::StoredEvent> events;
    for (const auto& each : {event(1, "leaf1->spine2", 1, IncidentState::closed),
                             event(2, "leaf2->spine1", 24 * 20, IncidentState::closed),
                             event(3, "leaf3->spine1", 2, IncidentState::dismissed)})
      events.push_back({.incident = each.incident.id.value(),
                        .sequence = each.incident.id.value(),
                        .text = files::event_line(files::report_of(fabric_, each))});
    ASSERT_TRUE(store.apply(events));
    watch::WatchState state;
    state.channels.assign(fabric_.channel_count(), {.fresh = true, .verdict = Verdict::healthy});
    for (int i = 0; i < 3; ++i) {
      state.at = now_ - std::chrono::seconds(600) + std::chrono::seconds(10 * i);
      for (auto& channel : state.channels) channel.sent_in_all += 70;
      ASSERT_TRUE(store.note(state));
    }
  }
  Outcome run(Arguments words) const {
    words.insert(words.begin(), {"--db", file_});
    return call(report_command, words);
  }
};

TEST_F(WeftReport, TellsTheLastSevenDays) {
  const auto outcome = run({});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("leaf1->spine2"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("leaf2"))) << "twenty days ago";
  EXPECT_THAT(outcome.out, Not(HasSubstr("leaf3"))) << "a suspicion";
  EXPECT_THAT(run({"--since", "30d"}).out, HasSubstr("leaf2->spine1"));
  EXPECT_THAT(run({"--suspicions"}).out, HasSubstr("leaf3->spine1"));
}

TEST_F(WeftReport, OfOneLinkHasItsHistory) {
  const auto outcome = run({"--link", "spine2--leaf1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("38 of 4,096 lost"));
  EXPECT_THAT(outcome.out, HasSubstr("spine2->leaf1\n"));
  EXPECT_THAT(outcome.out, HasSubstr("70"));
  for (const char* channel : {"leaf1->spine2", "spine2->leaf1"})
    EXPECT_EQ(run({"--link", channel, "-o", "csv"}).out, run({"--link", "leaf1--spine2", "-o", "csv"}).out);
  const auto unknown = run({"--link", "leaf1--spine9"});
  EXPECT_EQ(unknown.status, 64);
  EXPECT_THAT(unknown.err, HasSubstr("spine9"));
}

TEST_F(WeftReport, OfANodeHasTheIncidentsOfItsCablesAndNoUnknownNameReadsAsHealth) {
  EXPECT_THAT(run({"--link", "leaf1"}).out, HasSubstr("leaf1->spine2"));
  EXPECT_THAT(run({"--link", "leaf1", "-o", "csv"}).out, HasSubstr("leaf1--spine2"));
  EXPECT_EQ(run({"--link", "leaf4"}).status, 0) << "nothing happened there";
  for (const Arguments& more : {Arguments{}, Arguments{"--inventory"}}) {
    Arguments words{"--link", "nosuch"};
    words.insert(words.end(), more.begin(), more.end());
    const auto unknown = run(words);
    EXPECT_EQ(unknown.status, 64);
    EXPECT_THAT(unknown.err, HasSubstr("nosuch"));
  }
}

TEST_F(WeftReport, SaysWhetherAModuleThatWasChangedHeld) {
  const auto keep = [&](std::string_view head) {
    std::map<Nanoseconds, std::string> texts;
    for (const auto& [minutes_ago, serial] : {std::pair(30, "MT1"), {10, "MT2"}}) {
      const Nanoseconds at = now_ - std::chrono::minutes(minutes_ago);
      texts[at] = fmt::format(
          "{}\n"
          R"({{"at":"{}","source":"phy","port":"{}","serial":"{}","counters":{{"fec_corrected":7}}}})"
          "\n",
          head, instant_text(at), fabric_.name_of(fabric_.source(*fabric_.find_channel("leaf1->spine2"))),
          serial);
    }
    auto database = store::Database::open(file_, store::Database::Access::write).value();
    ASSERT_TRUE(store::keep_counter_readings(database, texts, now_ - std::chrono::hours(24), now_));
  };
  keep(R"({"schema":"weft.counters/1"})");
  const auto outcome = run({});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("another module at leaf1"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("1 incident before,\\s+no"));
  expect_matches_schema(run({"-o", "json"}).out, "report");
  keep("what nobody can read");
  const auto damaged = run({}).out;
  EXPECT_THAT(damaged, HasSubstr("leaf1->spine2")) << "of incidents it tells all the same";
  EXPECT_THAT(damaged, Not(HasSubstr("another module")));
}

TEST_F(WeftReport, TellsOfPortsThatCountedErrorsByWhatWasKept) {
  std::map<Nanoseconds, std::string> texts;
  for (const auto& [minutes_ago, errors] : {std::pair(150, 3), {10, 9}}) {
    const Nanoseconds at = now_ - std::chrono::minutes(minutes_ago);
    texts[at] = fmt::format(
        "{{\"schema\":\"weft.counters/1\"}}\n"
        R"({{"at":"{}","source":"agent host1","port":"host1/p1","counters":{{"fcs_errors":{},"frames_in":{}}}}})"
        "\n",
        instant_text(at), errors, 1'000'000'000 - 1000 * minutes_ago);
  }
  {
    auto database = store::Database::open(file_, store::Database::Access::write).value();
    ASSERT_TRUE(store::keep_counter_readings(database, texts, now_ - std::chrono::hours(24), now_));
  }
  const auto outcome = run({});
  EXPECT_THAT(outcome.out, HasSubstr("ports by their counters\n  host1/p1: 6 errors of"));
  EXPECT_THAT(outcome.out, HasSubstr("agent host1"));
  EXPECT_THAT(run({"--link", "host1--leaf1"}).out, HasSubstr("host1/p1: 6 errors"));
  EXPECT_THAT(run({"--link", "leaf1--spine2"}).out, Not(HasSubstr("by their counters")));
  const auto json = run({"-o", "json"}).out;
  expect_matches_schema(json, "report");
  EXPECT_THAT(json, HasSubstr("\"port\": \"host1/p1\""));
}

TEST_F(WeftReport, WritesJsonAndCsv) {
  expect_matches_schema(run({"-o", "json", "--link", "leaf1--spine2"}).out, "report");
  const auto csv = run({"-o", "csv", "--since", "30d"}).out;
  EXPECT_THAT(csv, testing::StartsWith("link,cause,first_seen"));
  EXPECT_THAT(csv, HasSubstr("leaf1--spine2,loss,"));
}

TEST_F(WeftReport, WhatIsWrongIsNamed) {
  const auto missing = call(report_command, {});
  EXPECT_EQ(missing.status, 64);
  EXPECT_THAT(missing.err, HasSubstr("--db"));
  EXPECT_THAT(call(report_command, {"--db", "/nowhere.db"}).err, HasSubstr("/nowhere.db"));
  EXPECT_THAT(run({"--since", "soon"}).err, HasSubstr("as in 7d"));
  EXPECT_THAT(run({"-o", "xml"}).err, HasSubstr("table, json or csv"));
  std::ofstream(directory_.path() / "text") << std::string(5'000, 'x');
  const auto damaged = call(report_command, {"--db", directory_.path() / "text"});
  EXPECT_EQ(damaged.status, 64);
  EXPECT_THAT(damaged.err, HasSubstr("event stream"));
}

TEST_F(WeftReport, OfADocumentIsAPage) {
  const auto document = directory_.path() / "rates.json", page = directory_.path() / "page.html";
  std::ofstream(document) << R"({"schema":"weft.rates/1","fabric":"f","classes":[{"class":"nic"}]})";
  const auto written = call(report_command, {document, "--html", page});
  EXPECT_EQ(written.status, 0) << written.err;
  EXPECT_THAT(text_of(page), HasSubstr("<h1>weft.rates/1 of f</h1>"));
  const auto refused = [&](Arguments words) {
    const auto outcome = call(report_command, std::move(words));
    EXPECT_EQ(outcome.status, 64);
    return outcome.err;
  };
  EXPECT_THAT(refused({document}), HasSubstr("--html FILE is missing"));
  EXPECT_THAT(refused({document, "--html", document}), HasSubstr("would take its place"));
  EXPECT_THAT(refused({document, "--html", page, "--db", file_}), HasSubstr("--db"));
  EXPECT_THAT(refused({file_, "--html", page}), HasSubstr("not JSON"));
  EXPECT_THAT(refused({"--db", file_, "--html", page}), HasSubstr("--html"));
  std::ofstream(document) << R"({"schema":"weft.comparison/1","margin":"much"})";
  EXPECT_THAT(refused({document, "--html", page}), HasSubstr("margin: expected a number"));
  EXPECT_THAT(text_of(page), HasSubstr("weft.rates/1")) << "what stood there stands";
}

TEST_F(WeftReport, OfASweepAndAnAssignmentIsWrittenByTheirCommands) {
  const auto fabric = directory_.path() / "f.yaml", page = directory_.path() / "page.html";
  std::ofstream(fabric) << "fabric: small\nclos: {leaves: 4, spines: 2, hosts_per_leaf: 2, link: 400G}\n";
  const auto swept =
      call(simulate_command, {fabric, "--fault", "leaf1--spine2:loss=2%", "--budget", "1s", "--html", page});
  EXPECT_EQ(swept.status, 1) << swept.err;
  EXPECT_THAT(text_of(page), HasSubstr("<b>leaf1--spine2</b>: degraded, loss"));
  const auto balanced =
      call(balance_command, {"--fabric", fabric, "--collective", "shift-2", "--hosts", "8", "--html", page});
  EXPECT_EQ(balanced.status, 0) << balanced.err;
  EXPECT_THAT(text_of(page), HasSubstr("times the bound"));
  const auto placed = call(balance_command, {"--fabric", fabric, "--place", "tensor:2:1GB", "--html", page});
  EXPECT_EQ(placed.status, 64) << "its answer is no assignment";
}

TEST_F(WeftReport, ListsTheNicsThatAgentsToldOfAndMarksThoseThatDiffer) {
  {
    auto database = store::Database::open(file_, store::Database::Access::write).value();
    std::vector<ReportedNic> nics;
    for (const char* host : {"host1", "host2", "host3"})
      nics.push_back({.nic = std::string(host) + "/p1",
                      .host = host,
                      .driver = "mlx5_core",
                      .firmware = nics.size() == 1 ? "28.36" : "28.39",
                      .pci_id = "15b3:1021",
                      .told = now_});
    ASSERT_TRUE(store::keep_reported_nics(database, nics));
  }
  const auto table = call(report_command, {"--db", file_, "--inventory"});
  EXPECT_EQ(table.status, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("3 NICs told by standing agents, 1 (*)"));
  const auto json = call(report_command, {"--db", file_, "--inventory", "-o", "json"});
  expect_matches_schema(json.out, "inventory");
  const auto csv = call(report_command, {"--db", file_, "--inventory", "--link", "host2", "-o", "csv"});
  EXPECT_THAT(csv.out, HasSubstr("firmware 28.36 (most have 28.39)")) << "of all NICs, not of those shown";
  EXPECT_THAT(csv.out, Not(HasSubstr("host1")));
  const auto cable =
      call(report_command, {"--db", file_, "--inventory", "--link", "host1--leaf1", "-o", "csv"});
  EXPECT_THAT(cable.out, HasSubstr("host1/p1"));
  EXPECT_THAT(cable.out, Not(HasSubstr("host2")));
  const auto both = call(report_command, {"--db", file_, "--inventory", "--suspicions"});
  EXPECT_THAT(both.err, HasSubstr("--suspicions is of incidents"));
}

TEST(TimeSpan, TakesDaysAndNoNonsense) {
  EXPECT_EQ(files::parse_span("7d"), Nanoseconds(std::chrono::hours(168)));
  EXPECT_EQ(files::parse_span("90m"), Nanoseconds(std::chrono::minutes(90)));
  for (const char* text : {"", "d", "0d", "-1d", "7", "7w", "1e30d", "999999999d"})
    EXPECT_FALSE(files::parse_span(text)) << text;
}

}  // namespace
}  // namespace weft::cli
