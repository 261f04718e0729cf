// `weft counters check` as a user calls it, against Debian's Prometheus and node_exporter on loopback and
// against servers that mean harm; and `weft diagnose` with counters.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/counters.hpp"
#include "collectors/counters/label_mapping.hpp"
#include "collectors/counters/port_counter.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/places.hpp"
#include "tests/support/answering_server.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
#include "topology/files/file_text.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

const std::string kFabric = "fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";

Outcome check(const std::string& fabric_text, const Arguments& more) {
  const ScratchFile fabric(fabric_text);
  Arguments words{"--fabric", fabric.path()};
  words.insert(words.end(), more.begin(), more.end());
  return call(counters_check_command, words);
}

TEST(CountersCheck, OfAFileSaysWhichPortsHaveWhichCounters) {
  const ScratchFile counters(
      "{\"schema\":\"weft.counters/1\",\"source\":\"script\"}\n"
      "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"leaf1/p3\",\"counters\":{\"frames_in\":100}}\n"
      "{\"at\":\"2026-11-28T05:01:00Z\",\"port\":\"leaf1/p3\",\"counters\":{\"frames_in\":200}}\n"
      "{\"at\":\"2026-11-28T05:01:00Z\",\"port\":\"leaf9/p3\",\"counters\":{\"frames_in\":200}}\n");
  const auto outcome = check(kFabric, {"--counters", counters.path()});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.out, HasSubstr("script: counters of 1 of 16 ports, of 1 with readings to compare"));
  EXPECT_THAT(outcome.out, HasSubstr("leaf9"));
  const auto document = check(kFabric, {"--counters", counters.path(), "-o", "json"});
  EXPECT_EQ(document.status, 1);
  expect_matches_schema(document.out, "counter_check");
  EXPECT_EQ(nlohmann::json::parse(document.out)["sources"][0]["counters"]["frames_in"], 1);
  EXPECT_EQ(check(kFabric, {"--counters", counters.path(), "-o", "csv"}).status, 64);
}

TEST(CountersCheck, RefusesWhatMakesNoSenseInOneSentence) {
  EXPECT_EQ(check(kFabric, {}).status, 64);
  EXPECT_EQ(check(kFabric, {"--prometheus", "ftp://x"}).status, 64);
  EXPECT_THAT(check(kFabric, {"--prometheus", "http://u:p@x"}).err, testing::Not(HasSubstr("u:p")));
  EXPECT_THAT(check(kFabric, {"--prometheus", "http://x", "--exporter", "mrtg"}).err,
              HasSubstr("node_exporter"));
  EXPECT_EQ(check(kFabric, {"--exporter", "gnmic"}).status, 64);
  EXPECT_EQ(check(kFabric, {"--counters", "/nowhere"}).status, 64);
  EXPECT_EQ(call(counters_check_command, {}).status, 64);
}

