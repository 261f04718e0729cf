#include "collectors/report/table.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "collectors/report/routing_table.hpp"
#include "topology/model/clos.hpp"

namespace weft::report {
namespace {

using testing::HasSubstr;
using testing::Not;

files::DiagnosisDocument lossy() {
  files::DiagnosisDocument document;
  document.fabric = "roce-a";
  document.verdict = Verdict::degraded;
  document.links.push_back(
      {.link = "leaf1--spine2",
       .from = "leaf1",
       .verdict = Verdict::degraded,
       .cause = Cause::loss,
       .estimate = Estimate{0.005, 0.004, 0.006},
       .confidence = 0.9999,
       .evidence = {"38 of 4,096 lost over 12 paths; the other paths 2 of 131,072, which is what all "
                    "channels of this run have in common"}});
  document.coverage = {.channels = 64,
                       .probed = 63,
                       .paths = 192,
                       .missing = {"leaf4->spine4"},
                       .unloaded = {"host3->leaf1"},
                       .complete = false};
  document.run = {4096, 38, {{"probing", std::chrono::milliseconds(2500)}}};
  return document;
}

TEST(DiagnosisTable, SaysWhichCableWhichWayHowMuchAndWhy) {
  const auto text = diagnosis_table(lossy());
  EXPECT_THAT(text, HasSubstr("fabric roce-a: degraded"));
  EXPECT_THAT(text, HasSubstr("leaf1--spine2 (from leaf1)"));
  EXPECT_THAT(text, HasSubstr("0.5% (0.4 to 0.6)"));
  EXPECT_THAT(text, HasSubstr("38 of 4,096 lost"));
  EXPECT_THAT(text, HasSubstr("63 of 64 channels"));
  EXPECT_THAT(text, HasSubstr("not crossed: leaf4->spine4"));
  EXPECT_THAT(text, HasSubstr("nobody said what arrived): host3->leaf1"));
  EXPECT_THAT(text, HasSubstr("probing 2.5 s"));
}

TEST(DiagnosisTable, SaysWhatEachReceiverGotAndWhoIsSlow) {
  auto document = lossy();
  document.flows = files::FlowsReport{.pattern = LoadPattern::incast};
  document.flows->receivers = {{"host1", 3, Bandwidth::mbit(9.5), Bandwidth::mbit(6.1), "host3", 0.21}};
  document.flows->slow = {{"host3", false, 3, 3}};
  document.flows->latency.add(std::chrono::microseconds(90));
  const auto text = diagnosis_table(document);
  EXPECT_THAT(text, HasSubstr("host1     3        6.1M       64%           host3, 21%"));
  EXPECT_THAT(text, HasSubstr("slow in sending: host3, 3 of its 3 flows"));
  EXPECT_THAT(text, HasSubstr("took 90.1 us (p50), 90.1 us (p99), 90.1 us (p99.9)"));
  document.flows->latency = {};
  document.flows->latency.add(std::chrono::nanoseconds(1'856));
  EXPECT_THAT(diagnosis_table(document), HasSubstr("took 1.92 us (p50)")) << "its bucket, as of a real NIC";
}

TEST(DiagnosisTable, KeepsWhatFlowsTookWithinEightyColumnsWithoutExponents) {
  auto document = lossy();
  document.flows = files::FlowsReport{};
  document.flows->slow = {{"a-host-with-a-long-name17/p1", true, 11, 15}};
  for (const int milliseconds : {1, 14, 1'072, 130'000})
    document.flows->latency.add(std::chrono::milliseconds(milliseconds));
  const auto text = diagnosis_table(document, 80);
  EXPECT_THAT(text, HasSubstr(" ms (p50)"));
  EXPECT_THAT(text, HasSubstr(" s (p99)"));
  EXPECT_THAT(text, Not(HasSubstr("e+")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(DiagnosisTable, KeepsEvidenceWithinTheTerminal) {
  std::istringstream lines(diagnosis_table(lossy(), 60));
  std::size_t longest = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("    ")) longest = std::max(longest, line.size());
  EXPECT_GT(longest, 40u);
  EXPECT_LE(longest, 60u);
}

TEST(DiagnosisTable, KeepsCoverageAndTimesWithinEightyColumnsAndNumbersBesideTheirUnits) {
  auto document = lossy();
  document.coverage.channels = 147'456;
  document.coverage.paths = 1'048'576;
  document.run.sent = 224'340'000;
  for (const char* stage : {"gathering agents", "mapping paths", "loading", "settling", "diagnosing"})
    document.run.timings.emplace_back(stage, std::chrono::milliseconds(12'300));
  std::istringstream lines(diagnosis_table(document, 80));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 80u) << line;
    EXPECT_FALSE(line.starts_with("s,")) << line;
    EXPECT_EQ(line.find('\x01'), std::string::npos) << line;
  }
}

TEST(DiagnosisTable, HostsOfWhichTheSameIsSaidStandTogether) {
  files::DiagnosisDocument document;
  for (const char* host : {"host10", "host2", "host1"})
    document.hosts.push_back({.host = host, .verdict = Verdict::failed, .evidence = {"no weft there"}});
  document.hosts.push_back({.host = "host3", .verdict = Verdict::failed, .evidence = {"no route"}});
  const auto text = diagnosis_table(document);
  EXPECT_THAT(text, HasSubstr("\nhosts host1, host2, host10: failed\n    no weft there\n"));
  EXPECT_THAT(text, HasSubstr("\nhost host3: failed\n    no route\n"));
}

TEST(DiagnosisTable, SaysWhoWasNotTestedAndWhyAndThatTheRunWasCutShort) {
  files::DiagnosisDocument document;
  for (const char* host : {"host2", "host1"})
    document.coverage.not_tested.push_back({host, std::nullopt, "its agent did not come"});
  document.coverage.not_tested.push_back({"host3", "host3/p2", "needs CAP_NET_RAW"});
  document.coverage.cut_short = "the bus is lost";
  document.coverage.out_of_scope = 12;
  const auto text = diagnosis_table(document);
  EXPECT_THAT(text, HasSubstr("\nhosts host1, host2: not tested\n    its agent did not come\n"));
  EXPECT_THAT(text, HasSubstr("\nhost host3/p2: not tested\n    needs CAP_NET_RAW\n"));
  EXPECT_THAT(text, HasSubstr("\ncut short: the bus is lost\n"));
  EXPECT_THAT(text, HasSubstr("(12 more are on no path between these hosts)"));
  document.coverage.out_of_scope_told_by = "counters";
  EXPECT_THAT(diagnosis_table(document, 200),
              HasSubstr("(12 more are on no path between these hosts: of those only counters tell)"));
}

TEST(DiagnosisTable, AHealthyFabricIsTwoLinesAndNoHeadings) {
  files::DiagnosisDocument document;
  document.fabric = "roce-a";
  document.verdict = Verdict::healthy;
  EXPECT_THAT(diagnosis_table(document), Not(HasSubstr("LINK")));
}

TEST(DiagnosisTable, NamesAClassAndNeverOneOfItsMembers) {
  files::DiagnosisDocument document;
  document.groups.push_back(
      {.channels = {"leaf1->spine2", "spine2->leaf2"}, .cause = Cause::loss, .verdict = Verdict::degraded});
  EXPECT_THAT(diagnosis_table(document), HasSubstr("one of leaf1->spine2, spine2->leaf2: degraded, loss"));
  document.groups[0].nodes = {"spine2"};
  EXPECT_THAT(diagnosis_table(document), HasSubstr("spine2: degraded, loss on 2 channels at once"));
}

TEST(DiagnosisTable, ASetIsToldOnceWithItsEvidenceAndNotAsTheSumOfItsAlternatives) {
  files::DiagnosisDocument document;
  document.groups.push_back({.channels = {"leaf1->spine2", "spine2->leaf1", "leaf2->spine2", "spine2->leaf2"},
                             .cause = Cause::loss,
                             .verdict = Verdict::degraded,
                             .evidence = {"3 of 9 lost"}});
  document.sets.push_back(
      {.cause = Cause::loss,
       .verdict = Verdict::degraded,
       .alternatives = {{"leaf1->spine2", "spine2->leaf1"}, {"leaf2->spine2", "spine2->leaf2"}}});
  document.ambiguous.push_back(document.groups[0].channels);
  const auto text = diagnosis_table(document);
  EXPECT_THAT(text, HasSubstr("\ndegraded, loss: one of these, which the probes cannot tell apart\n"
                              "    leaf1->spine2 and spine2->leaf1\n    leaf2->spine2 and spine2->leaf2\n"
                              "        3 of 9 lost\n"));
  EXPECT_THAT(text, Not(HasSubstr("one of leaf1->spine2")));
  EXPECT_THAT(text, Not(HasSubstr("cannot be told apart by these probes")));
  EXPECT_THAT(text, Not(HasSubstr("or others")));
  document.sets[0].more = true;
  EXPECT_THAT(diagnosis_table(document),
              HasSubstr("spine2->leaf2\n    or others that fit as well, too many to list\n        3 of 9"));
  // Another cause over the same channels is another finding.
  document.groups[0].cause = Cause::delay;
  EXPECT_THAT(diagnosis_table(document), HasSubstr("one of leaf1->spine2"));
}

TEST(DiagnosisTable, ManyChannelsThatWereNotCrossedAreCountedNotListed) {
  files::DiagnosisDocument document;
  for (int i = 0; i < 100; ++i) document.coverage.missing.push_back("leaf" + std::to_string(i) + "->spine1");
  EXPECT_THAT(diagnosis_table(document), HasSubstr("and 92 more"));
}

TEST(RoutingTable, NamesTheEngineWhatIsBrokenTheRingAndTheUseOfTheTopTier) {
  const auto fabric = make_clos({.name = "ib", .leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  routing::RoutingReport report{.routes = 10, .unreachable = 2, .looping = 1};
  report.broken.push_back({*fabric->find_node("leaf1"), Lid(5), routing::RouteEnd::no_entry});
  report.credit_loop.push_back(*fabric->find_channel("leaf1->spine1"));
  report.top.switches.emplace_back(*fabric->find_node("spine1"), 2);
  report.top.switches.emplace_back(*fabric->find_node("spine2"), 6);
  report.top.busiest_over_mean = 1.5;
  const auto text = routing_table(*fabric, report, "updn");
  for (const char* part :
       {"8 of 10 routes", "routing engine: updn", "2 do not arrive, 1 of them loop",
        "LID 5: no entry at leaf1", "in a ring:\n  leaf1->spine1", "1.50 times the mean", "75.0 %"})
    EXPECT_THAT(text, testing::HasSubstr(part));
  EXPECT_LT(text.find("spine2  "), text.find("spine1  "));
  EXPECT_THAT(routing_table(*fabric, {}, std::nullopt), testing::HasSubstr("routing engine: not known"));
}

}  // namespace
}  // namespace weft::report
