#include "collectors/report/table.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "collectors/report/findings.hpp"
#include "collectors/report/remedy.hpp"
#include "collectors/report/routing_table.hpp"
#include "topology/base/text.hpp"
#include "topology/findings/evidence_words.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/clos.hpp"

namespace weft::report {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

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
  EXPECT_THAT(text,
              HasSubstr("rate not tested (no flow by a known path, or none that counts): host3->leaf1"));
  EXPECT_THAT(text, HasSubstr("probing 2.5 s"));
}

TEST(DiagnosisTable, SaysWhatToMendFirstAndElseAndWhatWouldTell) {
  auto document = lossy();
  document.links[0].repair = {{RepairCause::dirty_connector, "leaf1/p3", 0.83},
                              {RepairCause::weak_transmitter, "leaf1/p3", 0.12},
                              {RepairCause::damaged_fibre, std::nullopt, 0.05}};
  document.links[0].repair_missing = {"the module at spine2/p1"};
  const auto text = diagnosis_table(document, {.columns = 400});
  EXPECT_THAT(text,
              ContainsRegex("do: clean the connector at leaf1/p3 \\(0?.83\\), else replace the module at "
                            "leaf1/p3 \\(0?.12\\); until then shut"));
  EXPECT_THAT(text, HasSubstr("would tell what to mend: the module at spine2/p1"));
  document.links[0].repair = {{RepairCause::dirty_connector, "leaf1/p3", 0.4},
                              {RepairCause::dirty_connector, "spine2/p1", 0.3},
                              {RepairCause::damaged_fibre, std::nullopt, 0.3}};
  EXPECT_THAT(diagnosis_table(document, {.columns = 400}),
              HasSubstr("clean the connector at leaf1/p3 and at spine2/p1 (.70), else replace the cable"));
  document.links[0].repair = {{RepairCause::weak_transmitter, "leaf1/p3", 0.4},
                              {RepairCause::dirty_connector, "leaf1/p3", 0.3},
                              {RepairCause::dirty_connector, "spine2/p1", 0.3}};
  EXPECT_THAT(diagnosis_table(document, {.columns = 400}),
              HasSubstr("clean the connector at leaf1/p3 and at spine2/p1 (.60), else replace the module"));
  document.links[0].cause = Cause::corruption;
  EXPECT_THAT(diagnosis_table(document, {.columns = 400}),
              HasSubstr("where they grow, clean the connector at leaf1/p3 and"));
}

TEST(DiagnosisTable, NothingIsReplacedWhereACableIsElsewhereThanTheFileHasIt) {
  auto document = lossy();
  document.links[0].evidence = {
      "12 traces come from spine2 into leaf1/p6, which the fabric joins with spine1" +
      std::string(kMiswired)};
  document.links[0].cause = Cause::down;
  document.hosts.push_back({.host = "host2",
                            .verdict = Verdict::failed,
                            .cause = Cause::down,
                            .evidence = document.links[0].evidence});
  const auto text = diagnosis_table(document);
  EXPECT_THAT(text, HasSubstr("do: move the cable, or correct the fabric file"));
  EXPECT_THAT(text, Not(HasSubstr("replace")));
  EXPECT_THAT(text, Not(HasSubstr("keep jobs off")));
}

std::string first_todo(const files::DiagnosisDocument& document) {
  return what_to_do(entries_of(document).front().trouble);
}

TEST(DiagnosisTable, AMiswiredCableThatIsBadBesidesIsNotOnlyMoved) {
  const std::string miswired =
      "12 traces come from spine2 into leaf1/p6, which the fabric joins with spine1" + std::string(kMiswired);
  auto lossy_one = lossy();
  lossy_one.links[0].evidence = {"38 of 4,096 lost", miswired};
  EXPECT_THAT(first_todo(lossy_one), AllOf(HasSubstr("move the cable"), HasSubstr("clean and reseat")));
  auto dead = lossy();
  dead.links.clear();
  dead.hosts.push_back({.host = "host2",
                        .verdict = Verdict::failed,
                        .cause = Cause::down,
                        .evidence = {"its NIC is dead", miswired}});
  EXPECT_THAT(first_todo(dead), AllOf(HasSubstr("move the cable"), HasSubstr("keep jobs off the host")));
}