TEST(CountersCheck, AServerThatMeansHarmIsAnError) {
  const AnsweringServer html(
      [](const auto&, auto& response) { response.set_content("<html>login</html>", "text/html"); });
  EXPECT_THAT(check(kFabric, {"--prometheus", html.url()}).err, HasSubstr("no JSON"));
  const AnsweringServer elsewhere(
      [](const auto&, auto& response) { response.set_redirect("http://127.0.0.1:1/"); });
  EXPECT_THAT(check(kFabric, {"--prometheus", elsewhere.url()}).err, HasSubstr("sends elsewhere"));
  const AnsweringServer refuses([](const auto&, auto& response) {
    response.status = 400;
    response.set_content("{\"status\":\"error\",\"error\":\"no such \\u001b[2J thing\"}", "application/json");
  });
  const auto refused = check(kFabric, {"--prometheus", refuses.url()});
  EXPECT_THAT(refused.err, HasSubstr("no such \\x1b[2J thing"));
  EXPECT_EQ(refused.status, 64);
  std::atomic<std::uint64_t> sent = 0;
  const AnsweringServer endless([&](const auto&, auto& response) {
    response.set_chunked_content_provider("application/json", [&](std::size_t, httplib::DataSink& sink) {
      static const std::string kPiece(1'000'000, ' ');
      sent += kPiece.size();
      return sink.write(kPiece.data(), kPiece.size());
    });
  });
  EXPECT_THAT(check(kFabric, {"--prometheus", endless.url()}).err, HasSubstr("more than 256 MB"));
  EXPECT_LT(sent, 1'000'000'000U);
}

TEST(CountersCheck, TheFabricFileSaysWhereToRead) {
  const AnsweringServer empty([](const auto&, auto& response) {
    response.set_content(R"({"status":"success","data":{"resultType":"matrix","result":[]}})",
                         "application/json");
  });
  const auto none = check(kFabric + "counters: {prometheus: \"" + empty.url() + "\", preset: gnmic}\n", {});
  EXPECT_THAT(none.out, HasSubstr("ports of switches without a counter: 12"));
  EXPECT_EQ(none.status, 1);
  const std::string with = kFabric + "counters: {exec: \"cat {switch}.json\", ";
  for (const auto* wrong : {"match: \"job=\\\"a\"}", "match: \"a='}'\"}", "window: 1s}", "switch: \"a b\"}",
                            "preset: {}}", "metrics: {nothing: x}}", "secret: 1}"}) {
    const auto outcome = check(with + wrong + "\n", {});
    EXPECT_EQ(outcome.status, 64) << wrong;
  }
}

TEST(CountersCheck, ACommandIsRunForEachSwitch) {
  auto directory = os::ScratchDirectory::make();
  ASSERT_TRUE(directory) << directory.error().message;
  const auto at = directory->path();
  ASSERT_TRUE(files::write_text_file(at / "leaf1.json", R"({"p1": {"RX_OK": "1,234"}})"));
  ASSERT_TRUE(files::write_text_file(at / "spine2.json", R"({"p2": {"RX_OK": "7", "TX_OK": "8"}})"));
  const auto outcome =
      check(kFabric + fmt::format("counters: {{exec: \"cat {}/{{switch}}.json\"}}\n", at.string()), {});
  EXPECT_THAT(outcome.out, HasSubstr("exec: counters of 2 of 16 ports")) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("exec: leaf2"));
  EXPECT_THAT(check(kFabric + "counters: {exec: /nowhere/program}\n", {}).err, HasSubstr("no switch"));
}

TEST(CountersCheck, ReadsDebiansPrometheusAndNodeExporter) {
  auto directory = os::ScratchDirectory::make();
  ASSERT_TRUE(directory) << directory.error().message;
  const auto at = directory->path();
  const auto server = bus::free_port(), exporter = bus::free_port();
  ASSERT_TRUE(files::write_text_file(
      at / "prometheus.yml",
      fmt::format("global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n- job_name: node\n"
                  "  static_configs: [{{targets: [\"127.0.0.1:{}\"], labels: {{instance: "
                  "\"leaf1.example.net:9100\"}}}}]\n",
                  exporter)));
  const auto start = [&](std::vector<std::string> argv) {
    return os::ChildProcess::start(
        {.argv = std::move(argv), .output = os::ToNothing{}, .errors = os::ToNothing{}});
  };
  auto node = start({"prometheus-node-exporter", fmt::format("--web.listen-address=127.0.0.1:{}", exporter),
                     "--collector.disable-defaults", "--collector.netdev", "--collector.netclass",
                     "--collector.stat"});
  if (!node) GTEST_SKIP() << node.error().message;
  auto prometheus = start({"prometheus", "--config.file=" + (at / "prometheus.yml").string(),
                           "--storage.tsdb.path=" + (at / "data").string(),
                           fmt::format("--web.listen-address=127.0.0.1:{}", server)});
  if (!prometheus) GTEST_SKIP() << prometheus.error().message;
  // lo is there on every machine, with its changes of carrier at least.
  const std::string fabric =
      "fabric: a\nnodes: [{name: leaf1, kind: switch, tier: leaf}, {name: spine1, kind: switch, tier: "
      "spine}]\nlinks: [{a: leaf1/lo, "
      "b: spine1/p1, rate: 100G}]\n"
      "counters: {prometheus: \"http://127.0.0.1:" +
      std::to_string(server) + "\", preset: node_exporter}\n";
  Outcome outcome;
  for (int i = 0; i < 60 && outcome.out.find("of 1 of 2 ports") == std::string::npos; ++i) {
    std::this_thread::sleep_for(milliseconds(500));
    outcome = check(fabric, {});
  }
  EXPECT_THAT(outcome.out, HasSubstr("node_exporter: counters of 1 of 2 ports")) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("link_events"));
  EXPECT_EQ(outcome.status, 1) << "spine1 has none";
  node->stop(std::chrono::seconds(5));
  // Behind the last sample of a target that went away stands a marker of staleness: an instant query finds
  // nothing from there on. It is no value and no error.
  httplib::Client client("127.0.0.1", server);
  const auto is_stale = [&] {
    const auto answer = client.Get("/api/v1/query?query=node_network_carrier_changes_total");
    return answer && answer->body.find("\"result\":[]") != std::string::npos;
  };
  for (int i = 0; i < 60 && !is_stale(); ++i) std::this_thread::sleep_for(milliseconds(500));
  EXPECT_TRUE(is_stale());
  const auto after = check(fabric, {});
  EXPECT_THAT(after.out, HasSubstr("node_exporter: counters of 1 of 2 ports")) << after.err;
  EXPECT_EQ(after.out.find("values that cannot be"), std::string::npos) << after.out;
  prometheus->stop(std::chrono::seconds(5));
  EXPECT_EQ(check(fabric, {}).status, 69) << "it is gone";
}

