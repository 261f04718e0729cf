// Documents of comparisons: what is written is read back, and what is hostile is refused in a sentence.
#include "collectors/report/comparison_document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "collectors/report/comparison_html.hpp"
#include "tests/support/compared_example.hpp"
#include "tests/support/schema.hpp"

namespace weft::report {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const files::DocumentStamp kStamp{.tool_version = "1.0"};

std::string example() { return comparison_json(ComparedExample().runs(), kStamp); }

std::string refused(const Json& document) {
  const auto read = parse_comparison(document.dump(), "test.json");
  EXPECT_FALSE(read);
  return read ? "" : read.error().message;
}

/// The example with another value at this place.
Json with(const char* place, Json value) {
  auto document = Json::parse(example());
  document[Json::json_pointer(place)] = std::move(value);
  return document;
}

TEST(ComparisonDocument, WhatIsWrittenIsReadBackAndHasTheSameReport) {
  const ComparedExample made;
  const auto text = comparison_json(made.runs(), kStamp);
  expect_matches_schema(text, "comparison");
  const auto read = parse_comparison(text, "test.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(comparison_json(read->runs(), kStamp), text);
  EXPECT_EQ(comparison_html(read->runs()), comparison_html(made.runs()));
  EXPECT_EQ(read->made, "weft 1.0, 1970-01-01T00:00:00Z");
}

TEST(ComparisonDocument, CellsWhoseNamesHaveNoSizeKeepThem) {
  const compare::Cell cell{{"probes that arrived", "2 hops"}, Bytes(64), compare::Metric::arrived};
  std::vector<compare::Run> runs(3);
  for (std::size_t i = 0; i < runs.size(); ++i) runs[i].cells[cell] = {1 - 1e-3 * static_cast<double>(i), 0};
  runs.emplace_back().name = "without the cell";
  const auto comparison = compare::compare(runs, runs, {}).value();
  const auto text = comparison_json({comparison, runs, runs}, kStamp);
  expect_matches_schema(text, "comparison");
  const auto read = parse_comparison(text, "test.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(cell_name(read->comparison.cells.front().cell), "probes that arrived, 2 hops");
  EXPECT_EQ(comparison_json(read->runs(), kStamp), text);
}

TEST(ComparisonDocument, ReasonsOfAnOlderWeftNameCellsWithCommasThatTheirPartsHad) {
  const compare::Cell cell{{"probes that arrived", "2 hops"}, Bytes(64), compare::Metric::arrived};
  std::vector<compare::Run> runs(4);
  for (compare::Run& run : runs) run.cells[cell] = {1, 0};
  const auto comparison = compare::compare(runs, runs, {}).value();
  const ComparedFabrics fabrics{.a = "a",
                                .b = "b",
                                .reasons = {{.cell = cell, .layers = {}}},
                                .named_a = {},
                                .named_b = {},
                                .measured_a = {},
                                .measured_b = {},
                                .remarks = {}};
  auto document = Json::parse(comparison_json({comparison, runs, runs, &fabrics}, kStamp));
  document["cells"][0].erase("work_parts");
  EXPECT_EQ(document["reasons"][0]["cell"], "probes that arrived, 2 hops");
  const auto read = parse_comparison(document.dump(), "old.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->fabrics->reasons.size(), 1U);
}

TEST(ComparisonDocument, TheWritersExtremesAreRead) {
  const compare::Cell cell{{"all_reduce"}, Bytes(8), compare::Metric::time};
  std::vector<compare::Run> a(6), b(6);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i].cells[cell] = {i == 0 ? 1e-30 : 1.1e-30, 0};
    b[i].cells[cell] = {1e30, 0};
  }
  for (const auto design : {compare::Design::runs, compare::Design::blocks}) {
    const auto comparison = compare::compare(a, b, {.margin = 1e-30, .design = design}).value();
    const auto text = comparison_json({comparison, a, b}, kStamp);
    expect_matches_schema(text, "comparison");
    const auto read = parse_comparison(text, "test.json");
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(comparison_json(read->runs(), kStamp), text);
    EXPECT_THAT(comparison_html(read->runs()), Not(HasSubstr("nan")));
  }
}

TEST(ComparisonDocument, BlocksThatAreAllTheSameHaveAChart) {
  const compare::Cell cell{{"all_reduce"}, Bytes(8), compare::Metric::time};
  std::vector<compare::Run> runs(6);
  for (compare::Run& run : runs) run.cells[cell] = {1, 0};
  const compare::Settings settings{.margin = 1e-30, .design = compare::Design::blocks};
  const auto comparison = compare::compare(runs, runs, settings).value();
  EXPECT_THAT(comparison_html({comparison, runs, runs}), Not(HasSubstr("nan")));
}

TEST(ComparisonDocument, OneOfAnOlderWeftHasWhatItHolds) {
  auto document = Json::parse(example());
  document.erase("measured_a"), document.erase("measured_b");
  for (Json& cell : document["cells"])
    for (const char* side : {"a", "b"}) cell.erase("work_parts"), cell[side].erase("values");
  const auto read = parse_comparison(document.dump(), "old.json");
  ASSERT_TRUE(read) << read.error().message;
  const auto body = comparison_html(read->runs());
  EXPECT_THAT(body, HasSubstr("<h2>Why"));
  EXPECT_THAT(body, HasSubstr("ratio B/A of each block"));
  EXPECT_THAT(body, Not(HasSubstr("<h2>The fabrics")));
  EXPECT_THAT(body, Not(HasSubstr("Quantile functions")));
}

TEST(ComparisonDocument, AVerdictThatItsCellsDoNotGiveIsRefused) {
  EXPECT_THAT(refused(with("/verdict", "equal")),
              HasSubstr("verdict: it says equal, and its cells and runs say differs"));
}

TEST(ComparisonDocument, WhatRunsNamedIsToldWithoutChannelsToo) {
  auto document = Json::parse(example());
  for (const char* member : {"measured_a", "measured_b", "slow_b", "congestion", "not_told"})
    document.erase(member);
  document["reasons"] = Json::array();
  const auto read = parse_comparison(document.dump(), "old.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_THAT(comparison_html(read->runs()), HasSubstr("<h2>Why"));
}

TEST(ComparisonDocument, WhatIsMissingOrOfAnotherTypeIsNamedWithItsPlace) {
  for (const char* member : {"margin", "design", "cells", "tool_version", "incomplete_runs_b", "a", "b",
                             "only_a", "only_b", "remarks", "sentence", "verdict", "generated_at"}) {
    auto lacking = Json::parse(example());
    lacking.erase(member);
    EXPECT_THAT(refused(lacking), HasSubstr(std::string("'") + member + "' is missing"));
  }
  EXPECT_THAT(refused(with("/a", Json::array())), HasSubstr("expected one run at least"));
  EXPECT_THAT(refused(with("/cells", Json::array())), HasSubstr("expected 1 to 20000 cells"));
  EXPECT_THAT(refused(with("/cells", 7)), HasSubstr("test.json"));
  EXPECT_THAT(refused(with("/cells/0/ratio", 0)), HasSubstr("cells[0].ratio: expected a number above 0"));
  EXPECT_TRUE(parse_comparison(with("/cells/0/ratio", 1e60).dump(), "test.json")) << "of 1e30 and 1e-30";
  EXPECT_TRUE(parse_comparison(with("/cells/0/high", nullptr).dump(), "test.json")) << "infinite";
  EXPECT_THAT(refused(with("/cells/0/ratio", "2")), HasSubstr("cells[0].ratio"));
  EXPECT_THAT(refused(with("/cells/0/a/mean", -1)), HasSubstr("cells[0].a.mean"));
  EXPECT_THAT(refused(with("/cells/0/blocks/1", 1e300)), HasSubstr("cells[0].blocks[1]"));
  EXPECT_THAT(refused(with("/cells/0/metric", "speed")), HasSubstr("'speed'"));
  EXPECT_THAT(refused(with("/cells/0/size_bytes", 18446744073709551615U)), HasSubstr("size_bytes"));
  EXPECT_THAT(refused(with("/cells/0/a/values", Json::array({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}))),
              HasSubstr("13 values of 12 runs"));
  EXPECT_THAT(refused(with("/cells/0/blocks", Json::array({1, 1, 1, 1, 1, 1, 1}))),
              HasSubstr("7 blocks of 12 runs"));
  EXPECT_THAT(refused(with("/cells/0/work_parts", Json(std::vector<std::string>(65, "x")))),
              HasSubstr("expected 1 to 64 parts"));
  EXPECT_THAT(refused(with("/cells/0/work_parts/0", std::string(4'001, 'x'))), HasSubstr("4001 bytes"));
  EXPECT_THAT(refused(with("/reasons/0/cell", "none")), HasSubstr("there is no cell 'none'"));
  EXPECT_THAT(refused(with("/named_b/0/cause", "magic")), HasSubstr("'magic'"));
  EXPECT_THAT(refused(with("/measured_a", Json::array())), HasSubstr("measured_a"));
  EXPECT_THAT(refused(with("/schema", "weft.comparison/2")), HasSubstr("weft.comparison/1"));
}

TEST(ComparisonDocument, WhatNoNumberHoldsIsRefused) {
  auto text = example();
  const auto at = text.find("\"margin\": ");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, text.find(',', at) - at, "\"margin\": 1e999");
  const auto read = parse_comparison(text, "test.json");
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("test.json"));
}

TEST(ComparisonDocument, ManyCellsAndManyReasonsAreRefusedAndManyLayersToo) {
  auto many = Json::parse(example());
  const Json cell = many["cells"][0];
  for (int i = 0; i < 20'001; ++i) many["cells"].push_back(cell);
  EXPECT_THAT(refused(many), HasSubstr("expected 1 to 20000 cells"));
  EXPECT_TRUE(parse_comparison(many.dump(), "test.json", kNoLimits)) << "this program wrote it";
  const auto few = parse_comparison(example(), "test.json", {.values = 20});
  ASSERT_FALSE(few);
  EXPECT_THAT(few.error().message, HasSubstr("more values than are read of a file"));
  auto reasons = Json::parse(example());
  const Json reason = reasons["reasons"][0];
  for (int i = 0; i < 20; ++i) reasons["reasons"].push_back(reason);
  EXPECT_THAT(refused(reasons), HasSubstr("reasons: 22 of 2 cells"));
  auto layers = Json::parse(example());
  const Json layer = layers["reasons"][0]["layers"][0];
  for (int i = 0; i < 20; ++i) layers["reasons"][0]["layers"].push_back(layer);
  EXPECT_THAT(refused(layers), HasSubstr("layers: expected 10 at most"));
}

}  // namespace
}  // namespace weft::report
