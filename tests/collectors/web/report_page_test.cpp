// Reports of documents: what stands in them, and what a reader of one sees in a real browser.
#include "collectors/web/report_page.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/opened_report.hpp"
#include "topology/files/diagnosis_document.hpp"
#include "topology/model/clos.hpp"

namespace weft::web {
namespace {

using testing::HasSubstr;
using testing::Not;

/// A sweep's document of this fabric, with one cable that loses packets.
files::DiagnosisDocument swept(const Fabric& fabric, const std::string& link,
                               const std::string& evidence = "24 of 2,468") {
  files::DiagnosisDocument made;
  made.fabric = fabric.name();
  made.verdict = Verdict::degraded;
  made.links.push_back({.link = link,
                        .from = std::nullopt,
                        .ends = std::nullopt,
                        .verdict = Verdict::degraded,
                        .cause = Cause::loss,
                        .confidence = 0.9999,
                        .evidence = {evidence}});
  made.coverage.channels = fabric.channel_count();
  made.coverage.probed = fabric.channel_count();
  files::FlowsReport flows;
  flows.pattern = LoadPattern::all_pairs;
  for (std::size_t i = 0; i + 1 < std::min<std::size_t>(fabric.hosts().size(), 200); ++i)
    flows.flows.push_back({.round = 0,
                           .src = fabric.node(fabric.hosts()[i]).name,
                           .dst = fabric.node(fabric.hosts()[i + 1]).name,
                           .path = {},
                           .wanted = Bandwidth::gbit(400),
                           .delivered = Bandwidth::gbit(i == 0 ? 100 : 400),
                           .qps = {}});
  made.flows = flows;
  return made;
}

std::string document(const Fabric& fabric, const std::string& link,
                     const std::string& evidence = "24 of 2,468") {
  return files::diagnosis_json(swept(fabric, link, evidence));
}

Fabric small() {
  return make_clos({.name = "fabric", .leaves = 4, .spines = 2, .hosts_per_leaf = 2}).value();
}

std::string page(const Fabric& fabric, const std::string& text) {
  const auto made = report_page(text, "test.json", {&fabric});
  EXPECT_TRUE(made) << made.error().message;
  return made.value_or("");
}

std::string refused(const std::string& text, const std::vector<const Fabric*>& fabrics = {}) {
  const auto made = report_page(text, "test.json", fabrics);
  EXPECT_FALSE(made);
  return made ? "" : made.error().message;
}

/// Of each channel the letter of its state.
std::string letters_of(const std::string& html) {
  constexpr std::string_view kBefore = "\"channels\":\"";
  const auto from = html.find(kBefore);
  EXPECT_NE(from, std::string::npos);
  if (from == std::string::npos) return "";
  return html.substr(from + kBefore.size(), html.find('"', from + kBefore.size()) - from - kBefore.size());
}

/// 'd' on both channels of the link that is at fault.
std::string with_fault(const Fabric& fabric, std::string letters, const char* link = "leaf1--spine2") {
  const auto at = 2 * fabric.find_link(link).value().value();
  letters[at] = letters[at + 1] = 'd';
  return letters;
}

TEST(ReportPage, VerdictFindingsAndTheStateOfEachChannelStandInIt) {
  const Fabric fabric = small();
  const auto html = page(fabric, document(fabric, "leaf1--spine2"));
  EXPECT_LT(html.find("<span class=\"verdict degraded\">"), html.find("<h1>"));
  EXPECT_LT(html.find("<h1>"), html.find("<h2>"));
  EXPECT_THAT(html, HasSubstr("<b>leaf1--spine2</b>: degraded, loss"));
  EXPECT_THAT(html, HasSubstr("24 of 2,468"));
  EXPECT_THAT(html, HasSubstr("To do: "));
  EXPECT_EQ(letters_of(html), with_fault(fabric, std::string(fabric.channel_count(), 'h')));
}

TEST(ReportPage, WhatNoRunCoveredIsNotHealthy) {
  const Fabric fabric = small();
  auto some = swept(fabric, "leaf1--spine2");
  some.coverage.channels = some.coverage.probed = 4;
  some.coverage.out_of_scope = fabric.channel_count() - 4;
  std::string letters(fabric.channel_count(), 'n');
  for (std::uint32_t c = 0; c < 4; ++c) {
    some.coverage.in_scope.push_back(fabric.name_of(ChannelId(c)));
    letters[c] = 'h';
  }
  EXPECT_EQ(letters_of(page(fabric, files::diagnosis_json(some))), with_fault(fabric, letters));
  some.coverage.in_scope.clear();  // of which channels it is, it does not tell
  EXPECT_EQ(letters_of(page(fabric, files::diagnosis_json(some))),
            with_fault(fabric, std::string(fabric.channel_count(), 'u')));
  some.coverage.out_of_scope = 0;  // the fabric has grown since
  EXPECT_EQ(letters_of(page(fabric, files::diagnosis_json(some))),
            with_fault(fabric, std::string(fabric.channel_count(), 'u')));
}

TEST(ReportPage, WhatTooFewProbesCrossedIsUnknown) {
  const Fabric fabric = small();
  auto some = swept(fabric, "leaf1--spine2");
  some.coverage.thin = {fabric.name_of(ChannelId(0))};
  some.coverage.masked = {fabric.name_of(ChannelId(1))};
  some.coverage.missing = {fabric.name_of(ChannelId(2))};
  some.coverage.probed -= 2;
  std::string letters(fabric.channel_count(), 'h');
  letters[0] = letters[1] = 'u', letters[2] = 'n';
  EXPECT_EQ(letters_of(page(fabric, files::diagnosis_json(some))), with_fault(fabric, letters));
}

TEST(ReportPage, OfSeveralFindingsOnALinkTheWorseIsDrawn) {
  const Fabric fabric = small();
  for (const bool is_worse_first : {true, false}) {
    auto both = swept(fabric, "leaf1--spine2");
    both.verdict = Verdict::failed;
    auto failed = both.links.front();
    failed.verdict = Verdict::failed, failed.cause = Cause::down;
    both.links.insert(is_worse_first ? both.links.begin() : both.links.end(), failed);
    auto letters = with_fault(fabric, std::string(fabric.channel_count(), 'h'));
    std::ranges::replace(letters, 'd', 'f');
    EXPECT_EQ(letters_of(page(fabric, files::diagnosis_json(both))), letters);
  }
}

TEST(ReportPage, OfParallelCablesTheOneAtFaultIsDrawnWithoutAFabricToo) {
  const Fabric fabric = small();  // names alone; the document is of another
  auto made = swept(fabric, "leaf1/p6--spine1/p2");
  made.flows->flows.clear();
  for (const auto& [near, far] : {std::pair("p5", "p1"), {"p6", "p2"}})
    made.flows->flows.push_back({.round = 0,
                                 .src = "host1",
                                 .dst = "host3",
                                 .path = {"host1->leaf1", fmt::format("leaf1/{}->spine1/{}", near, far),
                                          "spine1->leaf2", "leaf2->host3"},
                                 .wanted = Bandwidth::gbit(400),
                                 .delivered = Bandwidth::gbit(400),
                                 .qps = {}});
  const auto html = report_page(files::diagnosis_json(made), "test.json");
  ASSERT_TRUE(html) << html.error().message;
  const auto letters = letters_of(*html);
  EXPECT_EQ(letters.size(), 2 * 5U);
  EXPECT_EQ(std::ranges::count(letters, 'd'), 2);
}

TEST(ReportPage, TheScriptIsOneFileWithoutModules) {
  const Fabric fabric = small();
  const auto html = page(fabric, document(fabric, "leaf1--spine2"));
  const auto script = html.substr(html.rfind("<script>"));
  EXPECT_THAT(script, Not(HasSubstr("\nimport ")));
  EXPECT_THAT(script, Not(HasSubstr("\nexport ")));
  EXPECT_THAT(script, HasSubstr("const m_report"));
  EXPECT_EQ(script.find("</script"), script.rfind("</script")) << "nothing in it ends it";
  EXPECT_THAT(html, HasSubstr("script-src 'sha256-"));
}

TEST(ReportPage, TextFromOutsideIsNoMarkup) {
  const Fabric fabric = small();
  const auto html =
      page(fabric, document(fabric, "leaf1--spine2", "</script><script>alert(1)</script><b>\x1b[1m"));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(html, HasSubstr("\\u003c/script>\\u003cscript>"));
}

TEST(ReportPage, AnyDocumentHasAReportOfItsOwn) {
  const auto made = report_page(
      R"({"schema":"weft.rates/1","fabric":"f","classes":[{"class":"nic","per_year":0.01},{"class":"<b>","per_year":2}],"deep":{"a":[1,2,[3]],"b":{"c":true}}})",
      "rates.json");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_THAT(*made, HasSubstr("<h1>weft.rates/1 of f</h1>"));
  EXPECT_THAT(*made, HasSubstr("<th>per year</th>"));
  EXPECT_THAT(*made, HasSubstr("<td>&lt;b&gt;</td>"));
  EXPECT_THAT(*made, Not(HasSubstr("<canvas")));
}

TEST(ReportPage, AnAssignmentShowsTheLoadOfLinksAgainstTheBound) {
  const Fabric fabric = small();
  const auto html = page(
      fabric,
      R"({"schema":"weft.assignment/1","fabric":"fabric","bound":100,"busiest":200,"ratio":2,"unassigned":[],"assignments":[
      {"src":"host1","dst":"host3","qp":0,"bytes":200,"label":null,"path":["host1->leaf1","leaf1->spine2","spine2->leaf2","leaf2->host3"]}]})");
  EXPECT_THAT(html, HasSubstr("carries 2.000 times the bound"));
  EXPECT_THAT(html, HasSubstr("the bound</text>"));
  EXPECT_THAT(html, HasSubstr("\"cause\":\"load\""));
  const auto letters = letters_of(html);
  EXPECT_EQ(std::ranges::count(letters, 'c'), 2) << "between switches";
  EXPECT_EQ(std::ranges::count(letters, 'h'), 2) << "at the NICs it is carried, and no choice changes that";
  EXPECT_EQ(std::ranges::count(letters, 'n'), fabric.channel_count() - 4) << "nothing crosses it";
  EXPECT_THAT(html,
              HasSubstr("\"h\":\"carries no more than the bound\",\"c\":\"carries more than the bound\""));
}