/// Corrected codewords of two ports of 400 Gb/s, an hour apart; leaf1/p4 rises in the last days.
std::string corrected_hours() {
  std::string text = "{\"schema\":\"weft.counters/1\",\"source\":\"phy\"}\n";
  const double codewords = 78.125e6 * 3600;
  std::map<std::string, double> corrected;
  for (int hour = 0; hour < 300; ++hour)
    for (const std::string port : {"leaf1/p3", "leaf1/p4"}) {
      const double rises = port == "leaf1/p4" ? 0.6 * std::max(hour - 200, 0) / 24 : 0;
      corrected[port] += codewords * -std::expm1(-5440 * std::pow(10, -8 + rises));
      text += fmt::format(
          R"({{"at":"2026-11-{:02}T{:02}:00:00Z","port":"{}","counters":{{"fec_codewords":{:.0f},"fec_corrected":{:.0f}}}}})"
          "\n",
          1 + hour / 24, hour % 24, port, codewords * (hour + 1), corrected[port]);
    }
  return text;
}

TEST(CountersDegrading, NamesThePortWhoseCorrectedErrorsRiseAndTheDaysThatAreLeft) {
  const ScratchFile fabric(kFabric), counters(corrected_hours());
  const Arguments words{"--fabric", fabric.path(), "--counters", counters.path()};
  const auto outcome = call(counters_degrading_command, words);
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("1 of 2 ports are degrading"));
  EXPECT_THAT(outcome.out, HasSubstr("leaf1/p4"));
  EXPECT_EQ(outcome.out.find("leaf1/p3"), std::string::npos);
  auto more = words;
  more.insert(more.end(), {"-o", "json"});
  const auto document = call(counters_degrading_command, more);
  EXPECT_EQ(document.status, 1);
  expect_matches_schema(document.out, "port_trends");
  EXPECT_EQ(nlohmann::json::parse(document.out)["degrading"][0]["port"], "leaf1/p4");
}

TEST(CountersDegrading, ListsPortsAboveTheLimitOfAVendorWhichWarnsOfNothing) {
  const ScratchFile fabric(kFabric), counters(corrected_hours());
  const auto with = [&](const Arguments& more) {
    Arguments words{"--fabric", fabric.path(), "--counters", counters.path()};
    words.insert(words.end(), more.begin(), more.end());
    return call(counters_degrading_command, words);
  };
  EXPECT_EQ(with({}).out.find("above the limit"), std::string::npos) << "both are far below 2.4e-4";
  const auto low = with({"--limit", "3e-9"});
  EXPECT_THAT(low.out, HasSubstr("above the limit of 3.0e-09"));
  EXPECT_THAT(low.out, testing::ContainsRegex("2 of the ports:[ \n]+leaf1/p4 [^l]*leaf1/p3"));
  EXPECT_THAT(low.out, HasSubstr("1 of 2 ports are degrading"));
  const auto document = with({"--limit", "5e-5", "-o", "json"});
  expect_matches_schema(document.out, "port_trends");
  EXPECT_NEAR(nlohmann::json::parse(document.out)["limit"].get<double>(), 5e-5, 1e-9);
  for (const char* wrong : {"0", "1", "-1e-5", "1e-5x", "ieee_rs528", "cisco"})
    EXPECT_EQ(with({"--limit", wrong}).status, 64) << wrong;
}

