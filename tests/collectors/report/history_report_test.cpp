#include "collectors/report/history_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/schema.hpp"
#include "topology/base/text.hpp"

namespace weft::report {
namespace {

using std::chrono::seconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr Nanoseconds kNoon = seconds(1'769'860'800);

WatchHistory one_cable() {
  files::EventReport event{.fabric = "a", .number = 4, .at = kNoon, .change = IncidentChange::closed};
  auto& incident = event.incident;
  incident.id = IncidentId(12);
  incident.channels = {"leaf1->spine2"};
  incident.links = {"leaf1--spine2"};
  incident.verdict = Verdict::degraded;
  incident.state = IncidentState::closed;
  incident.first_seen = kNoon;
  incident.last_seen = kNoon + seconds(600);
  incident.opened = kNoon + seconds(5);
  incident.flaps = 2;
  incident.bad = seconds(330);
  incident.muted_by = "optics";
  return {.fabric = "a",
          .from = kNoon - seconds(86'400),
          .until = kNoon + seconds(86'400),
          .incidents = {event},
          .offences = {{.link = "leaf1--spine2",
                        .cause = Cause::loss,
                        .first_seen = kNoon,
                        .last_seen = kNoon + seconds(600),
                        .bad = seconds(330),
                        .times = 3,
                        .evidence = "38 of 4,096 lost, \"so\""}}};
}

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    most = std::max(most, columns_of(text.substr(at, end - at)));
    at = end + 1;
  }
  return most;
}

TEST(HistoryTable, TellsIncidentsAndCablesInEightyColumns) {
  const auto text = history_table(one_cable(), 80);
  EXPECT_THAT(text, HasSubstr("2026-01-31T12:00:00Z"));
  EXPECT_THAT(text, HasSubstr("came back 2x, muted"));
  EXPECT_THAT(text, HasSubstr("leaf1->spine2"));
  EXPECT_THAT(text, HasSubstr("5.5"));
  EXPECT_THAT(text, HasSubstr("330 s"));
  EXPECT_THAT(text, HasSubstr("1 incident, 1 cable at"));
  EXPECT_EQ(text.find(kNoBreak), std::string::npos);
  EXPECT_LE(widest(text), 80u);
  EXPECT_LE(widest(history_table(one_cable(), 40)), 40u);
}

TEST(HistoryTable, OfOneLinkHasItsEvidenceAndWhatWasLostOverTime) {
  auto history = one_cable();
  history.place = "leaf1--spine2";
  history.channels = {{"leaf1->spine2", {{kNoon, seconds(3600), 36'000, 360, Verdict::degraded}}},
                      {"spine2->leaf1", {}}};
  const auto text = history_table(history, 80);
  EXPECT_THAT(text, HasSubstr("38 of 4,096"));
  EXPECT_THAT(text, HasSubstr("1%"));
  EXPECT_THAT(text, Not(HasSubstr("spine2->leaf1\n"))) << "nothing is kept of that direction";
  EXPECT_LE(widest(text), 80u);
}

TEST(HistoryTable, OfNothingSaysSo) {
  const auto text = history_table({.fabric = "a", .from = kNoon, .until = kNoon}, 80);
  EXPECT_THAT(text, HasSubstr("0 incidents"));
}

TEST(HistoryJson, IsByItsSchema) {
  auto history = one_cable();
  history.place = "leaf1--spine2";
  history.channels = {{"leaf1->spine2", {{kNoon, seconds(10), 100, 1, Verdict::healthy}}}};
  expect_matches_schema(history_json(history, {.generated_at = UtcTime(seconds(1)), .tool_version = "1"}),
                        "report");
}

files::EventReport incident_of(const char* link, Nanoseconds from, Nanoseconds to) {
  auto event = one_cable().incidents[0];
  event.incident.links = {link};
  event.incident.first_seen = from;
  event.incident.last_seen = to;
  event.incident.muted_by.reset();
  return event;
}

TEST(RepairOutcomes, AModuleThatWasChangedHeldWhereNoIncidentCameSince) {
  using std::chrono::hours;
  auto history = one_cable();
  history.incidents = {incident_of("leaf1--spine2", kNoon - hours(9), kNoon - hours(8)),
                       incident_of("leaf1--spine2", kNoon - hours(5), kNoon + seconds(60)),
                       incident_of("leaf2--spine2", kNoon - hours(5), kNoon + hours(5)),
                       incident_of("leaf3--spine1", kNoon + hours(3), kNoon + hours(4))};
  history.repairs = repair_outcomes(history.incidents,
                                    {{"leaf1--spine2", "leaf1/p6", "MT1", "MT2\x1b", kNoon - hours(2), kNoon},
                                     {"leaf2--spine2", "leaf2/p6", "MT3", "MT4", kNoon - hours(2), kNoon},
                                     {"leaf4--spine1", "leaf4/p5", "MT5", "MT6", kNoon - hours(2), kNoon}});
  const auto& outcomes = history.repairs;
  ASSERT_EQ(outcomes.size(), 2u)
      << "of leaf4--spine1 there was no trouble, at leaf3--spine1 nothing was done";
  EXPECT_EQ(outcomes[0].link, "leaf1--spine2");
  EXPECT_EQ(outcomes[0].before, 2u);
  EXPECT_EQ(outcomes[0].since, 0u) << "an incident is seen until enough clean probes crossed";
  EXPECT_EQ(outcomes[1].since, 1u) << "the one that was open went on";
  EXPECT_THAT(history_table(history, 80), HasSubstr("2 incidents before, nothing was watched"));
  history.repairs[0].watched = hours(75);
  const auto text = history_table(history, 80);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("another module at leaf1/p6 since"));
  EXPECT_THAT(text, ContainsRegex("2 incidents before,\\s+none in 3 days"));
  EXPECT_THAT(text, HasSubstr("1 since: it did not"));
  EXPECT_LE(widest(text), 80u);
  const auto json = history_json(history, {.generated_at = UtcTime(seconds(1)), .tool_version = "1"});
  expect_matches_schema(json, "report");
  EXPECT_THAT(json, HasSubstr("\"serial_after\": \"MT2"));
}

TEST(RepairOutcomes, OfAModuleCountWhatWasMutedTooAndWhatFellBetweenTwoReadings) {
  using std::chrono::hours;
  const ModuleChange change{"leaf1--spine2", "leaf1/p6", "MT1", "MT2", kNoon - hours(2), kNoon};
  auto other_end = change;
  other_end.port = "spine2/p1";
  auto muted = incident_of("leaf1--spine2", kNoon + hours(1), kNoon + hours(9));
  muted.incident.muted_by = "later";
  auto outcomes = repair_outcomes({muted}, {change, other_end});
  ASSERT_EQ(outcomes.size(), 2u) << "the change, told by both ends of one cable, and the mute";
  EXPECT_EQ(outcomes[1].since, 1u) << "the trouble came back, whoever muted it then";
  outcomes =
      repair_outcomes({incident_of("leaf1--spine2", kNoon - hours(1), kNoon - seconds(900))}, {change});
  EXPECT_EQ(outcomes.at(0).meanwhile, 1u);
  EXPECT_EQ(outcomes[0].before + outcomes[0].since, 0u);
  auto history = one_cable();
  history.repairs = outcomes;
  EXPECT_THAT(history_table(history, 80), ContainsRegex("1\\s+before\\s+or\\s+after"));
  expect_matches_schema(history_json(history, {.generated_at = UtcTime(seconds(1)), .tool_version = "1"}),
                        "report");
}

TEST(RepairOutcomes, WhatWasMutedIsTheWorkItselfAndWhatCameAfterItIsNot) {
  using std::chrono::hours;
  auto history = one_cable();  // muted for "optics", noon and ten minutes
  history.incidents.push_back(incident_of("leaf1--spine2", kNoon - hours(9), kNoon - hours(8)));
  auto outcomes = repair_outcomes(history.incidents, {});
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].reason, "optics");
  EXPECT_EQ(outcomes[0].before, 1u);
  EXPECT_EQ(outcomes[0].since, 0u);
  history.repairs = outcomes;
  EXPECT_THAT(history_table(history, 80), HasSubstr("muted (optics)"));
  history.incidents.push_back(incident_of("leaf1--spine2", kNoon + hours(9), kNoon + hours(10)));
  EXPECT_EQ(repair_outcomes(history.incidents, {})[0].since, 1u);
  expect_matches_schema(history_json(history, {.generated_at = UtcTime(seconds(1)), .tool_version = "1"}),
                        "report");
}

TEST(RepairOutcomes, NeitherASuspicionNorWhatMayBeAnotherCableCounts) {
  auto history = one_cable();
  history.incidents = {incident_of("leaf1--spine2", kNoon + seconds(7200), kNoon + seconds(9000)),
                       incident_of("leaf1--spine2", kNoon + seconds(7200), kNoon + seconds(9000))};
  history.incidents[0].incident.opened.reset();
  history.incidents[1].incident.links.emplace_back("leaf2--spine2");
  EXPECT_TRUE(repair_outcomes(history.incidents, {{"leaf1--spine2", "leaf1/p6", "MT1", "MT2", kNoon, kNoon}})
                  .empty());
}

TEST(OffencesCsv, HasACableALineQuotedWhereItMust) {
  EXPECT_EQ(offences_csv(one_cable()),
            "link,cause,first_seen,last_seen,minutes,times,evidence\n"
            "leaf1--spine2,loss,2026-01-31T12:00:00Z,2026-01-31T12:10:00Z,5.5,3,\"38 of 4,096 lost, "
            "\"\"so\"\"\"\n");
}

TEST(OffencesCsv, AndTheTableHaveTheProbabilityOfAnOffenderWhereRatesAreGiven) {
  auto history = one_cable();
  history.offences.push_back(history.offences.front());
  history.offences.back().link = "host1--leaf1";
  history.offenders = {{"leaf1--spine2", 0.97}};
  EXPECT_THAT(offences_csv(history), HasSubstr("evidence,offender\n"));
  EXPECT_THAT(offences_csv(history), HasSubstr("0.97\n"));
  EXPECT_THAT(history_table(history, 80), HasSubstr("offender"));
  EXPECT_THAT(history_table(history, 80), HasSubstr("0.00")) << "of the one that rates do not know";
  expect_matches_schema(history_json(history, {.generated_at = UtcTime(seconds(1)), .tool_version = "1"}),
                        "report");
}

TEST(ThinnedSteps, AddUpAndKeepTheWorst) {
  std::vector<HistoryStep> steps;
  for (int i = 0; i < 100; ++i)
    steps.push_back({kNoon + seconds(10 * i), seconds(10), 10, i == 50 ? 1u : 0u,
                     i == 50      ? Verdict::failed
                     : i % 2 == 0 ? Verdict::unknown
                                  : Verdict::healthy});
  const auto thin = thinned(steps, 12);
  EXPECT_LE(thin.size(), 12u);
  std::uint64_t sent = 0;
  Nanoseconds length{};
  for (const auto& step : thin) sent += step.sent, length += step.length;
  EXPECT_EQ(sent, 1'000u);
  EXPECT_EQ(length, seconds(1'000));
  EXPECT_EQ(thin.front().verdict, Verdict::healthy);
  EXPECT_EQ(thin[5].verdict, Verdict::failed);
  EXPECT_TRUE(thinned({}, 12).empty());
}

}  // namespace
}  // namespace weft::report