std::string audit(const std::string& members) {
  return R"({"schema":"weft.audit/1","fabric":"fabric","src":"host1","dst":"host3",)" + members + "}";
}
std::string way_over(const std::string& spine, int queue_pairs) {
  return fmt::format(
      R"({{"queue_pairs":{1},"paths":[["host1->leaf1","leaf1->{0}","{0}->leaf2","leaf2->host3"]]}})", spine,
      queue_pairs);
}

TEST(ReportPage, AnAuditSaysHowQueuePairsSpreadAndDrawsWhereTheyCollide) {
  const Fabric fabric = small();
  const auto html = page(fabric, audit(fmt::format(R"("queue_pairs":7,"ports":[],"ways":[{},{}])",
                                                   way_over("spine1", 5), way_over("spine2", 2))));
  EXPECT_THAT(html, HasSubstr("<h1>host1 to host3: 7 queue pairs on 2 of 2 paths; the busiest carries 5, "
                              "spread evenly it would be 3.5</h1>"));
  const auto letters = letters_of(html);
  const auto letter = [&](const char* channel) { return letters.at(fabric.find_channel(channel)->value()); };
  EXPECT_EQ(letter("leaf1->spine1"), 'c');
  EXPECT_EQ(letter("leaf1->spine2"), 'h');
  EXPECT_EQ(letter("host1->leaf1"), 'h');
  EXPECT_EQ(letter("spine1->leaf1"), 'n');
  EXPECT_THAT(html, HasSubstr("1.250 times an even share")) << "five where four are no more than even";
}