TEST(CountersDegrading, AsksAServerForRawSamplesOfThePast) {
  std::mutex one_at_a_time;
  std::vector<std::string> asked;
  const AnsweringServer empty([&](const auto& request, auto& response) {
    const std::lock_guard lock(one_at_a_time);
    asked.push_back(request.get_param_value("query"));
    response.set_content(R"({"status":"success","data":{"resultType":"matrix","result":[]}})",
                         "application/json");
  });
  const ScratchFile fabric(kFabric + "counters: {prometheus: \"" + empty.url() +
                           "\", metrics: {fec_corrected: fixed, frames_in: frames}}\n");
  const auto outcome = call(counters_degrading_command, {"--fabric", fabric.path(), "--days", "1"});
  EXPECT_EQ(outcome.status, 69) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("no port tells of corrected errors"));
  ASSERT_EQ(asked.size(), 13u) << "each two hours of a day";
  EXPECT_EQ(asked.front(), "fixed{}[120000ms] offset 86400s");
  EXPECT_EQ(asked.back(), "fixed{}[120000ms]");
}

TEST(CountersDegrading, RefusesWhatMakesNoSense) {
  const ScratchFile fabric(kFabric);
  EXPECT_THAT(call(counters_degrading_command,
                   {"--fabric", fabric.path(), "--prometheus", "http://x", "--exporter", "snmp_exporter"})
                  .err,
              HasSubstr("no metric of corrected errors is named"));
  for (const char* days : {"0", "61", "-1", "x"})
    EXPECT_EQ(call(counters_degrading_command, {"--fabric", fabric.path(), "--days", days}).status, 64)
        << days;
}

TEST(CountersPauses, LeadToTheHostThatDoesNotTakeWhatComes) {
  std::string text = "{\"schema\":\"weft.counters/1\",\"source\":\"snmp\"}\n";
  for (int minute = 0; minute < 3; ++minute)
    for (const auto& [port, counter] :
         {std::pair("leaf1/p1", "pause_in.3"), std::pair("leaf1/p3", "pause_out.3"),
          std::pair("spine1/p1", "pause_in.3")})
      text += fmt::format(R"({{"at":"2026-11-28T05:0{}:00Z","port":"{}","counters":{{"{}":{}}}}})"
                          "\n",
                          minute, port, counter, 10'000 * minute);
  const ScratchFile fabric(kFabric), counters(text);
  const auto outcome =
      call(counters_pauses_command, {"--fabric", fabric.path(), "--counters", counters.path()});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("priority 3: pauses began here\nhost1 does not take what comes"));
  const auto document =
      call(counters_pauses_command, {"--fabric", fabric.path(), "--counters", counters.path(), "-o", "json"});
  EXPECT_EQ(document.status, 1);
  expect_matches_schema(document.out, "pauses");
  EXPECT_EQ(nlohmann::json::parse(document.out)["priorities"][0]["origins"][0]["cause"], "slow_host");
}

TEST(DiagnoseWithCounters, TellsHowManyCountsItHas) {
  const ScratchFile fabric(kFabric);
  const ScratchFile counters(
      "{\"schema\":\"weft.counters/1\",\"source\":\"script\"}\n"
      "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"leaf1/p3\",\"counters\":{\"fec_uncorrectable\":0}}\n"
      "{\"at\":\"2026-11-28T05:01:00Z\",\"port\":\"leaf1/p3\",\"counters\":{\"fec_uncorrectable\":9}}\n");
  const auto outcome = call(diagnose_command, {"--fabric", fabric.path(), "--counters", counters.path()});
  EXPECT_THAT(outcome.err, HasSubstr("1 series, 1 counts of errors over a window"));
}

