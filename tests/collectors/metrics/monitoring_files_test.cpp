// The files of docs/monitoring: rules by promtool, and that rules and dashboard ask for metrics that there
// are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "collectors/metrics/metrics.hpp"
#include "tests/collectors/metrics/promtool.hpp"
#include "tests/places.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/clos.hpp"

namespace weft::metrics {
namespace {

const std::string kFolder = std::string(WEFT_SOURCE_DIR) + "/docs/monitoring/";

std::string text_of(const std::string& file) {
  return files::read_text_file(kFolder + file, Bytes(1'000'000)).value();
}

/// Names of metrics and recording rules in a text.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  const std::regex name(R"(\b(?:fabric\w*:)?weft_\w+(?::\w+)?)");
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at) names.insert(at->str());
  return names;
}

/// All that weft writes: of a fabric in which everything is there to be told.
std::set<std::string> written() {
  const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  watch::WatchState state{.fabric = "a"};
  state.channels.assign(fabric.channel_count(), {.fresh = true, .verdict = Verdict::failed});
  state.agents.push_back({.host = fabric.hosts()[0], .presence = watch::AgentPresence::silent});
  Incident incident;
  incident.place.channels = {ChannelId(0)};
  incident.state = IncidentState::open;
  state.incidents.push_back(incident);
  files::DiagnosisDocument document;
  document.links.emplace_back(), document.hosts.emplace_back();
  const blacklist::Ledger ledger{
      .fabric = "a", .told_until = UtcTime(std::chrono::seconds(1)), .drained = {}};
  const PortWarnings warnings{
      .ports = {{.port = PortId(0), .degrading = true, .loss = PortWarning::Days{}}, {.port = PortId(1)}}};
  return names_in(metrics_text(fabric, state) + metrics_text(document) + metrics_text(fabric, warnings) +
                  metrics_text(fabric, WebhookFigures{}) +
                  metrics_text(ledger, TargetFigures{.target = "slurm"}));
}

TEST(MonitoringFiles, RulesAndTheirTestsPassByPromtool) {
  if (!promtool_is_here()) GTEST_SKIP() << "no promtool (Debian: prometheus)";
  EXPECT_TRUE(promtool({"check", "rules", kFolder + "weft.rules.yml"}));
  EXPECT_TRUE(promtool({"test", "rules", kFolder + "weft.rules.test.yml"}));
}

TEST(MonitoringFiles, AskForMetricsThatThereAre) {
  auto there = written();
  const auto rules = text_of("weft.rules.yml");
  const std::regex record(R"(record: (\S+))");
  for (std::sregex_iterator at(rules.begin(), rules.end(), record), end; at != end; ++at)
    for (const std::string name = (*at)[1]; const auto& part : {name, name.substr(name.find(':') + 1)})
      there.insert(part);  // instance:weft_watch_leads
  for (const char* file : {"weft.rules.yml", "weft.dashboard.json", "README.md"})
    for (const auto& name : names_in(text_of(file)))
      EXPECT_TRUE(there.contains(name)) << file << ": " << name;
}

TEST(MonitoringFiles, TheReadmeTellsOfEveryMetricAndAlert) {
  const auto readme = text_of("README.md");
  for (const auto& name : written()) EXPECT_THAT(readme, testing::HasSubstr(name));
  const auto rules = text_of("weft.rules.yml");
  const std::regex alert(R"(alert: (\S+))");
  for (std::sregex_iterator at(rules.begin(), rules.end(), alert), end; at != end; ++at)
    EXPECT_THAT(readme, testing::HasSubstr((*at)[1].str()));
}

TEST(MonitoringFiles, TheDashboardIsOneWhoseEveryPanelAsksOfTheChosenFabric) {
  const auto dashboard = nlohmann::json::parse(text_of("weft.dashboard.json"));
  std::set<int> ids;
  for (const auto& panel : dashboard.at("panels")) {
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second);
    for (const auto& target : panel.at("targets"))
      EXPECT_THAT(target.at("expr").get<std::string>(), testing::HasSubstr("fabric=\"$fabric\""));
  }
  EXPECT_GE(ids.size(), 10u);
}

}  // namespace
}  // namespace weft::metrics
