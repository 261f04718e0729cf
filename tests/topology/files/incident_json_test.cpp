#include "topology/files/incident_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/schema.hpp"
#include "topology/model/clos.hpp"

namespace weft::files {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

Fabric four_leaves() { return make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2}).value(); }

constexpr Nanoseconds kNoon{1'769'860'800'250'000'000};

IncidentEvent lossy_cable(const Fabric& fabric) {
  return {.number = 3,
          .at = kNoon + seconds(9),
          .change = IncidentChange::opened,
          .incident = {.id = IncidentId(12),
                       .place = {.channels = {fabric.find_channel("leaf1->spine2").value()}, .nodes = {}},
                       .cause = Cause::loss,
                       .verdict = Verdict::degraded,
                       .state = IncidentState::open,
                       .estimate = Estimate{.value = 0.01, .low = 0.008, .high = 0.013},
                       .confidence = 0.998,
                       .evidence = {"38 of 4,096 lost; the other paths 2 of 131,072"},
                       .first_seen = kNoon,
                       .last_seen = kNoon + seconds(8),
                       .opened = kNoon + seconds(9),
                       .flaps = 2,
                       .bad = seconds(8),
                       .muted_by = "new optics on Tuesday"}};
}

TEST(EventLine, IsOneLineByTheSchemaAndComesBackTheSame) {
  const Fabric fabric = four_leaves();
  const std::string line = event_line(report_of(fabric, lossy_cable(fabric)));
  expect_matches_schema(line, "event");
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_THAT(line, HasSubstr(R"("channels":["leaf1->spine2"])"));
  EXPECT_THAT(line, HasSubstr(R"("first_seen":"2026-01-31T12:00:00.25Z")"));
  const auto read = parse_event(line, "test");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(event_line(*read), line);
  const auto event = event_of(fabric, *read);
  ASSERT_TRUE(event) << event.error().message;
  EXPECT_EQ(event->incident.place, lossy_cable(fabric).incident.place);
  EXPECT_EQ(event_line(report_of(fabric, *event)), line);
}

TEST(EventLine, CarriesASwitchAndAlternatives) {
  const Fabric fabric = four_leaves();
  IncidentEvent event = lossy_cable(fabric);
  event.incident.place = {.channels = {},
                          .nodes = {fabric.find_node("spine2").value()},
                          .alternatives = {{ChannelId(0)}, {ChannelId(2), ChannelId(3)}}};
  event.incident.closed = kNoon + seconds(100);
  event.incident.state = IncidentState::closed;
  const std::string line = event_line(report_of(fabric, event));
  expect_matches_schema(line, "event");
  EXPECT_EQ(event_of(fabric, parse_event(line, "test").value())->incident.place, event.incident.place);
}

TEST(EventLine, ANameThatTheFabricNoLongerHasIsNotFoundButTheReportIsWhole) {
  const Fabric fabric = four_leaves();
  const Fabric smaller = make_clos({.leaves = 4, .spines = 1, .hosts_per_leaf = 2}).value();
  const auto read = parse_event(event_line(report_of(fabric, lossy_cable(fabric))), "test");
  ASSERT_TRUE(read);
  const auto event = event_of(smaller, *read);
  ASSERT_FALSE(event);
  EXPECT_EQ(event.error().kind, ErrorKind::not_found);
  EXPECT_THAT(event.error().message, HasSubstr("spine2"));
}

/// The line of a good event in which `from` has become `to`.
std::string broken(std::string_view from, std::string_view to) {
  const Fabric fabric = four_leaves();
  std::string line = event_line(report_of(fabric, lossy_cable(fabric)));
  const auto at = line.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return line.replace(at, from.size(), to);
}

TEST(EventLine, WhatIsWrongIsNamed) {
  const std::vector<std::array<std::string, 3>> cases{
      {R"("weft.event/1")", R"("weft.event/2")", "weft.event/1"},
      {R"("incident":12)", R"("incident":0)", "count from 1"},
      {R"("incident":12)", R"("incident":-1)", "incident"},
      {R"("state":"open")", R"("state":"ajar")", "recovering"},
      {R"("confidence":0.998)", R"("confidence":1.5)", "confidence"},
      {R"(["leaf1->spine2"])", "[]", "neither channels nor nodes"},
      {R"("2026-01-31T12:00:00.25Z")", R"("yesterday")", "first_seen"},
      {R"("bad_ns":8000000000)", R"("bad_ns":18446744073709551615)", "too long"},
      {R"("channels":)", R"("alternatives":[["x"]],"channels":)", "alternative"},
      {R"({"schema")", R"({{"schema")", "test"}};
  for (const auto& [from, to, says] : cases) {
    const auto read = parse_event(broken(from, to), "test");
    ASSERT_FALSE(read) << to;
    EXPECT_THAT(read.error().message, HasSubstr(says)) << to;
  }
  EXPECT_FALSE(parse_event(std::string(2'000'000, ' '), "test"));
  EXPECT_FALSE(parse_event(std::string(1'000, '['), "test"));
}

TEST(MuteList, ComesBackTheSameAndIsByTheSchema) {
  const Fabric fabric = four_leaves();
  const Mutes mutes{
      {fabric.find_link("leaf1--spine2").value(), kNoon, kNoon + seconds(3600), "new optics", "ann"},
      {fabric.find_node("host3").value(), kNoon, kNoon + seconds(60), "reboot", "bob"}};
  const std::string text = mutes_text(fabric, mutes);
  expect_matches_schema(text, "mutes");
  EXPECT_EQ(parse_mutes(fabric, text, "test")->mutes, mutes);
  EXPECT_TRUE(parse_mutes(fabric, "", "test")->mutes.empty()) << "nobody has muted anything yet";

  const Fabric smaller = make_clos({.leaves = 4, .spines = 1, .hosts_per_leaf = 2}).value();
  const auto rest = parse_mutes(smaller, text, "test");
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->mutes.size(), 1u);
  EXPECT_EQ(rest->unknown, std::vector<std::string>{"leaf1--spine2"});
}

TEST(MuteList, WhatIsWrongIsNamed) {
  const Fabric fabric = four_leaves();
  const auto list = [](std::string_view mute) {
    return fmt::format(R"({{"schema":"weft.mutes/1","fabric":"x","mutes":[{}]}})", mute);
  };
  const auto says = [&](std::string_view text) { return parse_mutes(fabric, text, "test").error().message; };
  EXPECT_THAT(says(list(R"({"link":"a--b"})")), HasSubstr("from"));
  EXPECT_THAT(says(list(R"({"from":"2026-01-31T12:00:00Z"})")), HasSubstr("node"));
  EXPECT_THAT(says(list(R"({"node":"host1","from":"2026-01-31T12:00:00Z","until":"2026-01-31T12:00:00Z",)"
                        R"("reason":"r","who":"w"})")),
              HasSubstr("ends before it begins"));
  EXPECT_THAT(says("{"), HasSubstr("test"));
}

TEST(MuteTargetName, IsALinkOrANode) {
  const Fabric fabric = four_leaves();
  EXPECT_EQ(find_mute_target(fabric, "spine2"), MuteTarget(fabric.find_node("spine2").value()));
  EXPECT_EQ(find_mute_target(fabric, "spine2--leaf1"), MuteTarget(fabric.find_link("leaf1--spine2").value()));
  EXPECT_THAT(find_mute_target(fabric, "leaf1--spine9").error().message, HasSubstr("spine9"));
  EXPECT_THAT(find_mute_target(fabric, "leef1").error().message, HasSubstr("leef1"));
}

}  // namespace
}  // namespace weft::files