TEST(DiagnosisTable, WhatPausesASenderIsLookedAtBeforeItsCable) {
  const std::string by_host3 = fmt::format(
      "{} of priority 3{}host3 does not take what comes: its host is slow, not the fabric (50000 frames){}",
      kPauseFrames, kStoppedItsSender, kOrSlowAsWell);
  auto slow = lossy();
  slow.links[0].cause = Cause::rate;
  slow.links[0].evidence = {"24 of 100 Gbit/s", by_host3, by_host3};
  const std::string todo = first_todo(slow);
  EXPECT_TRUE(todo.starts_with(
      "look first at what pauses its sender: host3 does not take what comes: its host is slow, "
      "not the fabric (50000 frames); where it is as bad without pauses: compare speed"))
      << todo;
  slow.links[0].evidence = {"leaf1->spine2: " + by_host3};  // as of a cable that is slow both ways
  EXPECT_THAT(first_todo(slow), StartsWith("look first at what pauses its sender: host3 does"));
  slow.links[0].evidence = {"24 of 100 Gbit/s",
                            fmt::format("{}{}{}", kPauseFrames, kStoppedItsSender, kOrSlowAsWell)};
  EXPECT_THAT(first_todo(slow), StartsWith("compare speed"));
  slow.links.clear();
  slow.sets = {{.cause = Cause::rate,
                .verdict = Verdict::unknown,
                .alternatives = {{"leaf1->spine1"}, {"spine1->leaf2"}}}};
  slow.groups = {{.channels = {"leaf1->spine1", "spine1->leaf2"},
                  .cause = Cause::rate,
                  .verdict = Verdict::unknown,
                  .evidence = {by_host3}}};
  EXPECT_THAT(first_todo(slow), AllOf(HasSubstr("host3 does not take"), HasSubstr("--budget")));
}

TEST(DiagnosisTable, CallsPortsAsTheirSwitchDoes) {
  auto document = lossy();
  document.links[0].ends = files::LinkReference{.name = "leaf1--spine2",
                                                .a = {"leaf1", PortNumber(6), {}, "Ethernet1/6"},
                                                .b = {"spine2", PortNumber(1), {}, ""}};
  EXPECT_THAT(diagnosis_table(document), HasSubstr("ports: from leaf1 Ethernet1/6 to spine2 port 1\n"));
}

TEST(DiagnosisTable, NoLineEndsBetweenANumberAndItsUnit) {
  auto document = lossy();
  for (int fill = 1; fill < 40; ++fill) {
    document.links[0].evidence = {
        std::string(static_cast<std::size_t>(fill), 'x') +
        " of 10.3 Mbit/s offered 10.3 Mbit/s arrived, of 95 Mbit/s 11.7 Mbit/s, within 1 %"};
    const auto text = diagnosis_table(document);
    EXPECT_THAT(text, Not(ContainsRegex("[0-9]\n *(Mbit/s|%)"))) << text;
    EXPECT_EQ(text.find(kNoBreak), std::string::npos);
  }
}

