// Rows that stand in a file of observations twice: left out and counted, where they cannot be new.
#include "topology/files/repeated_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "topology/files/observation_json.hpp"
#include "topology/files/observation_lines.hpp"
#include "topology/model/clos.hpp"

namespace weft::files {
namespace {

Fabric small() { return *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}); }

ReadObservations read(const std::string& text) {
  static const Fabric fabric = small();
  ObservationReader reader(fabric);
  reader.feed(text);
  return std::move(reader).finish();
}

/// A row as sweeps write them, of the `at`-th moment.
std::string row(int at, const std::string& more = "") {
  return fmt::format(
      R"({{"path":["host1->leaf1","leaf1->spine2","spine2->leaf2","leaf2->host3"],"sent":100,"lost":{},)"
      R"("window":{{"start_us":{},"length_us":5}}{}}})"
      "\n",
      at % 3, at, more);
}
std::string load(int round) {
  return fmt::format(
      R"({{"path":["host1->leaf1"],"load":{{"round":{},"wanted":5,"offered":5,"delivered":5}},)"
      R"("window":{{"start_us":1,"length_us":5}}}})"
      "\n",
      round);
}
const std::string kSign = R"({"channel":"leaf1->spine1","cause":"counter","log_ratio":4.5,"text":"errors"})"
                          "\n";

std::string run(int rows, bool numbered) {
  std::string text;
  for (int i = 0; i < rows; ++i) text += row(i, numbered ? fmt::format(",\"row\":{}", i) : "");
  return text;
}

TEST(RepeatedRows, AFileManyTimesOverSaysNoMoreThanOnce) {
  const std::string once = run(50, false) + load(0) + load(1) + kSign;
  std::string often;
  for (int i = 0; i < 120; ++i) often += once;
  const auto result = read(often);
  EXPECT_EQ(result.observations.probes.size(), 50u);
  EXPECT_EQ(result.observations.loads.size(), 2u);
  EXPECT_EQ(result.observations.channels.size(), 1u);
  EXPECT_EQ(result.repeated, 119u * 53);
  EXPECT_EQ(result.first_repeated, 54u);
  EXPECT_EQ(result.broken, 0u);
}

TEST(RepeatedRows, APartOfAFileAgainAndAFileBehindAnotherAreFound) {
  const std::string first = run(50, false);
  const std::string part = first.substr(first.find(row(20)));
  const auto cut = read(first + part);
  EXPECT_EQ(cut.observations.probes.size(), 50u);
  EXPECT_EQ(cut.first_repeated, 51u);
  std::string second;
  for (int i = 100; i < 120; ++i) second += row(i);
  EXPECT_EQ(read(first + second + second + first).observations.probes.size(), 70u);
}

TEST(RepeatedRows, WithNumbersTheOrderDoesNotMatter) {
  const Fabric fabric = small();
  std::vector<std::string> rows;
  for (int i = 0; i < 20; ++i) {
    rows.push_back(row(i, fmt::format(",\"row\":{}", i)));
    rows.push_back(rows.back());
  }
  std::ranges::reverse(rows);
  std::string text;
  for (const std::string& each : rows) text += each;
  const auto result = read(text);
  EXPECT_EQ(result.observations.probes.size(), 20u);
  EXPECT_EQ(result.repeated, 20u);
}

TEST(RepeatedRows, ANumberedFileTwiceOverSaysNoMoreThanOnce) {
  const auto result = read(run(50, true) + run(50, true) + row(50, ",\"row\":50"));
  EXPECT_EQ(result.observations.probes.size(), 51u);
  EXPECT_EQ(result.repeated, 50u);
  EXPECT_EQ(result.first_repeated, 51u);
}

TEST(RepeatedRows, TwoEqualRowsOfOneRunBothCount) {
  EXPECT_EQ(read(row(7) + row(7) + row(8) + row(8)).repeated, 0u);
  const auto numbered = read(row(7, ",\"row\":0") + row(7, ",\"row\":1"));
  EXPECT_EQ(numbered.observations.probes.size(), 2u) << "the run numbered them, so it sent both";
}

TEST(RepeatedRows, OfRowsWithoutATimeNothingIsLeftOut) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += R"({"path":["host1->leaf1"],"sent":10,"lost":0})"
            "\n";
  EXPECT_EQ(read(text).observations.probes.size(), 100u);
}

TEST(RepeatedRows, WhatIsWrittenHasNumbersOfItsOwn) {
  const Fabric fabric = small();
  const std::string written = observation_lines(fabric, read(row(7) + row(7) + load(0) + kSign).observations);
  for (const char* number : {"\"row\":0}", "\"row\":1}", "\"row\":2}", "\"row\":3}"})
    EXPECT_NE(written.find(number), std::string::npos) << written;
  const auto twice = read(written + written);
  EXPECT_EQ(twice.repeated, 4u);
  EXPECT_EQ(observation_lines(fabric, twice.observations), written);
}

TEST(RepeatedRows, ANumberThatIsNoneIsBroken) {
  EXPECT_EQ(read(row(1, ",\"row\":-1") + row(1, ",\"row\":\"a\"")).broken, 2u);
}

}  // namespace
}  // namespace weft::files