TEST(ReportPage, AnAuditThatMovedQueuePairsDrawsWhatCameOfIt) {
  const Fabric fabric = small();
  const auto html =
      page(fabric, audit(fmt::format(R"("queue_pairs":4,"ways":[{},{}],"move":{{"moved":2,"ways":[{},{}]}})",
                                     way_over("spine1", 4), way_over("spine2", 0), way_over("spine1", 2),
                                     way_over("spine2", 2))));
  EXPECT_THAT(html,
              HasSubstr("4 queue pairs, 2 moved while they lived, on 2 of 2 paths; the busiest carries 2, "
                        "before 4, spread evenly it would be 2.0"));
  EXPECT_EQ(std::ranges::count(letters_of(html), 'c'), 0);
}

TEST(ReportPage, AnAuditOfNothingOrOfNonsenseSaysSo) {
  const Fabric fabric = small();
  EXPECT_THAT(page(fabric, audit(R"("queue_pairs":0,"ways":[])")),
              HasSubstr("no queue pair told which port"));
  EXPECT_THAT(page(fabric, audit(R"("queue_pairs":3,"ways":[])")), HasSubstr("on paths that are not known"));
  EXPECT_THAT(
      page(fabric,
           audit(
               R"("queue_pairs":1e300,"ways":[{"queue_pairs":-1e300,"paths":[[],[7,null],5]},3],"move":[])")),
      HasSubstr("on 0 of 1 path;"));
}