TEST(DiagnosisTable, SaysWhatEachReceiverGotAndWhoIsSlow) {
  auto document = lossy();
  document.flows = files::FlowsReport{.pattern = LoadPattern::incast};
  document.flows->receivers = {{"host1", 3, Bandwidth::mbit(9.5), Bandwidth::mbit(6.1), "host3", 0.21}};
  document.flows->slow = {{"host3", false, 3, 3}};
  document.flows->latency.add(std::chrono::microseconds(90));
  const auto text = diagnosis_table(document);
  EXPECT_THAT(text, HasSubstr("host1     3        6.1 Mbit/s  64%           host3, 21%"));
  EXPECT_THAT(text, HasSubstr("slow in sending: host3, 3 of its 3 flows"));
  EXPECT_THAT(text, HasSubstr("took 90.1 us (p50), 90.1 us (p99), 90.1 us (p99.9)"));
  document.flows->latency = {};
  document.flows->latency.add(std::chrono::nanoseconds(1'856));
  EXPECT_THAT(diagnosis_table(document), HasSubstr("took 1.92 us (p50)")) << "its bucket, as of a real NIC";
}

TEST(DiagnosisTable, SaysWhatRoundTripsTookBesideTheLoadAndWhereTheyWaited) {
  auto document = lossy();
  document.queueing = files::QueueingReport{};
  EXPECT_THAT(diagnosis_table(document), Not(HasSubstr("beside")));
  const auto rtt = [](int microseconds) {
    const Nanoseconds time = std::chrono::microseconds(microseconds);
    return RttQuantiles{time, time};
  };
  for (const int loaded : {500, 900, 700})
    document.queueing->trips.push_back({.loaded = rtt(loaded), .idle = rtt(40)});
  document.queueing->trips.push_back({.loaded = rtt(9'000)});
  EXPECT_THAT(diagnosis_table(document),
              HasSubstr("round trips beside 3 flows took 700 us in the median, and 40 us before the load\n"));
  for (int i = 1; i < 8; ++i)
    document.queueing->channels.push_back(
        {.channels = {fmt::format("leaf{}->spine1", i)}, .wait = std::chrono::microseconds(100 - i)});
  document.queueing->channels[1].channels.push_back("spine1->leaf9");
  const auto text = diagnosis_table(document, {.columns = 1000});
  EXPECT_THAT(text,
              HasSubstr("; waited in queues: leaf1->spine1 99 us, leaf2->spine1 or spine1->leaf9 98 us"));
  EXPECT_THAT(text, HasSubstr("leaf5->spine1 95 us, and 2 more\n"));
}

TEST(DiagnosisTable, KeepsWhatFlowsTookWithinEightyColumnsWithoutExponents) {
  auto document = lossy();
  document.flows = files::FlowsReport{};
  document.flows->slow = {{"a-host-with-a-long-name17/p1", true, 11, 15}};
  for (const int milliseconds : {1, 14, 1'072, 130'000})
    document.flows->latency.add(std::chrono::milliseconds(milliseconds));
  const auto text = diagnosis_table(document, {.columns = 80});
  EXPECT_THAT(text, HasSubstr(" ms (p50)"));
  EXPECT_THAT(text, HasSubstr(" s (p99)"));
  EXPECT_THAT(text, Not(HasSubstr("e+")));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(DiagnosisTable, KeepsEvidenceWithinTheTerminal) {
  std::istringstream lines(diagnosis_table(lossy(), {.columns = 60}));
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
  std::istringstream lines(diagnosis_table(document, {.columns = 80}));
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
  EXPECT_THAT(text, ContainsRegex("\nhosts host1, host2, host10 +failed\n    no weft there\n    do: "));
  EXPECT_THAT(text, ContainsRegex("\nhost host3 +failed\n    no route\n    do: "));
}

TEST(DiagnosisTable, AHostsCableThatComesAndGoesIsToldWithItsRhythm) {
  files::DiagnosisDocument document;
  for (const double duration : {0.2, 0.4})
    document.hosts.push_back({.host = duration < 0.3 ? "host1" : "host2",
                              .verdict = Verdict::degraded,
                              .cause = Cause::loss,
                              .evidence = {"9 of 100 lost"},
                              .confidence = 0.99,
                              .intermittent = Intermittence{1.0, duration}});
  const auto text = diagnosis_table(document);
  EXPECT_THAT(text, ContainsRegex("host host1 .*\n    intermittent: 1 outages a second, of 0.2 s each\n"));
  EXPECT_THAT(text, ContainsRegex("host host2 .*\n    intermittent: 1 outages a second, of 0.4 s each\n"));
}

TEST(DiagnosisTable, HostsThatFailedAlikeStandTogetherWithTheFiguresOfOne) {
  files::DiagnosisDocument document;
  for (const char* host : {"host4", "host2", "host3"})
    document.hosts.push_back({.host = host,
                              .verdict = Verdict::failed,
                              .cause = Cause::down,
                              .evidence = {host + std::string(": all lost")},
                              .confidence = 0.99});
  EXPECT_THAT(diagnosis_table(document),
              ContainsRegex("\nhosts host2, host3, host4 +failed +down .*\n"
                            "    here host4; the others alike:\n    host4: all lost\n"
                            "    do: "));
  for (auto& finding : document.hosts) finding.verdict = Verdict::degraded;
  EXPECT_THAT(diagnosis_table(document), Not(HasSubstr("\nhosts ")))
      << "figures matter of what is not all lost";
}

TEST(DiagnosisTable, NamesThePortsOfAllHostsOfAnEntryUnlessTheyAreMany) {
  const auto ports_of = [](int hosts) {
    files::DiagnosisDocument document;
    for (int i = 1; i <= hosts; ++i)
      document.hosts.push_back(
          {.host = "host" + std::to_string(i),
           .ends =
               files::LinkReference{.name = {},
                                    .a = {.node = "host" + std::to_string(i), .port = PortNumber(1)},
                                    .b = {.node = "leaf1", .port = PortNumber(static_cast<std::uint16_t>(i))},
                                    .kind = files::LinkClass::host_leaf},
           .verdict = Verdict::failed,
           .cause = Cause::down,
           .evidence = {"all lost"}});
    return diagnosis_table(document, {.columns = 200});
  };
  EXPECT_THAT(ports_of(2),
              HasSubstr("\n    ports: host1 port 1, leaf1 port 1; host2 port 1, leaf1 port 2\n"));
  EXPECT_THAT(ports_of(20), HasSubstr("leaf1 port 8; and of 12 more\n"));
}

TEST(DiagnosisTable, SaysWhoWasNotTestedAndWhyAndThatTheRunWasCutShort) {
  files::DiagnosisDocument document;
  for (const char* host : {"host2", "host1"})
    document.coverage.not_tested.push_back({host, std::nullopt, "its agent did not come"});
  document.coverage.not_tested.push_back({"host3", "host3/p2", "needs CAP_NET_RAW"});
  document.coverage.cut_short = "the bus is lost";
  document.coverage.out_of_scope = 12;
  const auto text = diagnosis_table(document);
  EXPECT_THAT(text, ContainsRegex("\nhosts host1, host2 +untested\n    its agent did not come\n"));
  EXPECT_THAT(text, ContainsRegex("\nhost host3/p2 +untested\n    needs CAP_NET_RAW\n"));
  EXPECT_THAT(text, HasSubstr("\ncut short: the bus is lost\n"));
  EXPECT_THAT(text, HasSubstr("(12 more are on no path between these hosts)"));
  document.coverage.out_of_scope_told_by = "counters";
  EXPECT_THAT(diagnosis_table(document, {.columns = 200}),
              HasSubstr("(12 more are on no path between these hosts: of those only counters tell)"));
}

TEST(DiagnosisTable, AHealthyFabricHasNoHeadingsAndSaysWhatWouldHaveShown) {
  files::DiagnosisDocument document;
  document.fabric = "roce-a";
  document.verdict = Verdict::healthy;
  document.coverage.channels = 64;
  document.sensitivity = {.loss = 0.014, .delay = std::chrono::microseconds(252), .rate = {}, .size = {}};
  const auto text = diagnosis_table(document, {.columns = 200});
  EXPECT_THAT(text, Not(HasSubstr("VERDICT")));
  EXPECT_THAT(
      text,
      StartsWith("fabric roce-a: healthy; nothing found on 32 links; not tested: rates; one fault "
                 "would have shown on any link crossed: loss of 1.4% packet by packet (or a burst of ten or "
                 "more each 130 packets), delay\n"
                 "of 252 us\n"));
  document.coverage.hosts = 16;
  EXPECT_THAT(diagnosis_table(document, {.columns = 200}),
              HasSubstr("nothing found on 32 links, 16 hosts; not"));
  document.sensitivity.delay = std::chrono::microseconds(4400);
  EXPECT_THAT(diagnosis_table(document, {.columns = 300}), HasSubstr("delay of 4.4 ms\n"));
  document.sensitivity.delay.reset();
  EXPECT_THAT(diagnosis_table(document, {.columns = 300}), HasSubstr("; not tested: delays, rates; one"));
}

TEST(DiagnosisTable, ARateThatSomeChannelsWereNotTestedForIsNotSaidOfAnyLink) {
  files::DiagnosisDocument document;
  document.coverage.channels = 64;
  document.sensitivity = {.loss = 0.01, .delay = std::chrono::microseconds(9), .rate = 0.163, .size = {}};
  EXPECT_THAT(diagnosis_table(document, {.columns = 300}), HasSubstr("delay of 9 us, rate 16.3% too low\n"));
  document.coverage.unloaded = {"leaf1->spine1", "leaf1->spine2"};
  document.coverage.rate_untested = {"leaf2->spine1"};
  const auto text = diagnosis_table(document, {.columns = 300});
  EXPECT_THAT(text, HasSubstr("; not tested: rates of 3 channels; one fault would have shown"));
  EXPECT_THAT(text, HasSubstr("delay of 9 us, rate 16.3% too low on those loaded\n"));
  EXPECT_THAT(monitoring_line(document), HasSubstr("; not tested: rates of 3 channels;"));
}

TEST(DiagnosisTable, BothDirectionsOfACableAreOneLinkInTheFirstLine) {
  files::DiagnosisDocument document;
  document.coverage.channels = 64;
  for (const char* from : {"leaf1", "spine1"})
    document.links.push_back({.link = "leaf1--spine1", .from = from, .cause = Cause::delay});
  EXPECT_THAT(diagnosis_table(document, {.columns = 200}), HasSubstr("; 1 of 32 links;"));
  EXPECT_THAT(monitoring_line(document), HasSubstr(" links=1 "));
}

TEST(DiagnosisTable, NamesAClassAndNeverOneOfItsMembers) {
  files::DiagnosisDocument document;
  document.groups.push_back(
      {.channels = {"leaf1->spine2", "spine2->leaf2"}, .cause = Cause::loss, .verdict = Verdict::degraded});
  EXPECT_THAT(diagnosis_table(document),
              ContainsRegex("one of leaf1->spine2, spine2->leaf2 +degraded +loss"));
  document.groups[0].nodes = {"spine2"};
  EXPECT_THAT(diagnosis_table(document),
              ContainsRegex("\nspine2 +degraded +loss .*\n    2 channels at once\n"));
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
  EXPECT_THAT(text, ContainsRegex("\none of these, which the probes cannot tell apart\n* +degraded +loss .*\n"
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

files::LinkReport at(const std::string& a, const std::string& b, Verdict verdict, Cause cause, double value) {
  return {.link = a + "--" + b,
          .from = a,
          .ends = files::LinkReference{.name = a + "--" + b,
                                       .a = {.node = b, .port = PortNumber(3)},
                                       .b = {.node = a, .port = PortNumber(6)}},
          .verdict = verdict,
          .cause = cause,
          .estimate = Estimate{value, value, value},
          .confidence = 0.9,
          .evidence = {"seen"}};
}

TEST(DiagnosisTable, NamesThePortThatSendsFirst) {
  files::DiagnosisDocument document;
  document.links = {at("leaf4", "spine2", Verdict::degraded, Cause::loss, 0.01)};
  EXPECT_THAT(diagnosis_table(document), HasSubstr("\n    ports: from leaf4 port 6 to spine2 port 3\n"));
}

TEST(DiagnosisTable, WhatHurtsMostStandsFirst) {
  files::DiagnosisDocument document;
  document.links = {at("a", "s1", Verdict::congested, Cause::congestion, 0.5),
                    at("b", "s1", Verdict::degraded, Cause::rate, 0.8),
                    at("c", "s1", Verdict::degraded, Cause::rate, 0.2),
                    at("d", "s1", Verdict::degraded, Cause::loss, 0.01),
                    at("e", "s1", Verdict::degraded, Cause::loss, 0.04)};
  document.groups.push_back(
      {.nodes = {"spine9"}, .channels = {"x->y"}, .cause = Cause::down, .verdict = Verdict::failed});
  const auto text = diagnosis_table(document);
  std::size_t last = 0;
  for (const char* row : {"\nspine9 ", "\ne--s1", "\nd--s1", "\nc--s1", "\nb--s1", "\na--s1"}) {
    const auto here = text.find(row);
    ASSERT_NE(here, std::string::npos) << row;
    EXPECT_GT(here, last) << row;
    last = here;
  }
}

TEST(DiagnosisTable, AboveTwentyFindingsASummaryStandsFirstAndAllAreListedWhenAsked) {
  files::DiagnosisDocument document;
  for (int i = 0; i < 25; ++i)
    document.links.push_back(at("leaf" + std::to_string(i), "s1", Verdict::degraded, Cause::loss, 0.001 * i));
  const auto text = diagnosis_table(document);
  EXPECT_THAT(text, HasSubstr("\n25 findings, what hurts most first:\n    25 degraded, loss\n"));
  EXPECT_THAT(text, HasSubstr("\n5 more: --all lists them\n"));
  EXPECT_THAT(text, Not(HasSubstr("leaf4--s1")));
  EXPECT_THAT(diagnosis_table(document, {.all = true}), HasSubstr("leaf4--s1"));
}

TEST(DiagnosisTable, NoRowIsWiderThanTheTerminalAndNoNameIsCut) {
  files::DiagnosisDocument document;
  for (const std::size_t length : {5, 24, 64})
    for (const Cause cause : {Cause::loss, Cause::rate, Cause::delay, Cause::mtu, Cause::counter})
      document.links.push_back(at("l" + std::string(length - 1, 'x'), "s" + std::string(length - 1, 'y'),
                                  Verdict::degraded, cause, 0.5));
  document.hosts.push_back({.host = std::string(64, 'h'), .verdict = Verdict::failed, .evidence = {"gone"}});
  for (const std::size_t columns : {40, 80, 132})
    for (const bool sign : {false, true}) {
      const auto text = diagnosis_table(document, {.columns = columns, .sign = sign});
      std::istringstream lines(text);
      for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << line;
      std::string joined = text;
      std::erase(joined, '\n');
      EXPECT_THAT(joined, HasSubstr(std::string(64, 'h')));
    }
}

TEST(DiagnosisTable, ColoursAndSignsAreThereWhenAskedForAlone) {
  EXPECT_THAT(diagnosis_table(lossy()), Not(HasSubstr("\x1b")));
  EXPECT_THAT(diagnosis_table(lossy(), {.colour = true}), HasSubstr("roce-a: \x1b[33mdegraded\x1b[0m;"));
  EXPECT_THAT(diagnosis_table(lossy(), {.sign = true}), StartsWith("!  fabric roce-a: degraded;"));
}

TEST(MonitoringLine, IsOneLineWithPerformanceData) {
  auto document = lossy();
  document.fabric = "a|b";
  EXPECT_EQ(monitoring_line(document),
            "WEFT WARNING - fabric a/b: degraded; 1 of 32 links; not tested: delays, rates, 1 channel | "
            "links=1 hosts=0 sets=0 not_tested=0 channels_not_tested=1 sent=4096c lost=38c\n");
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
        "LID 5: no entry at leaf1", "in a ring:\n  leaf1->spine1", "1.50 times the mean", "75.0%"})
    EXPECT_THAT(text, testing::HasSubstr(part));
  EXPECT_LT(text.find("spine2  "), text.find("spine1  "));
  EXPECT_THAT(routing_table(*fabric, {}, std::nullopt), testing::HasSubstr("routing engine: not known"));
}

}  // namespace
}  // namespace weft::report
