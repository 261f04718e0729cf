// Incidents as a watcher prints them, and as the diagnosis that other commands read.
#include "collectors/report/incident_report.hpp"

#include <gmock/gmock.h>

#include "topology/base/text.hpp"
#include "topology/model/clos.hpp"

namespace weft::report {
namespace {

using testing::HasSubstr;
using testing::Not;

const Fabric& fabric() {
  static const Fabric made = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  return made;
}

ChannelId channel(std::string_view from, std::string_view to) {
  for (const ChannelId c : fabric().channels_from(*fabric().find_node(from)))
    if (fabric().target_node(c) == *fabric().find_node(to)) return c;
  ADD_FAILURE() << from << " to " << to;
  return {};
}

Incident lossy(std::vector<ChannelId> channels) {
  Incident incident;
  incident.id = IncidentId(3);
  incident.place.channels = std::move(channels);
  incident.cause = Cause::loss;
  incident.verdict = Verdict::degraded;
  incident.state = IncidentState::open;
  incident.estimate = Estimate{0.012, 0.009, 0.016};
  incident.confidence = 0.998;
  incident.evidence = {"38 of 4,096 probes over it were lost"};
  incident.opened = std::chrono::seconds(1'800'000'000);
  return incident;
}

IncidentEvent event(IncidentChange change, Incident incident) {
  return {.number = 1, .at = std::chrono::seconds(1'800'000'090), .change = change, .incident = incident};
}

TEST(IncidentReport, OpenedTellsPlaceCauseEvidenceAndWhatToDo) {
  const auto text =
      event_lines(fabric(), event(IncidentChange::opened, lossy({channel("leaf1", "spine2")})), 80);
  EXPECT_THAT(text, HasSubstr("2027-01-15T08:01:30Z incident 3 opened: leaf1--spine2 (from leaf1): loss"));
  EXPECT_THAT(text, HasSubstr("1.2%"));
  EXPECT_THAT(text, HasSubstr("from leaf1 port 4 to spine2 port 1"));
  EXPECT_THAT(text, HasSubstr("38 of 4,096"));
  EXPECT_THAT(text, HasSubstr("do: "));
}

TEST(IncidentReport, FitsItsColumns) {
  for (const std::size_t columns : {40u, 80u}) {
    const auto text =
        event_lines(fabric(), event(IncidentChange::opened, lossy({channel("leaf1", "spine2")})), columns);
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find('\n', at);
      EXPECT_LE(columns_of(text.substr(at, end - at)), columns);
      at = end + 1;
    }
  }
}

TEST(IncidentReport, ClosedIsOneLineWithItsDurationAndAMutedOneSaysSo) {
  Incident incident = lossy({channel("leaf1", "spine2"), channel("spine2", "leaf1")});
  incident.muted_by = "planned work";
  const auto text = event_lines(fabric(), event(IncidentChange::closed, incident), 200);
  EXPECT_THAT(text, HasSubstr("closed: leaf1--spine2: loss"));
  EXPECT_THAT(text, HasSubstr("90"));
  EXPECT_THAT(text, HasSubstr("[muted: planned work]"));
  EXPECT_THAT(text, Not(HasSubstr("do: ")));
}

TEST(IncidentReport, EachKindOfPlaceIsNamed) {
  Incident host = lossy({});
  host.place.nodes = {*fabric().find_node("host1")};
  host.cause = Cause::down;
  EXPECT_THAT(place_text(fabric(), host), HasSubstr("host1"));
  Incident spine = lossy({channel("leaf1", "spine1"), channel("leaf2", "spine1")});
  spine.place.nodes = {*fabric().find_node("spine1")};
  EXPECT_THAT(place_text(fabric(), spine), HasSubstr("spine1"));
  Incident set = lossy({});
  set.place.alternatives = {{channel("leaf1", "spine1")}, {channel("leaf1", "spine2")}};
  EXPECT_FALSE(place_text(fabric(), set).empty());
}

TEST(DiagnosisOfIncidents, HasWhatIsOpenAndNeverSaysHealthy) {
  EXPECT_EQ(diagnosis_of({}).verdict, Verdict::unknown);
  Incident closed = lossy({channel("leaf1", "spine2")});
  closed.state = IncidentState::closed;
  Incident suspected = closed;
  suspected.state = IncidentState::suspected;
  const std::vector none{closed, suspected};
  EXPECT_EQ(diagnosis_of(none).verdict, Verdict::unknown);
  const std::vector open{lossy({channel("leaf1", "spine2")}), closed};
  const Diagnosis diagnosis = diagnosis_of(open);
  EXPECT_EQ(diagnosis.verdict, Verdict::degraded);
  ASSERT_EQ(diagnosis.links.size(), 1u);
  EXPECT_EQ(diagnosis.links[0].channel, channel("leaf1", "spine2"));
}

}  // namespace
}  // namespace weft::report