TEST(ReportPage, AFasterLinkCarriesMoreBytesWithinTheBound) {
  const Fabric fabric =
      make_clos(
          {.name = "fabric", .leaves = 4, .spines = 2, .hosts_per_leaf = 2, .link = Bandwidth::gbit(800)})
          .value();
  const auto html = page(
      fabric,
      R"({"schema":"weft.assignment/1","fabric":"fabric","reference_rate":"400G","bound":100,"busiest":100,"ratio":1,"unassigned":[],"assignments":[
      {"src":"host1","dst":"host3","qp":0,"bytes":200,"label":null,"path":["host1->leaf1","leaf1->spine2","spine2->leaf2","leaf2->host3"]}]})");
  EXPECT_THAT(html, HasSubstr("<td class=\"n\">1.000</td>"));
  EXPECT_THAT(html, Not(HasSubstr("\"cause\":\"load\""))) << "200 bytes at 800G take as long as 100 at 400G";
}

TEST(ReportPage, WhatIsNoDocumentIsRefused) {
  const Fabric fabric = small();
  EXPECT_THAT(refused("nothing"), HasSubstr("test.json"));
  EXPECT_THAT(refused("[]"), HasSubstr("no document of weft"));
  EXPECT_THAT(refused("{\"schema\":7}"), HasSubstr("no document of weft"));
  EXPECT_THAT(refused("{\"schema\":\"weft.diagnosis/9\"}"),
              HasSubstr("and this weft knows weft.diagnosis/1"));
  EXPECT_THAT(refused("{\"schema\":\"weft.diagnosis/1\"}"), HasSubstr("test.json"));
  const auto other = make_clos({.name = "other", .leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  EXPECT_THAT(refused(document(fabric, "leaf1--spine2"), {&other}), HasSubstr("not of other"));
  EXPECT_THAT(refused(document(fabric, "leaf1--spine2"), {&fabric, &fabric}), HasSubstr("is of one fabric"));
}

TEST(ReportPage, DeepAndWideDocumentsEnd) {
  std::string deep = R"({"schema":"weft.x/1","a":)";
  for (int i = 0; i < 300; ++i) deep += "{\"a\":";
  deep += "1" + std::string(301, '}');
  const auto made = report_page(deep, "deep.json");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_LT(made->size(), 200'000U);
  EXPECT_THAT(*made, HasSubstr("...")) << "what is deeper is cut";
  std::string wide = R"({"schema":"weft.x/1","rows":[{"a":1})";
  for (int i = 0; i < 20'000; ++i) wide += ",{\"a\":1}";
  const auto page_of_wide = report_page(wide + "]}", "wide.json");
  ASSERT_TRUE(page_of_wide);
  EXPECT_LT(page_of_wide->size(), 200'000U);
  EXPECT_THAT(*page_of_wide, HasSubstr("The first 500 of 20001"));
}

TEST(ReportInBrowser, OpensOfflineFindsALinkAndAsksForNothing) {
  if (!Browser::is_there()) GTEST_SKIP() << "no chromium or chromedriver";
  const Fabric fabric = small();
  const auto opened = OpenedReport::of(page(fabric, document(fabric, "leaf1--spine2")));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->browser().console(), "");
  EXPECT_THAT(opened->told(), HasSubstr("leaf1--spine2"));
  ASSERT_TRUE(opened->browser().type("/"));
  ASSERT_TRUE(opened->browser().type("leaf1--spine2"));
  ASSERT_TRUE(opened->browser().press(kEnter));
  EXPECT_TRUE(opened->browser().waits_for("return document.body.dataset.ready.startsWith('link=leaf1')"));
  EXPECT_THAT(opened->told(), HasSubstr("degraded"));
  EXPECT_THAT(opened->told(), HasSubstr("24 of 2,468"));
  EXPECT_EQ(opened->browser().script("return performance.getEntriesByType('resource').length"), 0)
      << "nothing was asked for";
  opened->browser().script("document.getElementById('heat').scrollIntoView(); return true");
  EXPECT_TRUE(opened->browser().waits_for("return document.body.dataset.pairs === 'drawn'"));
  opened->browser().script(
      "document.querySelectorAll('button').forEach((b) => ['CSV', 'SVG'].includes(b.textContent) && "
      "b.click())");
  EXPECT_EQ(opened->browser().console(), "") << "charts and tables are saved without a breach of the policy";
}

TEST(ReportInBrowser, AnAuditTellsWhichCablesCarryMoreThanAnEvenShare) {
  if (!Browser::is_there()) GTEST_SKIP() << "no chromium or chromedriver";
  const Fabric fabric = small();
  const auto opened = OpenedReport::of(page(
      fabric,
      audit(fmt::format(R"("queue_pairs":7,"ways":[{},{}])", way_over("spine1", 5), way_over("spine2", 2)))));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->browser().console(), "");
  EXPECT_EQ(
      opened->browser().script("return document.querySelector('.legend').innerText.split('\\n').join('')"),
      "carries no more than an even sharecarries more than an even sharecarries nothing");
  EXPECT_THAT(opened->told(), HasSubstr("spine1->leaf2: 1.250 times an even share"));
  ASSERT_TRUE(opened->browser().type("/"));
  ASSERT_TRUE(opened->browser().type("leaf1--spine1"));
  ASSERT_TRUE(opened->browser().press(kEnter));
  EXPECT_TRUE(opened->browser().waits_for("return document.body.dataset.ready.startsWith('link=leaf1')"));
  EXPECT_THAT(opened->told(),
              HasSubstr("leaf1 to spine1 carries more than an even share, back carries nothing"));
  EXPECT_THAT(opened->told(), HasSubstr("1.250 times an even share"));
}

TEST(ReportInBrowser, AFabricOf24576NicsIsSmallAndSoonDrawn) {
  if (!Browser::is_there()) GTEST_SKIP() << "no chromium or chromedriver";
  const auto fabric =
      make_pod_clos(
          {.name = "hall", .pods = 24, .leaves = 32, .spines = 32, .cores = 1024, .hosts_per_leaf = 32})
          .value();
  ASSERT_EQ(fabric.hosts().size(), 24'576U);
  const auto html = page(fabric, document(fabric, fabric.name_of(LinkId(30'000))));
  EXPECT_LT(html.size(), 5'000'000U);
  const auto opened = OpenedReport::of(html);
  ASSERT_TRUE(opened);
  const double drawn = opened->browser().script("return globalThis.weftReport.drawnAt").get<double>();
  RecordProperty("html_24576_mb", std::to_string(static_cast<double>(html.size()) / 1e6));
  RecordProperty("html_24576_s", std::to_string(drawn / 1e3));
  EXPECT_GT(drawn, 0);
  opened->browser().script("location.hash = 'pod=3'; return true");
  EXPECT_TRUE(opened->shows("pod=3"));
  EXPECT_THAT(opened->told(), HasSubstr("pod 3"));
  EXPECT_EQ(opened->browser().console(), "");
}

}  // namespace
}  // namespace weft::web
