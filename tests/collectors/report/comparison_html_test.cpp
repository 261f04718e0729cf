#include "collectors/report/comparison_html.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sodium.h>

#include <array>

#include "topology/base/html_page.hpp"

namespace weft::report {
namespace {

using compare::Design;
using compare::MeasuredFlow;
using compare::MeasuredRun;
using compare::Run;
using testing::HasSubstr;
using testing::Not;

std::string base64(std::span<const unsigned char> bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) { return at < bytes.size() ? bytes[at] : 0U; };
    const unsigned three = byte(i) << 16U | byte(i + 1) << 8U | byte(i + 2);
    for (const unsigned shift : {18U, 12U, 6U, 0U}) text += kLetters[three >> shift & 63U];
  }
  const std::size_t filled = bytes.size() % 3 == 0 ? 0 : 3 - bytes.size() % 3;
  text.replace(text.size() - filled, filled, std::string(filled, '='));
  return text;
}

/// Two hosts under each of two leaves; flows over the spine get `rate`, and the cable is named.
MeasuredRun measured(double rate, const std::string& named) {
  MeasuredRun run{.name = "run",
                  .pattern = "all-pairs",
                  .channels = {},
                  .flows = {},
                  .trips = {},
                  .culprits = {},
                  .line_rate = 50e6};
  run.channels = {"h1->leaf1", "leaf1->spine1", "spine1->leaf2", "leaf2->h3"};
  run.flows = {
      {.round = 0, .src = "h1", .dst = "h3", .path = {0, 1, 2, 3}, .wanted = 47e6, .delivered = rate}};
  if (!named.empty()) run.culprits = {{.place = named, .cause = Cause::rate, .value = 0.5, .channels = {1}}};
  return run;
}

std::string html(const std::string& named, const std::string& side = "b.yaml") {
  std::vector<MeasuredRun> of_a, of_b;
  std::vector<Run> a, b;
  for (int i = 0; i < 12; ++i) {
    of_a.push_back(measured(47e6 + 1e4 * i, ""));
    of_b.push_back(measured(25e6 + 1e4 * i, named));
    a.push_back(run_of(of_a.back()));
    b.push_back(run_of(of_b.back()));
  }
  const auto comparison = compare::compare(a, b, {.design = Design::blocks}).value();
  const ComparedFabrics fabrics{.a = "a.yaml",
                                .b = side,
                                .reasons = compare::reasons_of(of_a, of_b, comparison),
                                .named_a = {},
                                .named_b = compare::named_places(of_b),
                                .runs = 12,
                                .of_a = of_a,
                                .of_b = of_b,
                                .remarks = {},
                                .slow_b = {{"flows from " + named, 0.5}},
                                .congestion = {{"np_cnp_sent", 1, 900, true}},
                                .not_told = compare::not_told(of_a, of_b)};
  return comparison_html({comparison, a, b, &fabrics}, {});
}

TEST(ComparisonHtml, ThePolicyNamesTheHashOfTheStyleSheet) {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(html_style().data()),
                     html_style().size());
  EXPECT_EQ(html_style_hash(), "sha256-" + base64(digest));
  const auto page = html("leaf1--spine1");
  EXPECT_THAT(page, HasSubstr("style-src '" + std::string(html_style_hash()) + "'"));
  EXPECT_THAT(page, HasSubstr("img-src data:"))
      << "for the empty icon: else the console tells of a violation";
  EXPECT_THAT(page, HasSubstr("<style>" + std::string(html_style()) + "</style>"));
}

TEST(ComparisonHtml, NothingRunsAndNothingIsAskedFor) {
  const auto page = html("leaf1--spine1");
  for (const char* none : {"<script", " style=", "http-equiv=\"refresh", "url(", "<img", " on", "@import"})
    EXPECT_THAT(page.substr(page.find("</style>")),
                Not(HasSubstr(none == std::string(" on") ? " onload=" : none)));
  std::string rest = page;
  for (std::size_t at = 0; (at = rest.find("http://www.w3.org/2000/svg")) != std::string::npos;)
    rest.erase(at, 26);
  EXPECT_THAT(rest, Not(HasSubstr("http:")));
  EXPECT_THAT(rest, Not(HasSubstr("https:")));
}

TEST(ComparisonHtml, TheVerdictComesFirstAndTheCableIsNamedAndDrawn) {
  const auto page = html("leaf1--spine1");
  const auto body = page.substr(page.find("<body>"));
  EXPECT_LT(body.find("A and B differ"), body.find("<h2>"));
  EXPECT_THAT(body, HasSubstr("mostly by cables, B: leaf1--spine1 (rate)"));
  EXPECT_THAT(body, HasSubstr("1 cable named (dashed)"));
  EXPECT_THAT(body, HasSubstr("stroke-dasharray"));
  EXPECT_THAT(body, HasSubstr(">spine1</text>"));
  for (const char* chart : {"ratio B/A of each cell", "ratio B/A of each block", "share of the difference"})
    EXPECT_THAT(body, HasSubstr(chart));
}

TEST(ComparisonHtml, NamesFromOutsideAreEscaped) {
  const auto page = html("<script>alert(1)</script>", "b\x1b[31m<b>\"'&.yaml");
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, HasSubstr("b\\x1b[31m&lt;b&gt;&quot;'&amp;.yaml"));
}

TEST(ComparisonHtml, WhatStandsBesideTheLayersIsToldAndEscaped) {
  const auto page = html("<b>leaf1</b>--spine1");
  EXPECT_THAT(page, HasSubstr("slow in B: flows from &lt;b&gt;leaf1"));
  EXPECT_THAT(page, HasSubstr("counted: np_cnp_sent: 1 a second and NIC on A, 900 on B"));
  EXPECT_THAT(page, HasSubstr("not told: A and B: no round trips"));
  EXPECT_THAT(page, Not(HasSubstr("<b>leaf1</b>--")));
}

TEST(ComparisonHtml, RecordedRunsHaveAReportWithoutReasons) {
  const compare::Cell cell{{"all_reduce"}, Bytes(1 << 20), compare::Metric::time};
  std::vector<compare::Run> runs(3);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].cells[cell] = {1e-3 * static_cast<double>(i + 1), 0};
  const auto comparison = compare::compare(runs, runs, {}).value();
  const auto page = comparison_html({comparison, runs, runs}, {});
  EXPECT_THAT(page, HasSubstr("all_reduce, 1 MiB"));
  EXPECT_THAT(page, Not(HasSubstr("<h2>Why")));
  EXPECT_THAT(page, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace weft::report
