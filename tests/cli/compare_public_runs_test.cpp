// `weft compare` over outputs that people published (tests/data/benchmarks, with their sources).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using Json = nlohmann::json;

std::string published(const std::string& name) { return WEFT_SOURCE_DIR "/tests/data/benchmarks/" + name; }

Outcome compared(const std::vector<std::string>& a, const std::vector<std::string>& b,
                 const Arguments& more = {}) {
  Arguments words;
  for (const auto& name : a) words.push_back(published(name));
  words.emplace_back("--with");
  for (const auto& name : b) words.push_back(published(name));
  words.insert(words.end(), more.begin(), more.end());
  return call(compare_command, words);
}

/// Three runs of one setting of NCCL_PROTO; all nine were taken on one machine, in turn.
std::vector<std::string> broadcasts(const std::string& setting) {
  std::vector<std::string> names;
  for (const char* run : {"1", "2", "3"}) names.push_back("broadcast-" + setting + "-" + run + ".txt");
  return names;
}

Json document_of(const Outcome& outcome) {
  expect_matches_schema(outcome.out, "comparison");
  return Json::parse(outcome.out);
}

Json cell_of(const Json& document, const std::string& work, int size) {
  for (const Json& cell : document["cells"])
    if (cell["work"] == work && cell["size_bytes"] == size) return cell;
  ADD_FAILURE() << "no cell " << work << " of " << size << " bytes in " << document;
  return {};
}

constexpr const char* kBroadcast = "broadcast 2 ranks float root 0 out-of-place";
constexpr int kLargest = 128 << 20;

TEST(ComparePublicRuns, ThreeASideGiveAVerdictWithIntervalsAndTheRemarkThatThereWereNoBlocks) {
  const auto outcome = compared(broadcasts("default"), broadcasts("ll"));
  EXPECT_EQ(outcome.status, 1) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, AllOf(StartsWith("A and B differ in "), HasSubstr("A better by "),
                                 HasSubstr("without blocks: what drifted"), HasSubstr("5.516 (")));
  const auto document = document_of(compared(broadcasts("default"), broadcasts("ll"), {"-o", "json"}));
  EXPECT_EQ(document["verdict"], "differs");
  ASSERT_EQ(document["cells"].size(), 36U) << "18 sizes in two placements";
  const auto cell = cell_of(document, kBroadcast, kLargest);
  const double ratio = std::cbrt(194670.0 * 195855 * 196804 / (35562.1 * 35329.1 * 35578.7));
  EXPECT_NEAR(cell["ratio"].get<double>(), ratio, 1e-3);
  EXPECT_EQ(cell["verdict"], "differs");
  EXPECT_EQ(cell["better"], "A");
  EXPECT_GT(cell["low"].get<double>(), ratio * 0.97);
  EXPECT_LT(cell["high"].get<double>(), ratio * 1.03);
}

TEST(ComparePublicRuns, WhereRunsScatterTheVerdictIsUndecidedWithAnInterval) {
  const auto outcome = compared(broadcasts("default"), broadcasts("simple"), {"-o", "json"});
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  const auto document = document_of(outcome);
  const auto small = cell_of(document, kBroadcast, 32 << 10);
  EXPECT_EQ(small["verdict"], "undecided");
  EXPECT_LT(small["low"].get<double>(), 1);
  EXPECT_GT(small["high"].get<double>(), 1);
  const auto large = cell_of(document, kBroadcast, kLargest);
  EXPECT_EQ(large["verdict"], "equal") << large;
  EXPECT_NEAR(large["ratio"].get<double>(), 1.0025, 1e-3);
}

TEST(ComparePublicRuns, OneASideGivesNone) {
  for (const char* b : {"broadcast-ll-1.txt", "broadcast-simple-1.txt", "broadcast-default-2.txt"}) {
    const auto outcome = compared({"broadcast-default-1.txt"}, {b});
    EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
    EXPECT_THAT(outcome.out, AllOf(HasSubstr("undecided: 36 of 36 cells"), HasSubstr("2 more runs a\n"),
                                   HasSubstr("without blocks: what drifted")));
    for (const Json& cell : document_of(compared({"broadcast-default-1.txt"}, {b}, {"-o", "json"}))["cells"])
      EXPECT_FALSE(cell.contains("low") || cell.contains("high")) << cell;
  }
}

// Of these nobody published three a side of the same work: what each says is read, and gives no verdict.
TEST(ComparePublicRuns, JobsOfOtherWorkOrOtherSizesHaveNoCellInCommon) {
  for (const auto& [a, b] : {std::pair("alltoall-2021.txt", "all_reduce-2021.txt"),
                             {"all_reduce-2020.txt", "all_reduce-2021.txt"},  // other sizes
                             {"all_reduce-2021.txt", "all_reduce-2025.txt"},  // other ranks
                             {"ib_write_bw-2023.txt", "ib_write_bw-post-list-2024.txt"},
                             {"ib_write_bw-2023.txt", "ib_write_lat-2023.json"},  // other units
                             {"osu_bibw-ucx-1.11.txt", "all_reduce-2020.txt"}}) {
    const auto outcome = compared({a}, {b});
    EXPECT_EQ(outcome.status, 64) << a << ", " << b << ": " << outcome.out;
    EXPECT_THAT(outcome.err, HasSubstr("no cell is on both sides")) << a;
  }
}

TEST(ComparePublicRuns, AJobThatCountsWrongResultsIsNoEqual) {
  const auto outcome = compared({"all_reduce-2020.txt"}, {"all_reduce-wrong-2024.txt"});
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  EXPECT_THAT(unwrapped(outcome.out), AllOf(HasSubstr("1 row wrong in B"), HasSubstr("the table is cut")));
}

TEST(ComparePublicRuns, OfOsuBandwidthIsTheMoreTheBetter) {
  const auto outcome = compared({"osu_bibw-ucx-1.11.txt"}, {"osu_bibw-ucx-1.12.txt"}, {"-o", "json"});
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  const auto document = document_of(outcome);
  EXPECT_EQ(document["cells"].size(), 10U);
  const auto cell = cell_of(document, "OSU MPI Bi-Directional Bandwidth", 512);
  EXPECT_EQ(cell["unit"], "bit/s");
  EXPECT_NEAR(cell["a"]["values"][0].get<double>(), 355.75 * 8e6, 1);
  EXPECT_NEAR(cell["ratio"].get<double>(), 380.11 / 355.75, 1e-4);
}

}  // namespace
}  // namespace weft::cli
