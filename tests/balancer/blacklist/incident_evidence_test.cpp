// What a watcher tells of incidents as evidence for the blacklist.
#include "balancer/blacklist/incident_evidence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/kept_ledger.hpp"

namespace weft::blacklist {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr UtcTime kLongAgo = kStart - 24h;

IncidentEvent event(const Kept& kept, std::string_view place, IncidentChange change, Seconds at,
                    Cause cause = Cause::loss) {
  Incident incident{.id = IncidentId(5), .place = {}, .cause = cause, .verdict = Verdict::degraded};
  incident.place.channels = channels_of(kept.fabric, *parse_subject(kept.fabric, place));
  incident.state = change == IncidentChange::suspected    ? IncidentState::suspected
                   : change == IncidentChange::recovering ? IncidentState::recovering
                   : change == IncidentChange::closed     ? IncidentState::closed
                                                          : IncidentState::open;
  incident.confidence = 0.995;
  incident.estimate = Estimate{.value = 0.02, .low = 0.01, .high = 0.03};
  incident.evidence = {"31 of 1,790 lost"};
  const auto when = (kStart + at).time_since_epoch();
  incident.first_seen = when - 20s, incident.last_seen = when - 5s;
  return {.number = 0, .at = when, .change = change, .incident = incident};
}

TEST(BlacklistIncidents, OneThatIsOpenIsAFaultAndASuspicionOrAMutedOneIsNone) {
  const Kept kept;
  auto muted = event(kept, "leaf1->spine2", IncidentChange::opened, 90s);
  muted.incident.muted_by = "work";
  const std::vector events{event(kept, "leaf1->spine1", IncidentChange::suspected, 50s),
                           event(kept, "leaf1->spine1", IncidentChange::opened, 60s), muted};
  const auto read = evidence_of(kept.fabric, events, kLongAgo);
  ASSERT_THAT(read.evidence, SizeIs(1));
  const Evidence& evidence = read.evidence[0];
  EXPECT_EQ(evidence.until, kStart + 60s);
  EXPECT_EQ(evidence.from, kStart + 40s);
  ASSERT_THAT(evidence.faults, SizeIs(1));
  EXPECT_EQ(name_of(kept.fabric, evidence.faults[0].subject).name, "leaf1->spine1");
  EXPECT_EQ(evidence.faults[0].size, 0.01);
  EXPECT_THAT(evidence_of(kept.fabric, events, kStart + 60s).evidence, IsEmpty()) << "long ago";
}

TEST(BlacklistIncidents, WhatIsClosedIsCleanForItsCauseOverItsPlaceAlone) {
  const Kept kept;
  const std::vector events{event(kept, "leaf1->spine1", IncidentChange::recovering, 50s),
                           event(kept, "leaf1->spine1", IncidentChange::closed, 60s)};
  const auto read = evidence_of(kept.fabric, events, kLongAgo);
  ASSERT_THAT(read.evidence, SizeIs(1));
  const auto is_clean = [&](std::string_view name, Cause cause) {
    return is_clean_over(read.evidence[0], channels_of(kept.fabric, *parse_subject(kept.fabric, name)), cause,
                         0.01);
  };
  EXPECT_TRUE(is_clean("leaf1->spine1", Cause::loss));
  EXPECT_FALSE(is_clean("leaf1->spine1", Cause::delay));
  EXPECT_FALSE(is_clean("leaf1--spine1", Cause::loss)) << "the other direction";
}

TEST(BlacklistIncidents, OneThatBecamePartOfAnotherIsNotClean) {
  const Kept kept;
  for (const IncidentChange before : {IncidentChange::opened, IncidentChange::changed}) {
    const std::vector events{event(kept, "leaf1->spine1", IncidentChange::recovering, 40s),
                             event(kept, "leaf1->spine1", before, 50s),
                             event(kept, "leaf1->spine1", IncidentChange::closed, 60s)};
    for (const Evidence& evidence : evidence_of(kept.fabric, events, kLongAgo).evidence)
      EXPECT_THAT(evidence.faults, SizeIs(1));
  }
}

TEST(BlacklistIncidents, ASetOverSeveralCablesIsAdvisedOnce) {
  const Kept kept;
  auto opened = event(kept, "leaf1->spine1", IncidentChange::opened, 60s);
  opened.incident.place.channels.clear();
  for (const char* name : {"leaf1->spine1", "leaf2->spine1"})
    opened.incident.place.alternatives.push_back(channels_of(kept.fabric, *parse_subject(kept.fabric, name)));
  auto changed = opened;
  changed.change = IncidentChange::changed;
  const auto read = evidence_of(kept.fabric, std::vector{opened, changed}, kLongAgo);
  EXPECT_THAT(read.evidence, IsEmpty());
  EXPECT_THAT(read.advice, ElementsAre(HasSubstr("incident 5: loss")));
}

TEST(BlacklistIncidents, MakeEntriesThatSweepsReleaseAndAreNoNewsTwice) {
  Kept kept;
  const auto tell = [&](std::vector<IncidentEvent> events) {
    return kinds(kept.pass(60s, evidence_of(kept.fabric, events, kLongAgo).evidence));
  };
  kept.policy.caps.fabric_links = 1;
  const Seconds began = kept.at;
  const auto opened = event(kept, "leaf1->spine1", IncidentChange::opened, began + 30s);
  EXPECT_THAT(tell({opened}), ElementsAre(EventKind::proposed, EventKind::activated));
  EXPECT_THAT(tell({opened}), IsEmpty());
  auto sweep = kept.run({kept.fault("leaf2->spine1", 0.995)});
  sweep.from = kStart + began, sweep.until = sweep.from + 10s;
  EXPECT_THAT(kinds(kept.pass(60s, {sweep})), ElementsAre(EventKind::proposed, EventKind::activated))
      << "a sweep that ended before the incident is no old one: nobody else looked at the fabric";
}

TEST(BlacklistIncidents, OneThatComesBackIsARelapseByOtherPackets) {
  Kept kept;
  const auto at = kept.at;
  const auto opened = event(kept, "leaf1->spine1", IncidentChange::opened, at + 30s);
  const auto recovering = event(kept, "leaf1->spine1", IncidentChange::recovering, at + 300s);
  auto back = event(kept, "leaf1->spine1", IncidentChange::came_back, at + 330s);
  back.incident.first_seen = opened.incident.first_seen;
  const auto read = evidence_of(kept.fabric, std::vector{opened, recovering, back}, kLongAgo);
  ASSERT_THAT(read.evidence, SizeIs(2));
  EXPECT_EQ(read.evidence[1].from, kStart + at + 300s);
}

}  // namespace
}  // namespace weft::blacklist
