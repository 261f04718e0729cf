// `weft sweep --lab` and `weft watch --lab` beside a Prometheus that scrapes what counts the switches' ports,
// both Debian's: node_exporter shows files of metrics (its collector textfile) as any exporter would. On
// loopback.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/support/lab_user.hpp"
#include "tests/support/sweep_document.hpp"

namespace weft {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr int kSteps = 16;
constexpr auto kStep = milliseconds(500);
constexpr auto kStart = seconds(20);  // of a server on a busy machine

/// Metrics of the leaves' and spines' ports after so many steps, as gnmic writes those of
/// openconfig-interfaces and of openconfig-platform-transceiver. Into spine1/p1 come one bad frame in 1,000
/// and two bad codewords in 10,000 (of 9,766 a second at 50 Mbit/s); none into the others.
std::string frames(int step) {
  std::string text;
  for (const char* node : {"leaf1", "leaf2", "spine1", "spine2"})
    for (int port = 1; port <= 2; ++port) {
      const bool bad = node == std::string_view("spine1") && port == 1;
      const auto labels = fmt::format("{{source=\"{}\",interface_name=\"p{}\"}}", node, port);
      text += fmt::format("interfaces_interface_state_counters_in_pkts{} {}\n", labels, 15'000 * step + port);
      text += fmt::format("interfaces_interface_state_counters_in_fcs_errors{} {}\n", labels,
                          bad ? 15 * step : 0);
    }
  return text;
}
std::string codewords(int step) {
  return fmt::format(
      "components_component_transceiver_state_fec_uncorrectable_blocks{{source=\"spine1\","
      "component_name=\"optic-1\"}} {}\n",
      step);
}

class PrometheusLab : public ::testing::Test {
 protected:
  /// One exporter of frames and, where `coding`, another of codewords.
  void begin(bool coding) {
    server_ = bus::free_port();
    user_ = std::make_unique<LabUser>(
        fmt::format("fabric: small\nclos: {{leaves: 2, spines: 2, hosts_per_leaf: 2}}\n"
                    "counters: {{prometheus: \"http://127.0.0.1:{}\", preset: [gnmic, gnmic_transceiver], "
                    "rename: {{spine1/optic-1: spine1/p1}}}}\n",
                    server_));
    const auto answer = user_->up();
    ASSERT_EQ(answer.status, 0) << answer.errors;
    exporter("mac", frames);
    if (coding) exporter("phy", codewords);
    std::string jobs;
    for (const Exporter& each : exporters_)
      jobs += fmt::format("- {{job_name: {}, static_configs: [{{targets: [\"127.0.0.1:{}\"]}}]}}\n",
                          each.name, each.port);
    const auto at = user_->directory() / "prometheus.yml";
    std::ofstream(at) << "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n" << jobs;
    start({"prometheus", "--config.file=" + at.string(),
           "--storage.tsdb.path=" + (user_->directory() / "data").string(),
           fmt::format("--web.listen-address=127.0.0.1:{}", server_)});
    if (IsSkipped()) return;
    wait_until_scraped();
    for (int step = 1; step <= kSteps; ++step) {
      write(step);
      std::this_thread::sleep_for(kStep);
    }
    std::this_thread::sleep_for(seconds(2));  // the last scrape
  }

  nlohmann::json sweep() const {
    return document_of(
        user_->weft({"sweep", "--lab=" + user_->lab, "--load", "none", "--budget", "2s", "-o", "json"}));
  }

  std::unique_ptr<LabUser> user_;

 private:
  struct Exporter {
    std::string name;
    std::uint16_t port;
    std::filesystem::path directory;
    std::string (*text)(int step);
  };

  void exporter(const std::string& name, std::string (*text)(int step)) {
    if (IsSkipped()) return;
    exporters_.push_back({name, bus::free_port(), user_->directory() / name, text});
    std::filesystem::create_directory(exporters_.back().directory);
    start({"prometheus-node-exporter",
           fmt::format("--web.listen-address=127.0.0.1:{}", exporters_.back().port),
           "--collector.disable-defaults", "--collector.textfile",
           "--collector.textfile.directory=" + exporters_.back().directory.string()});
  }
  void start(std::vector<std::string> argv) {
    auto child = os::ChildProcess::start(
        {.argv = std::move(argv), .output = os::ToNothing{}, .errors = os::ToNothing{}});
    if (!child) GTEST_SKIP() << child.error().message;
    running_.push_back(std::move(*child));
  }
  void write(int step) const {
    for (const Exporter& each : exporters_) {
      std::ofstream(each.directory / "new") << each.text(step);
      std::filesystem::rename(each.directory / "new", each.directory / "ports.prom");
    }
  }
  /// As `weft counters check` sees it, of all exporters.
  void wait_until_scraped() const {
    write(0);
    const auto end = std::chrono::steady_clock::now() + kStart;
    std::string seen;
    do {
      std::this_thread::sleep_for(milliseconds(500));
      seen = user_->weft({"counters", "check", "--fabric", user_->fabric_file()}).output;
    } while ((seen.find("fcs_errors") == std::string::npos ||
              (exporters_.size() > 1 && seen.find("fec_uncorrectable") == std::string::npos)) &&
             std::chrono::steady_clock::now() < end);
    ASSERT_THAT(seen, HasSubstr("fcs_errors"));
  }

  std::uint16_t server_ = 0;
  std::vector<Exporter> exporters_;
  std::vector<os::ChildProcess> running_;
};

TEST_F(PrometheusLab, OfTwoExportersNamesTheCableItsEndAndItsDirection) {
  begin(true);
  if (IsSkipped() || HasFatalFailure()) return;
  const auto document = sweep();
  EXPECT_EQ(document["verdict"], "degraded") << document.dump(1);
  ASSERT_EQ(document["links"].size(), 1u) << document.dump(1);
  const auto& link = document["links"][0];
  EXPECT_EQ(link["link"], "leaf1--spine1");
  EXPECT_EQ(link["cause"], "counter");
  EXPECT_EQ(link["from"], "leaf1");
  EXPECT_EQ(link["b"]["node"], "spine1");
  EXPECT_EQ(link["b"]["port"], 1);
  EXPECT_THAT(link.dump(), HasSubstr("spine1/p1"));
}

TEST_F(PrometheusLab, OfOneExporterThatNothingElseSupportsNamesNothingAndIsRemarked) {
  begin(false);
  if (IsSkipped() || HasFatalFailure()) return;
  const auto document = sweep();
  EXPECT_EQ(document["verdict"], "healthy") << document.dump(1);
  EXPECT_TRUE(document["links"].empty());
  ASSERT_EQ(document["counters"].size(), 1u) << document.dump(1);
  EXPECT_THAT(document["counters"][0].dump(), HasSubstr("leaf1->spine1"));
}

TEST_F(PrometheusLab, IsAskedByAWatchWhereThatWasStarted) {
  begin(false);
  if (IsSkipped() || HasFatalFailure()) return;
  const auto metrics = user_->directory() / "weft.prom";
  const auto watched =
      user_->weft({"watch", "--lab=" + user_->lab, "--for", "12s", "--metrics-file", metrics.string()});
  EXPECT_EQ(watched.status, 0) << watched.errors;
  std::stringstream text;
  text << std::ifstream(metrics).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("weft_counters_failing{fabric=\"small\"} 0"));
  EXPECT_THAT(text.str(), Not(HasSubstr("weft_counters_read_timestamp_seconds{fabric=\"small\"} 0\n")));
}

}  // namespace
}  // namespace weft
