// Reports of comparisons: what stands in them, and what a reader of one sees in a real browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "collectors/report/comparison_document.hpp"
#include "collectors/web/report_page.hpp"
#include "tests/support/compared_example.hpp"
#include "tests/support/opened_report.hpp"
#include "topology/base/html_page.hpp"
#include "topology/model/fabric_builder.hpp"

namespace weft::web {
namespace {

using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string document(const ComparedExample& made) { return report::comparison_json(made.runs(), {}); }

std::string page(const std::string& text, const std::vector<const Fabric*>& fabrics) {
  const auto made = report_page(text, "test.json", fabrics);
  EXPECT_TRUE(made) << made.error().message;
  return made.value_or("");
}

std::string refused(const std::string& text, const std::vector<const Fabric*>& fabrics) {
  const auto made = report_page(text, "test.json", fabrics);
  EXPECT_FALSE(made);
  return made ? "" : made.error().message;
}

/// What the script is given.
nlohmann::json data_of(const std::string& html) {
  constexpr std::string_view kBefore = "id=\"data\">";
  const auto from = html.find(kBefore) + kBefore.size();
  return nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
}

std::string base64(std::span<const unsigned char> bytes) {
  std::string text(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  return text.c_str();
}

TEST(ComparisonPage, ThePolicyNamesTheHashOfTheStyleSheet) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(html_style().data()),
                     html_style().size());
  EXPECT_EQ(html_style_hash(), "sha256-" + base64(digest));
  const auto html = page(document(ComparedExample()), {});
  EXPECT_THAT(html, HasSubstr("style-src '" + std::string(html_style_hash()) + "'"));
  EXPECT_THAT(html, HasSubstr("script-src 'sha256-"));
  EXPECT_THAT(html, HasSubstr("img-src data:"))
      << "for the empty icon: else the console tells of a violation";
  EXPECT_THAT(html, HasSubstr("<style>" + std::string(html_style()) + "</style>"));
}

TEST(ComparisonPage, NothingIsAskedFor) {
  const Fabric fabric = ComparedExample::fabric();
  auto html = page(document(ComparedExample()), {&fabric});
  html.erase(html.rfind("<script>"));
  for (const char* none : {" style=", "http-equiv=\"refresh", "url(", "<img", " onload=", "@import"})
    EXPECT_THAT(html.substr(html.find("</style>")), Not(HasSubstr(none)));
  for (std::size_t at = 0; (at = html.find("http://www.w3.org/2000/svg")) != std::string::npos;)
    html.erase(at, 26);
  EXPECT_THAT(html, Not(HasSubstr("http:")));
  EXPECT_THAT(html, Not(HasSubstr("https:")));
}

TEST(ComparisonPage, EachSideHasItsFabricWithWhatSlowsIt) {
  const Fabric fabric = ComparedExample::fabric();
  const auto data = data_of(page(document(ComparedExample()), {&fabric, &fabric}));
  ASSERT_EQ(data["views"].size(), 2U);
  const auto& a = data["views"][0];
  const auto& b = data["views"][1];
  EXPECT_EQ(a["key"], "a");
  EXPECT_TRUE(a.contains("layout"));
  EXPECT_FALSE(b.contains("layout")) << "it is the same";
  const auto letter = [&](const nlohmann::json& view, const char* channel) {
    return view["state"]["channels"].get<std::string>()[fabric.find_channel(channel)->value()];
  };
  EXPECT_EQ(letter(a, "leaf1->spine1"), 'c') << "two flows meet";
  EXPECT_EQ(letter(b, "leaf1->spine1"), 'd') << "the cable is named";
  EXPECT_EQ(letter(b, "spine1->leaf2"), 'c');
  EXPECT_EQ(letter(a, "host1->leaf1"), 'h');
  EXPECT_EQ(letter(b, "leaf2->spine1"), 'n') << "nothing crossed it";
  EXPECT_EQ(a["state"]["incidents"][0]["cause"], "load");
  EXPECT_EQ(b["state"]["incidents"][0]["place"], "leaf1--spine1");
  EXPECT_THAT(b["state"]["incidents"][0]["evidence"][0].get<std::string>(), HasSubstr("in 12 of 12 runs"));
}

TEST(ComparisonPage, OneOfSeveralIsSuspectedAndNoneOfThemIsLeftOut) {
  const Fabric fabric = ComparedExample::fabric();
  const auto b = data_of(page(document(ComparedExample()), {&fabric}))["views"][1];
  const auto suspected = [&](const char* cause) {
    std::set<std::string> names;
    for (const auto& finding : b["state"]["incidents"])
      if (finding["cause"] == cause && finding["state"] == "suspected")
        for (const std::uint32_t channel : finding["channels"])
          names.insert(fabric.name_of(ChannelId(channel)));
    return names;
  };
  EXPECT_THAT(suspected("loss"), ElementsAre("host1->leaf1", "host2->leaf1"));
  EXPECT_THAT(suspected("queueing"), ElementsAre("leaf2->host3", "leaf2->host4"));
}

TEST(ComparisonPage, WhatTheRunsDoNotKnowIsUnknown) {
  auto text = nlohmann::json::parse(document(ComparedExample()));
  text["measured_a"]["unknown"] = {"host1->leaf1", "leaf1->spine1"};
  const Fabric fabric = ComparedExample::fabric();
  const auto state = data_of(page(text.dump(), {&fabric}))["views"][0]["state"];
  const auto letters = state["channels"].get<std::string>();
  EXPECT_EQ(letters[fabric.find_channel("host1->leaf1")->value()], 'u');
  EXPECT_EQ(letters[fabric.find_channel("leaf1->spine1")->value()], 'c') << "more wanted to cross it";
}

TEST(ComparisonPage, AFabricOfOtherCablingLosesNoPlaceSilently) {
  auto text = nlohmann::json::parse(document(ComparedExample()));
  text["named_b"][0]["channels"] = {"leaf1/p9->spine1/p9"};
  text["named_b"].push_back({{"place", "host2"}, {"cause", "rate"}, {"runs", 12}});
  text["named_b"].push_back({{"place", "host4/p1"}, {"cause", "rate"}, {"runs", 12}});
  const Fabric fabric = ComparedExample::fabric();
  const auto html = page(text.dump(), {&fabric});
  const auto letters = data_of(html)["views"][1]["state"]["channels"].get<std::string>();
  EXPECT_EQ(letters[fabric.find_channel("leaf1->spine1")->value()], 'd') << "by the name of its cable";
  EXPECT_EQ(letters[fabric.find_channel("host2->leaf1")->value()], 'd') << "by its host";
  EXPECT_EQ(letters[fabric.find_channel("leaf2->host4")->value()], 'd') << "by its NIC";
  EXPECT_THAT(html, Not(HasSubstr("in this fabric")));
  text["named_b"][0]["place"] = "leaf7--spine9";
  EXPECT_THAT(page(text.dump(), {&fabric}),
              HasSubstr("1 place of the document is not, or not wholly, in this fabric"));
}

TEST(ComparisonPage, WithoutFabricsItSaysHowTheyAreDrawn) {
  const auto html = page(document(ComparedExample()), {});
  EXPECT_THAT(html, HasSubstr("--fabric A.yaml --fabric B.yaml"));
  EXPECT_THAT(html, Not(HasSubstr("<canvas")));
  EXPECT_EQ(data_of(html)["views"].size(), 0U);
}

TEST(ComparisonPage, AFabricForADocumentWithoutChannelsIsSaidToBeDrawnNowhere) {
  auto text = nlohmann::json::parse(document(ComparedExample()));
  text.erase("measured_a"), text.erase("measured_b");
  const Fabric fabric = ComparedExample::fabric();
  EXPECT_THAT(page(text.dump(), {&fabric}),
              HasSubstr("The fabrics are not drawn: the document does not tell"));
  EXPECT_THAT(page(text.dump(), {}), Not(HasSubstr("The fabrics are not drawn")));
  EXPECT_THAT(refused(text.dump(), {&fabric, &fabric, &fabric}), HasSubstr("3 are too many"));
}

TEST(ComparisonPage, NamesForThoseWhoDoNotSeeTellASideFromTheOther) {
  const Fabric fabric = ComparedExample::fabric();
  const auto html = page(document(ComparedExample()), {&fabric});
  for (const char* side : {"A", "B"})
    for (const char* named : {"find a node or link of ", "whole fabric of ", "\"the fabric of "})
      EXPECT_THAT(html, HasSubstr(std::string(named) + side));
}

TEST(ComparisonPage, FabricsOfOthersAreRefused) {
  const auto text = document(ComparedExample());
  const Fabric fabric = ComparedExample::fabric();
  const auto other = make_clos({.name = "other", .leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  EXPECT_THAT(refused(text, {&other}), HasSubstr("A is the fabric site, not other"));
  EXPECT_THAT(refused(text, {&fabric, &other}), HasSubstr("B is the fabric site, not other"));
  EXPECT_THAT(refused(text, {&fabric, &fabric, &fabric}), HasSubstr("3 are too many"));
}

TEST(ComparisonPage, ChannelsThatTheFabricLacksAreDrawnNowhere) {
  auto text = nlohmann::json::parse(document(ComparedExample()));
  text["measured_b"]["crossed"].push_back("nowhere->leaf1");
  text["measured_b"]["loads"].push_back({{"channel", "leaf1->nowhere"}, {"load", 1e30}});
  text["named_b"][0]["place"] = "nowhere--nowhere";
  text["named_b"][0]["channels"] = {"nowhere->nowhere"};
  const Fabric fabric = ComparedExample::fabric();
  const auto html = page(text.dump(), {&fabric});
  const auto data = data_of(html);
  EXPECT_THAT(data["views"][1]["state"]["channels"].get<std::string>(), Not(HasSubstr("d")));
  EXPECT_THAT(html, HasSubstr("2 places of the document are not, or not wholly, in this fabric"));
}

TEST(ComparisonPage, TextFromOutsideIsNoMarkup) {
  ComparedExample made("</script><script>alert(1)</script>", "<b>b\x1b[1m");
  made.fabrics.measured_b->loads.push_back({"<script>alert(2)", 2});
  const Fabric fabric = ComparedExample::fabric();
  const auto html = page(document(made), {&fabric});
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(2)"));
}

TEST(ComparisonPage, AHostileDocumentIsRefusedInASentence) {
  EXPECT_THAT(refused(R"({"schema":"weft.comparison/1"})", {}), HasSubstr("'margin' is missing"));
  EXPECT_THAT(refused(R"({"schema":"weft.comparison/7"})", {}), HasSubstr("this weft knows"));
}

TEST(ComparisonInBrowser, BothFabricsAreSearchedAndOpenedApart) {
  if (!Browser::is_there()) GTEST_SKIP() << "no chromium or chromedriver";
  const Fabric fabric = ComparedExample::fabric();
  const auto opened = OpenedReport::of(page(document(ComparedExample()), {&fabric}));
  ASSERT_TRUE(opened);
  auto& browser = opened->browser();
  EXPECT_EQ(browser.console(), "");
  EXPECT_THAT(opened->told("a"), HasSubstr("congested, load"));
  EXPECT_THAT(
      opened->told("b"),
      ContainsRegex(
          "cables\nleaf1--spine1: degraded, rate.*\n.*one of host1->leaf1, host2->leaf1: degraded, loss"))
      << "the worst first, then what is suspected";
  ASSERT_TRUE(browser.type("/"));
  ASSERT_TRUE(browser.type("host3"));
  ASSERT_TRUE(browser.press(kEnter));
  EXPECT_TRUE(opened->shows("a:node=host3")) << "the first, where none has the keyboard";
  browser.script("document.querySelector('[data-view=b] canvas.view').focus(); return true");
  ASSERT_TRUE(browser.type("/"));
  ASSERT_TRUE(browser.type("leaf1--spine1"));
  ASSERT_TRUE(browser.press(kEnter));
  EXPECT_TRUE(
      browser.waits_for("return document.body.dataset.ready.startsWith('a:node=host3&b:link=leaf1')"));
  EXPECT_THAT(opened->told("a"), HasSubstr("host3: 1 cables"));
  EXPECT_THAT(opened->told("b"), HasSubstr("in 12 of 12 runs"));
  browser.script("document.querySelector('[data-view=b] .up').click(); return true");
  EXPECT_TRUE(opened->shows("a:node=host3"));
  browser.script("document.querySelector('[data-view=b] .place a').click(); return true");
  EXPECT_TRUE(browser.waits_for("return document.body.dataset.ready.includes('b:link=leaf1')"));
  EXPECT_EQ(browser.script("return performance.getEntriesByType('resource').length"), 0)
      << "nothing was asked for";
  EXPECT_EQ(browser.console(), "");
}

TEST(ComparisonInBrowser, AFabricWithoutLinksAndAnAddressThatIsNoneHinderNothing) {
  if (!Browser::is_there()) GTEST_SKIP() << "no chromium or chromedriver";
  const Fabric fabric = ComparedExample::fabric();
  FabricBuilder builder("site", FabricKind::roce);
  ASSERT_TRUE(builder.add_node({.name = "host1", .kind = NodeKind::host, .tier = Tier::host}));
  const auto bare = std::move(builder).build();
  const auto opened = OpenedReport::of(page(document(ComparedExample()), {&bare, &fabric}));
  ASSERT_TRUE(opened);
  auto& browser = opened->browser();
  browser.script("document.querySelector('[data-view=a] canvas.view').click(); return true");
  browser.script("dispatchEvent(new Event('beforeprint')); location.hash = 'b:link=%'; return true");
  EXPECT_TRUE(opened->shows("b:link=%"));
  EXPECT_THAT(opened->told("b"), HasSubstr("cables\nleaf1--spine1: degraded, rate"));
  EXPECT_EQ(browser.console(), "");
}

TEST(ComparisonInBrowser, FabricsOf24576NicsAreSmallAndSoonDrawnAndTheirPodsOpen) {
  if (!Browser::is_there()) GTEST_SKIP() << "no chromium or chromedriver";
  const auto make = [](const char* name, std::uint32_t cores) {
    return make_pod_clos(
               {.name = name, .pods = 24, .leaves = 32, .spines = 32, .cores = cores, .hosts_per_leaf = 32})
        .value();
  };
  const Fabric a = make("hall", 1024), b = make("yard", 512);
  ASSERT_EQ(a.hosts().size(), 24'576U);
  ComparedExample made;
  for (auto [measured, fabric] :
       {std::pair(&made.fabrics.measured_a, &a), std::pair(&made.fabrics.measured_b, &b)}) {
    (*measured)->fabric = fabric->name();
    for (std::uint32_t c = 0; c < fabric->channel_count(); ++c) {
      (*measured)->crossed.push_back(fabric->name_of(ChannelId(c)));
      if (fabric == &b && c % 3 == 0) (*measured)->loads.push_back({fabric->name_of(ChannelId(c)), 1.5});
    }
  }
  const auto html = page(document(made), {&a, &b});
  EXPECT_LT(html.size(), 5'000'000U);
  RecordProperty("html_24576_twice_mb", std::to_string(static_cast<double>(html.size()) / 1e6));
  const auto opened = OpenedReport::of(html);
  ASSERT_TRUE(opened);
  const double drawn = opened->browser().script("return globalThis.weftReport.drawnAt").get<double>();
  RecordProperty("html_24576_twice_s", std::to_string(drawn / 1e3));
  EXPECT_GT(drawn, 0);
  opened->browser().script("location.hash = 'a:pod=3&b:pod=7'; return true");
  EXPECT_TRUE(opened->shows("a:pod=3&b:pod=7"));
  EXPECT_THAT(opened->told("a"), HasSubstr("pod 3"));
  EXPECT_THAT(opened->told("b"), HasSubstr("pod 7"));
  EXPECT_EQ(opened->browser().console(), "");
}

}  // namespace
}  // namespace weft::web
