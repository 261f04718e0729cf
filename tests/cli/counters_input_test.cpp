// Counters that cannot be right, as a user meets them: `weft counters check` and `weft diagnose` over what
// sources say when ports are broken out, targets go away, clocks differ, or a host speaks for another.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/counters.hpp"
#include "tests/support/answering_server.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/base/instant.hpp"
#include "topology/os/clocks.hpp"

namespace weft::cli {
namespace {

using std::chrono::minutes;
using testing::HasSubstr;
using testing::Not;

const std::string kClos = "fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";
/// As a file says it after Ethernet8, of 400 Gb/s, was broken out.
const std::string kBrokenOut =
    "fabric: a\nnodes: [{name: leaf1, kind: switch, tier: leaf}, {name: spine1, kind: switch, tier: spine}]\n"
    "links: [{a: leaf1/Ethernet8, b: spine1/Ethernet8, rate: 100G}, "
    "{a: leaf1/Ethernet9, b: spine1/Ethernet9, rate: 100G}]\n";
constexpr std::uint64_t kCodewords400 = 4'687'500'000, kCodewords100 = 1'171'875'000;  // a minute

const Nanoseconds kStart = *parse_instant("2026-11-28T05:00:00Z");

struct Reading {
  int minute = 0;
  std::string source, port, counters;
  std::string more = "";  // other members
  Nanoseconds start = kStart;
};

class CounterLines {
 public:
  void add(const Reading& one) {
    text_ += fmt::format(R"({{"at":"{}","source":"{}","port":"{}","counters":{{{}}}{}}})",
                         instant_text(one.start + minutes(one.minute)), one.source, one.port, one.counters,
                         one.more) +
             "\n";
  }
  /// Both layers of a port, each by a source of its own, with errors in every minute.
  void add_faulty(int minute, const std::string& port, Nanoseconds mac, Nanoseconds phy) {
    add({minute, "mac", port,
         fmt::format(R"("frames_in":{},"fcs_errors":{})", 100'000'000L * minute, 10 * minute), "", mac});
    add({minute, "phy", port,
         fmt::format(R"("fec_codewords":{},"fec_uncorrectable":{})", kCodewords400 * minute, 60 * minute), "",
         phy});
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_ = "{\"schema\":\"weft.counters/1\"}\n";
};

Outcome checked(const std::string& fabric_text, const CounterLines& lines) {
  const ScratchFile fabric(fabric_text), counters(lines.text());
  return call(counters_check_command, {"--fabric", fabric.path(), "--counters", counters.path()});
}

nlohmann::json diagnosed(const std::string& fabric_text, const CounterLines& lines) {
  const ScratchFile fabric(fabric_text), counters(lines.text());
  const auto outcome =
      call(diagnose_command, {"--fabric", fabric.path(), "--counters", counters.path(), "-o", "json"});
  auto document = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(document.is_object()) << outcome.err;
  return document.is_object() ? document : nlohmann::json{{"links", nullptr}};
}

TEST(CountersInput, APortThatIsBrokenOutStartsAnewAndItsOldErrorsAreNotOfIt) {
  CounterLines lines;
  for (int minute = 0; minute < 50; ++minute) {
    const bool is_old = minute < 48;
    const auto of = [&](std::uint64_t codewords, int errors) {
      const int since = is_old ? minute : minute - 47;
      return fmt::format(R"("fec_codewords":{},"fec_uncorrectable":{},"frames_in":{},"fcs_errors":{})",
                         codewords * since, errors * since, 10'000'000L * since, errors * since);
    };
    // The same by two sources: that one alone names nothing is not the reason.
    for (const char* source : {"snmp", "script"}) {
      lines.add({minute, source, "leaf1/Ethernet8", is_old ? of(kCodewords400, 600) : of(kCodewords100, 0)});
      if (!is_old) lines.add({minute, source, "leaf1/Ethernet9", of(kCodewords100, 0)});
    }
  }
  EXPECT_THAT(checked(kBrokenOut, lines).out, HasSubstr("grew by more than 100G carries"));
  const auto document = diagnosed(kBrokenOut, lines);
  EXPECT_EQ(document["links"].size(), 0U) << document.dump(1);
  EXPECT_EQ(document.dump().find("failed"), std::string::npos) << document.dump(1);
}

std::string matrix(const std::string& series) {
  return R"({"status":"success","data":{"resultType":"matrix","result":[)" + series + "]}}";
}
std::string of_port(const std::string& port, const std::string& values, const std::string& more = "") {
  return fmt::format(R"({{"metric":{{"instance":"leaf1:9116","job":"sw","device":"{}"{}}},"values":[{}]}})",
                     port, more, values);
}

TEST(CountersInput, LanesThatTheFileDoesNotKnowSeriesTwiceAndStalenessAreRemarks) {
  // Some servers that speak Prometheus's API write its marker of staleness as a NaN; it has none of its own.
  const std::string values = R"([1764310000,"5"],[1764310060,"6"],[1764310120,"NaN"],[1764310180,"8"])";
  std::string all = of_port("Ethernet8", values) + "," + of_port("Ethernet8", values, R"(,"replica":"b")");
  for (int lane = 1; lane <= 4; ++lane) all += "," + of_port(fmt::format("Ethernet8/{}", lane), values);
  const AnsweringServer server([&](const httplib::Request& request, httplib::Response& response) {
    const bool is_it = request.get_param_value("query").starts_with("node_network_receive_packets_total{");
    response.set_content(matrix(is_it ? all : ""), "application/json");
  });
  const ScratchFile fabric(kBrokenOut);
  const auto outcome = call(counters_check_command, {"--fabric", fabric.path(), "--prometheus", server.url(),
                                                     "--exporter", "node_exporter"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("node_exporter: counters of 1 of 4 ports, of 1 with readings"));
  EXPECT_THAT(outcome.out, testing::ContainsRegex("has no port 'Ethernet8/4'; it has[ \n]+leaf1/Ethernet8"));
  EXPECT_THAT(outcome.out, HasSubstr("series without a port of the fabric: 4"));
  EXPECT_THAT(outcome.out, HasSubstr("two series for one counter of a port: 1"));
  EXPECT_THAT(outcome.out, HasSubstr("values that cannot be: 1"));
  EXPECT_THAT(outcome.out, HasSubstr("nan is no count"));
}

TEST(CountersInput, ClocksAnHourApartNameTheSameCable) {
  const Nanoseconds now = os::wall_now();
  for (const auto& [mac, phy] :
       {std::pair(0, 0), std::pair(-60, 0), std::pair(0, -60), std::pair(-60, -60)}) {
    CounterLines lines;
    for (int minute = 0; minute < 50; ++minute)
      lines.add_faulty(minute, "leaf1/p3", now - minutes(49 - mac), now - minutes(49 - phy));
    const auto document = diagnosed(kClos, lines);
    ASSERT_EQ(document["links"].size(), 1U) << mac << " " << phy << document.dump(1);
    EXPECT_EQ(document["links"][0]["cause"], "counter");
  }
}

TEST(CountersInput, AHostThatSpeaksForAnotherNamesNothingAndIsTold) {
  CounterLines lines;
  for (int minute = 0; minute < 50; ++minute)
    for (const int errors : {0, 60}) {
      const auto source = errors == 0 ? "host1's own" : "host2";
      lines.add({minute, source, "host1/p1",
                 fmt::format(R"("frames_in":{},"fcs_errors":{},"fec_codewords":{},"fec_uncorrectable":{})",
                             100'000'000L * minute, errors * minute, kCodewords400 * minute, errors * minute),
                 fmt::format(R"(,"boot":"{}")", errors)});
    }
  EXPECT_THAT(checked(kClos, lines).out, HasSubstr("one of them is wrong"));
  const auto document = diagnosed(kClos, lines);
  EXPECT_EQ(document["links"].size(), 0U) << document.dump(1);
  EXPECT_THAT(document["counters"].dump(), HasSubstr("one exporter"));
}

TEST(CountersInput, TwoHostsThatSpeakForOneInTurnMakeNoWindow) {
  CounterLines lines;
  for (int minute = 0; minute < 50; ++minute)
    lines.add({minute, "nic", "host1/p1",
               fmt::format(R"("frames_in":{},"fcs_errors":{})",
                           (minute % 2 + 1) * 100'000'000L * (minute + 9), (minute % 2) * 1'000 * minute),
               fmt::format(R"(,"boot":"{}")", minute % 2)});
  EXPECT_THAT(checked(kClos, lines).out, HasSubstr("nic: counters of 1 of 16 ports, of 0 with readings"));
}

TEST(CountersInput, AValueThatJumpsBackByOneIsNoError) {
  CounterLines lines;
  for (int minute = 0; minute < 50; ++minute)
    for (const char* source : {"snmp", "script"})
      lines.add({minute, source, "leaf1/p3",
                 fmt::format(R"("frames_in":{},"fcs_errors":{},"fec_codewords":{},"fec_uncorrectable":{})",
                             10'000L * minute, 41 - minute % 2, kCodewords400 * minute, 41 - minute % 2)});
  EXPECT_THAT(checked(kClos, lines).out, testing::ContainsRegex("whose value went[ \n]+back"));
  const auto document = diagnosed(kClos, lines);
  EXPECT_EQ(document["links"].size(), 0U) << document.dump(1);
  EXPECT_THAT(document.dump(), Not(HasSubstr("fcs_errors"))) << document.dump(1);
}

/// A host that takes a quarter of what comes and stops its leaf looks like a slow cable to the flows, and so
/// does a slow cable beside pauses: who began them is told, and neither verdict nor cause changes. That goes
/// for losses, too.
TEST(DiagnoseWithPauses, TheyAreEvidenceBesideAFindingAndExcuseNothing) {
  for (const std::string fault : {"rate=100G", "delay=2ms", "rate=100G,loss=12%"}) {
    const ScratchFile fabric(kClos), observations("");
    call(simulate_command, {fabric.path(), "--fault", "host1--leaf1:" + fault + ",from=leaf1", "--seed", "1",
                            "--observations", observations.path()});
    CounterLines counters;
    for (int minute = 0; minute < 3; ++minute) {
      const int frames = 10'000 * minute;
      counters.add({minute, "switch", "leaf1/p1", fmt::format(R"("pause_in.3":{})", frames)});
      counters.add({minute, "nic", "host1/p1", fmt::format(R"("pause_out.3":{})", frames)});
    }
    const ScratchFile paused(counters.text());
    const auto found = [&](Arguments more) {
      Arguments words{"--fabric", fabric.path(), "--observations", observations.path(), "-o", "json"};
      words.insert(words.end(), more.begin(), more.end());
      return nlohmann::json::parse(call(diagnose_command, words).out);
    };
    const auto alone = found({}), beside = found({"--counters", paused.path()});
    EXPECT_NE(alone["verdict"], "healthy");
    EXPECT_EQ(alone["verdict"], beside["verdict"]) << fault;
    ASSERT_FALSE(beside["hosts"].empty()) << beside.dump(1);
    EXPECT_EQ(alone["hosts"][0]["cause"], beside["hosts"][0]["cause"]) << fault;
    EXPECT_EQ(alone.dump().find("does not take what comes"), std::string::npos);
    EXPECT_THAT(beside["hosts"].dump(), HasSubstr("host1 does not take what comes")) << fault;
  }
}

}  // namespace
}  // namespace weft::cli
