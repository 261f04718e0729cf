#include "collectors/metrics/metrics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collectors/metrics/promtool.hpp"
#include "tests/places.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/clos.hpp"

namespace weft::metrics {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

const Fabric& fabric() {
  static const Fabric made = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}).value();
  return made;
}
ChannelId channel(std::string_view name) { return fabric().find_channel(name).value(); }

/// Each channel was crossed by 1,000 probes, all agents are there, nothing is wrong.
watch::WatchState healthy() {
  watch::WatchState state{
      .fabric = "clos", .version = 7, .at = seconds(1'769'860'800), .plan = watch::PlanVersion(3)};
  state.verdict = Verdict::healthy;
  state.channels.assign(fabric().channel_count(),
                        {.covered = true, .fresh = true, .verdict = Verdict::healthy, .sent_in_all = 1'000});
  for (const NodeId host : fabric().hosts())
    state.agents.push_back(
        {.host = host, .presence = watch::AgentPresence::present, .lag = Nanoseconds(300'000'000)});
  return state;
}

watch::WatchState lossy() {
  auto state = healthy();
  state.verdict = Verdict::degraded;
  auto& bad = state.channels[channel("leaf1->spine2").value()];
  bad.verdict = Verdict::degraded;
  bad.lost_in_all = 17;
  Incident incident;
  incident.id = IncidentId(12);
  incident.place.channels = {channel("leaf1->spine2")};
  incident.verdict = Verdict::degraded;
  incident.state = IncidentState::open;
  incident.opened = seconds(1'769'860'000);
  state.incidents.push_back(incident);
  state.agents[1].presence = watch::AgentPresence::silent;
  state.agents[0].gaps = 4;
  state.agents[0].spooled = 60, state.agents[2].spooled = 5, state.agents[2].dropped = 3;
  state.agents[1].spooled = 900;  // it is silent
  return state;
}

TEST(CounterMetrics, TellPortsThatDegradeAndThatCounted) {
  const PortWarnings warnings{
      .ports = {{.port = fabric().find_port("leaf1/p3").value(),
                 .degrading = true,
                 .source = "prometheus",
                 .loss = PortWarning::Days{3.5, 2.1, std::nullopt}},
                {.port = fabric().find_port("leaf2/p4").value(), .source = "phy", .errors = 12}},
      .told = 7,
      .at = seconds(1'769'860'800)};
  const auto text = metrics_text(fabric(), warnings);
  EXPECT_THAT(text, HasSubstr(R"(weft_port_degrading{fabric="clos",port="leaf1/p3",source="prometheus"} 1)"));
  EXPECT_THAT(text,
              HasSubstr(R"(weft_port_days_to_loss{fabric="clos",port="leaf1/p3",source="prometheus"} 3.5)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_port_counted_errors{fabric="clos",port="leaf2/p4",source="phy"} 12)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_counters_ports{fabric="clos"} 7)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_counters_failing{fabric="clos"} 0)"));
  EXPECT_THAT(metrics_text(fabric(), PortWarnings{.trouble = "away"}),
              HasSubstr(R"(weft_counters_failing{fabric="clos"} 1)"));
}

TEST(WatchMetrics, SayWhatIsWrongByTierRailLeafAndChannel) {
  const auto text = metrics_text(fabric(), lossy());
  EXPECT_THAT(text, HasSubstr(R"(weft_fabric_verdict{fabric="clos",verdict="degraded"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_fabric_verdict{fabric="clos",verdict="healthy"} 0)"));
  EXPECT_THAT(text,
              HasSubstr(R"(weft_tier_probes_lost_total{fabric="clos",tier="leaf-spine",direction="up"} 17)"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"(weft_tier_channels{fabric="clos",tier="leaf-spine",direction="up",verdict="degraded"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_rail_probes_total{fabric="clos",rail="1",direction="up"} 4000)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_leaf_unhealthy_channels{fabric="clos",leaf="leaf1"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_channel_verdict{fabric="clos",channel="leaf1->spine2"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_channel_probes_lost_total{fabric="clos",channel="leaf1->spine2"} 17)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_incidents{fabric="clos",state="open",muted="no"} 1)"));
  EXPECT_THAT(text,
              HasSubstr(R"(weft_incident_opened_timestamp_seconds{fabric="clos",incident="12",)"
                        R"(place="leaf1->spine2",cause="loss",verdict="degraded",muted="no"} 1769860000)"));
}

TEST(WatchMetrics, TellOfTheWatcherAndItsAgents) {
  const auto text = metrics_text(fabric(), lossy());
  EXPECT_THAT(text, HasSubstr(R"(weft_agents{fabric="clos",presence="silent"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_agent_silent{fabric="clos",host="host2"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_agents_gap_windows_total{fabric="clos"} 4)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_agents_lag_max_seconds{fabric="clos"} 0.3)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_agents_spooled_windows{fabric="clos"} 65)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_agents_dropped_windows{fabric="clos"} 3)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_watch_routes_moved{fabric="clos"} 0)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_watch_plan_version{fabric="clos"} 3)"));
}

TEST(WatchMetrics, AHealthyChannelHasALineOnlyWhereAllAreAskedFor) {
  EXPECT_THAT(metrics_text(fabric(), healthy()), Not(HasSubstr("channel=")));
  const auto all = metrics_text(fabric(), healthy(), {.all_channels = true});
  EXPECT_THAT(all, HasSubstr(R"(weft_channel_verdict{fabric="clos",channel="host1->leaf1"} 0)"));
  auto stale = healthy();
  for (auto& each : stale.channels) each.fresh = false;
  EXPECT_THAT(metrics_text(fabric(), stale), Not(HasSubstr("channel=")))
      << "of what nothing is known the tiers tell";
}

TEST(WatchMetrics, ManyChannelsAtFaultAreCutOffAndTheWorstStay) {
  const Fabric large = make_clos({.leaves = 40, .spines = 20, .hosts_per_leaf = 30}).value();
  watch::WatchState state{.fabric = "clos"};
  state.channels.assign(large.channel_count(), {.fresh = true, .verdict = Verdict::degraded});
  state.channels.back().verdict = Verdict::failed;
  ASSERT_GT(large.channel_count(), kMaxChannels);
  const auto text = metrics_text(large, state);
  EXPECT_THAT(text, HasSubstr(fmt::format("weft_channels_left_out{{fabric=\"clos\"}} {}",
                                          large.channel_count() - kMaxChannels)));
  const auto worst = large.name_of(ChannelId(static_cast<std::uint32_t>(large.channel_count() - 1)));
  EXPECT_THAT(text, HasSubstr(fmt::format("channel=\"{}\"}} 4", worst)));
}

TEST(WatchMetrics, AMutedIncidentSaysSo) {
  auto state = lossy();
  state.incidents[0].muted_by = "optics";
  const auto text = metrics_text(fabric(), state);
  EXPECT_THAT(text, HasSubstr(R"(weft_incidents{fabric="clos",state="open",muted="yes"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(weft_incidents{fabric="clos",state="open",muted="no"} 0)"));
}

TEST(WatchMetrics, PrometheusFindsNothingToMend) {
  EXPECT_TRUE(promtool_takes(metrics_text(fabric(), lossy())));
}

TEST(BlacklistMetrics, CountEntriesAndMarksOfTheTarget) {
  using blacklist::EntryId;
  blacklist::Ledger ledger{.fabric = "a", .told_until = UtcTime(seconds(1'769'860'800)), .drained = {}};
  ledger.entries = {
      {.id = EntryId(1),
       .state = blacklist::EntryState::active,
       .marks = {{"slurm", "host1", "", "", {}, UtcTime(seconds(1))}, {"exec:x", "host1", "", "", {}}}},
      {.id = EntryId(2), .state = blacklist::EntryState::proposed, .held_back = "a cap"},
      {.id = EntryId(3), .state = blacklist::EntryState::proposed, .held = true},
      {.id = EntryId(4),
       .state = blacklist::EntryState::released,
       .marks = {{"slurm", "host2", "", "", {}}}}};
  ledger.breaker = "many";
  const auto text = metrics_text(ledger, TargetFigures{.target = "slurm",
                                                       .pending = 3,
                                                       .left_alone = 4,
                                                       .orphans = 5,
                                                       .at = UtcTime(seconds(1'769'860'900))});
  for (const char* line :
       {"weft_blacklist_entries{fabric=\"a\",state=\"active\"} 1\n",
        "weft_blacklist_entries{fabric=\"a\",state=\"proposed\"} 2\n",
        "weft_blacklist_held_back_entries{fabric=\"a\"} 1\n", "weft_blacklist_held_entries{fabric=\"a\"} 1\n",
        "weft_blacklist_breaker{fabric=\"a\"} 1\n", "weft_blacklist_marks{fabric=\"a\",target=\"slurm\"} 2\n",
        "weft_blacklist_unknown_marks{fabric=\"a\",target=\"slurm\"} 1\n",
        "weft_blacklist_pending_changes{fabric=\"a\",target=\"slurm\"} 3\n",
        "weft_blacklist_left_alone{fabric=\"a\",target=\"slurm\"} 4\n",
        "weft_blacklist_orphans{fabric=\"a\",target=\"slurm\"} 5\n",
        "weft_blacklist_sync_timestamp_seconds{fabric=\"a\",target=\"slurm\"} 1769860900\n"})
    EXPECT_THAT(text, HasSubstr(line));
  if (promtool_is_here()) {
    EXPECT_TRUE(promtool({"check", "metrics"}, text));
  }
  EXPECT_THAT(metrics_text({.fabric = "a", .drained = {}}, std::nullopt), Not(HasSubstr("timestamp")))
      << "of what it never heard there is no time";
}

TEST(RunMetrics, AreOfADiagnosisDocument) {
  const auto path = std::string(WEFT_SOURCE_DIR) + "/tests/fuzz/corpus/diagnosis_document/good.json";
  const auto text = files::read_text_file(path, Bytes(1'000'000)).value();
  const auto made = metrics_text(files::parse_diagnosis(text, path).value());
  EXPECT_THAT(made, HasSubstr("weft_run_link_confidence_ratio{fabric=\"a\",link=\"leaf1--spine2\""));
  EXPECT_THAT(made, HasSubstr("weft_run_timestamp_seconds{fabric=\"a\"} 1769860800"));
  EXPECT_TRUE(promtool_takes(made));
}

}  // namespace
}  // namespace weft::metrics
