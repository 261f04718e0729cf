#include "collectors/report/comparison_html.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/report/comparison_document.hpp"
#include "tests/support/compared_example.hpp"

namespace weft::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string html(const std::string& named, const std::string& side = "b.yaml") {
  return comparison_html(ComparedExample(named, side).runs());
}

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ComparisonHtml, TheVerdictComesFirstAndTheCableIsNamed) {
  const auto body = html("leaf1--spine1");
  EXPECT_LT(body.find("A and B differ"), body.find("<h2>"));
  EXPECT_THAT(body, HasSubstr("mostly by cables, B: leaf1--spine1 (rate)"));
  EXPECT_THAT(body, HasSubstr("Named in B: <b>leaf1--spine1"));
  for (const char* chart : {"ratio B/A of each cell", "ratio B/A of each block", "share of the difference",
                            "share of runs that got no more"})
    EXPECT_THAT(body, HasSubstr(chart));
}

TEST(ComparisonHtml, EachChartHasItsTable) {
  const auto body = html("leaf1--spine1");
  EXPECT_GT(count_of(body, "<svg"), 4U);
  for (std::size_t at = body.find("<svg"); at != std::string::npos;) {
    const auto next = body.find("<svg", at + 1);
    EXPECT_THAT(body.substr(at, next - at), HasSubstr("<table>"));
    at = next;
  }
  const auto quantiles = body.substr(body.find("<h2>Quantile functions"));
  EXPECT_THAT(quantiles, HasSubstr("<th class=\"n\">A</th><th class=\"n\">B</th>"));
  EXPECT_THAT(quantiles, HasSubstr(">quotient</th>"));
}

TEST(ComparisonHtml, WhereFlowsMeetStandsInATable) {
  const auto body = html("leaf1--spine1");
  EXPECT_THAT(body,
              HasSubstr("<td>A</td><td>leaf1-&gt;spine1</td><td class=\"n\">1.88 times what it carries"));
  EXPECT_THAT(body, Not(HasSubstr("<td>host1-&gt;leaf1</td>")));
}

TEST(ComparisonHtml, NamesFromOutsideAreEscaped) {
  const auto body = html("<script>alert(1)</script>", "b\x1b[31m<b>\"'&.yaml");
  EXPECT_THAT(body, Not(HasSubstr("<script")));
  EXPECT_THAT(body, Not(HasSubstr("\x1b")));
  EXPECT_THAT(body, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(body, HasSubstr("b\\x1b[31m&lt;b&gt;&quot;'&amp;.yaml"));
}

TEST(ComparisonHtml, WhatStandsBesideTheLayersIsToldAndEscaped) {
  const auto body = html("<b>leaf1</b>--spine1");
  EXPECT_THAT(body, HasSubstr("slow in B: flows from &lt;b&gt;leaf1"));
  EXPECT_THAT(body, HasSubstr("counted: np_cnp_sent: 1 a second and NIC on A, 900 on B"));
  EXPECT_THAT(body, HasSubstr("not told: A and B: no round trips"));
  EXPECT_THAT(body, Not(HasSubstr("<b>leaf1</b>--")));
}

TEST(ComparisonHtml, RecordedRunsHaveAReportWithoutReasons) {
  const compare::Cell cell{{"all_reduce"}, Bytes(1 << 20), compare::Metric::time};
  std::vector<compare::Run> runs(3);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].cells[cell] = {1e-3 * static_cast<double>(i + 1), 0};
  const auto comparison = compare::compare(runs, runs, {}).value();
  const auto body = comparison_html({comparison, runs, runs});
  EXPECT_THAT(body, HasSubstr("all_reduce, 1 MiB"));
  EXPECT_THAT(body, Not(HasSubstr("<h2>Why")));
  EXPECT_THAT(body, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace weft::report