/// Readings of leaf1/p3, a minute apart: both layers count errors in each minute, or in the first alone;
/// each by a source of its own, or both by one.
std::string readings(bool always, bool two_sources) {
  std::string text = "{\"schema\":\"weft.counters/1\",\"source\":\"phy\"}\n";
  for (std::uint64_t minute = 0; minute < 50; ++minute) {
    const std::uint64_t bad = always ? minute : std::min<std::uint64_t>(minute, 1) * 49;
    const auto add = [&](const char* source, const std::string& counters) {
      text += fmt::format(
          R"({{"at":"2026-11-28T05:{:02}:00Z","source":"{}","port":"leaf1/p3","counters":{{{}}}}})", minute,
          source, counters);
      text += '\n';
    };
    add(two_sources ? "mac" : "phy",
        fmt::format(R"("frames_in":{},"fcs_errors":{})", 100'000'000 * minute, 10 * bad));
    add("phy", fmt::format(R"("fec_codewords":{},"fec_uncorrectable":{})", 4'687'500'000 * minute, 60 * bad));
  }
  return text;
}

TEST(DiagnoseWithCounters, ErrorsOfEachMinuteByTwoSourcesNameAndThoseOfOneMinuteOrOneSourceDoNot) {
  const ScratchFile fabric(kFabric);
  for (const auto& [always, two_sources] :
       {std::pair(true, true), std::pair(false, true), std::pair(true, false)}) {
    const ScratchFile counters(readings(always, two_sources));
    const auto outcome = call(diagnose_command, {"--fabric", fabric.path(), "--counters", counters.path()});
    EXPECT_EQ(
        outcome.out.find("confidence") != std::string::npos || outcome.out.find("CONF") != std::string::npos,
        always && two_sources)
        << outcome.out;
    EXPECT_THAT(outcome.out, HasSubstr(always ? "in 49 of 49 windows" : "in 1 of 49 windows"));
    EXPECT_EQ(outcome.out.find("one exporter") != std::string::npos, !two_sources && always) << outcome.out;
  }
}

TEST(CountersNic, ReadsWhatThisHostHasAndSaysWhatItHasNot) {
  const auto shown = call(counters_nic_command, {"lo", "--no-module"});
  EXPECT_EQ(shown.status, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("frames_in"));
  EXPECT_THAT(shown.out, HasSubstr("not read: FEC: the driver does not tell"));
  const auto lines = call(counters_nic_command, {"lo", "-o", "json"});
  EXPECT_TRUE(
      nlohmann::json::parse(lines.out.substr(lines.out.find('\n') + 1))["counters"].contains("frames_in"))
      << lines.out;
  EXPECT_EQ(call(counters_nic_command, {"nosuch0"}).status, 64);
  const ScratchFile fabric(kFabric);
  EXPECT_THAT(call(counters_nic_command, {"--fabric", fabric.path()}).err,
              HasSubstr("no interface of this host"));
  EXPECT_THAT(call(counters_nic_command, {"lo", "--fabric", fabric.path()}).err,
              HasSubstr("none of its addresses is in the fabric file"));
}

/// leaf1/p3 as above by two sources, with modules at all ports of switches: `received` milliwatts there.
std::string readings_with_modules(double received) {
  auto text = readings(true, true);
  for (const char* node : {"leaf1", "leaf2", "spine1", "spine2"})
    for (int port = 1; port <= (node[0] == 'l' ? 4 : 2); ++port)
      for (const int minute : {0, 49}) {
        const auto name = fmt::format("{}/p{}", node, port);
        const bool is_bad = name == "leaf1/p3";
        text += fmt::format(R"({{"at":"2026-11-28T05:{:02}:30Z","source":"module","port":"{}","counters":)"
                            R"({{"fec_corrected":{}}},"module":{{"part":"P","tx_mw":[1],"rx_mw":[{}]}}}})"
                            "\n",
                            minute, name, minute * (is_bad ? 5'000'000 : 1'000), is_bad ? received : 0.5);
      }
  return text;
}

TEST(DiagnoseWithCounters, SaysWhatToMendByTheLightOfBothEnds) {
  const ScratchFile fabric(kFabric), counters(readings_with_modules(0.1)), without(readings(true, true));
  const Arguments words{"--fabric", fabric.path(), "--counters"};
  const auto with = [&](const ScratchFile& file, const Arguments& more) {
    Arguments all = words;
    all.push_back(file.path());
    all.insert(all.end(), more.begin(), more.end());
    return call(diagnose_command, all);
  };
  const auto shown = with(counters, {});
  EXPECT_THAT(shown.out, testing::ContainsRegex("do: .*(clean the connector|replace the cable)"))
      << shown.out;
  EXPECT_THAT(shown.out, testing::ContainsRegex(",[ \n]+else"));
  const auto document = with(counters, {"-o", "json"});
  expect_matches_schema(document.out, "diagnosis");
  const auto repair = nlohmann::json::parse(document.out)["links"][0]["repair"];
  ASSERT_FALSE(repair["actions"].empty()) << document.out;
  EXPECT_EQ(repair["actions"][0]["cause"], "dirty_connector");
  EXPECT_TRUE(repair["missing"].empty());
  EXPECT_THAT(with(without, {}).out, HasSubstr("clean and reseat")) << "nothing tells of light";
}

TEST(CounterPage, NamesEveryCounterAndEveryPreset) {
  const auto page = text_of(WEFT_SOURCE_DIR "/docs/counters.md");
  for (std::size_t i = 0; i < counters::kPortCounters; ++i)
    EXPECT_THAT(page, HasSubstr(fmt::format("`{}", to_string(static_cast<counters::PortCounter>(i)))));
  for (const auto& preset : counters::metric_presets())
    EXPECT_THAT(page, HasSubstr("| `" + preset.name + "` |"));
}

}  // namespace
}  // namespace weft::cli
