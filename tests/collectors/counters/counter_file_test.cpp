#include "collectors/counters/counter_file.hpp"

#include <gmock/gmock.h>

#include "topology/base/instant.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr const char* kHead = "{\"schema\":\"weft.counters/1\",\"source\":\"script\"}\n";

Fabric small() { return *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}); }

Result<CounterTable> read(const std::string& text, std::string_view node = {}) {
  const auto fabric = small();
  CounterTable table;
  WEFT_TRY_VOID(
      read_counter_file(fabric, text, "c.jsonl", node, *parse_instant("2026-11-28T05:05:00Z"), table));
  return table;
}

TEST(CounterFile, HasALineForEachPortAndTime) {
  const auto table = read(std::string(kHead) +
                          "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"leaf1/p1\",\"counters\":"
                          "{\"fec_uncorrectable\":3,\"pause_in.3\":7,\"fec_bits\":null}}\n"
                          "{\"at\":\"2026-11-28T05:01:00Z\",\"switch\":\"leaf1\",\"port\":\"1\",\"counters\":"
                          "{\"fec_uncorrectable\":5}}\n\n"
                          "{\"at\":\"2026-11-28T05:01:00Z\",\"host\":\"host1\",\"port\":\"p1\",\"counters\":"
                          "{\"frames_in\":18446744073709551615}}\n");
  ASSERT_TRUE(table) << table.error().message;
  ASSERT_THAT(table->series(), SizeIs(3));
  EXPECT_EQ(to_string(table->series()[0].key), "fec_uncorrectable");
  EXPECT_THAT(table->series()[0].points, SizeIs(2));
  EXPECT_EQ(to_string(table->series()[1].key), "pause_in.3");
  EXPECT_EQ(table->series()[2].points.at(0).value, ~std::uint64_t{0});
  EXPECT_EQ(table->source_name(0), "script");
  EXPECT_EQ(table->refused.count + table->unplaced.count, 0U);
}

TEST(CounterFile, WhatLiesAheadIsARemark) {
  const std::string line =
      "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"leaf1/p1\",\"counters\":{\"frames_in\":3}}\n";
  std::string ahead = line;
  ahead.replace(ahead.find("2026"), 4, "2031");
  const auto table = read(kHead + line + ahead);
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->points(), 1u);
  EXPECT_THAT(table->refused.first, ElementsAre(HasSubstr("'at' is 2031-11-28T05:00:00Z, which lies ahead")));
  EXPECT_THAT(read(kHead + ahead).error().message, HasSubstr("lies ahead"));
}

TEST(CounterFile, WrittenIsReadBack) {
  const auto fabric = small();
  const auto table =
      read(std::string(kHead) +
           "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"leaf1/p1\",\"counters\":{\"fec_bin.3\":1,"
           "\"frames_in\":2}}\n");
  ASSERT_TRUE(table);
  const auto text = write_counter_file(fabric, *table);
  const auto again = read(text);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(write_counter_file(fabric, *again), text);
  EXPECT_EQ(again->points(), 2U);
}

TEST(CounterFile, OfASwitchNeedNotNameIt) {
  const auto table =
      read(std::string(kHead) +
               "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"2\",\"counters\":{\"frames_in\":2}}\n",
           "spine1");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(small().name_of(table->series().at(0).port), "spine1/p2");
}

TEST(CounterFile, ReadingsOfTwoModulesAreOfTwoEpochs) {
  const std::string port = "\"port\":\"leaf1/p1\",\"counters\":{\"frames_in\":2},\"at\":\"2026-11-28T05:0";
  const auto table = read(std::string(kHead) + "{\"serial\":\"A1\"," + port +
                          "0:00Z\"}\n{\"serial\":\"A2\"," + port + "1:00Z\"}\n{" + port + "2:00Z\"}\n");
  ASSERT_TRUE(table);
  const auto& points = table->series().at(0).points;
  EXPECT_NE(points.at(0).epoch, points.at(1).epoch);
  EXPECT_EQ(points.at(2).epoch, 0U);
}

TEST(CounterFile, AReadingWithoutTheModuleIsOfTheOneThatWasTold) {
  const std::string line =
      "{\"boot\":\"b\",\"port\":\"leaf1/p1\",\"counters\":{\"frames_in\":2},\"at\":\"2026-11-28T05:0";
  const std::string other =
      "{\"boot\":\"c\",\"port\":\"leaf1/p1\",\"counters\":{\"frames_in\":2},\"at\":\"2026-11-28T05:0";
  auto table =
      read(std::string(kHead) + line + "0:00Z\"}\n" + line +
           "1:00Z\",\"module\":{\"serial\":\"A1\"},\"fec\":\"RS\"}\n" + line + "2:00Z\",\"fec\":null}\n" +
           line + "3:00Z\",\"module\":{\"serial\":\"A2\"}}\n" + other + "4:00Z\"}\n");
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->refused.count, 0u);
  table->fill_serials();
  const auto words = table->epoch_words();
  std::string serials;
  for (const CounterPoint& point : table->series().at(0).points)
    serials += words.at(point.epoch).serial + " ";
  EXPECT_EQ(serials, "A1 A1 A1 A2  ") << "of another boot nothing is known";
  EXPECT_EQ(table->fec_modes.begin()->second.mode, "RS");
}

TEST(CounterFile, LinesThatCannotBeAreNamedAndTheRestIsUsed) {
  const std::string at = "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"leaf1/p1\",\"counters\":";
  const auto table =
      read(std::string(kHead) + at + "{\"frames_in\":1.5}}\n" + at + "{\"frames_in\":-1}}\n" + at +
           "{\"frames\":1}}\n" + at + "[1]}\n" + "{\"port\":\"leaf1/p1\",\"counters\":{}}\n" +
           "{\"at\":\"tomorrow\"}\nhalf a li\n" + at + "{\"frames_in\":1}}\n" +
           "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"leaf9/p1\",\"counters\":{\"frames_in\":1}}\n" +
           std::string(100'000, '['));
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->points(), 1U);
  EXPECT_EQ(table->refused.count, 8U);
  EXPECT_EQ(table->unplaced.count, 1U);
  EXPECT_THAT(table->refused.first.at(0), HasSubstr("c.jsonl:2: "));
}

TEST(CounterFile, LinesBehindAHeaderThatCannotBeReadAreNotTakenForThoseOfTheOneBefore) {
  const std::string line =
      "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"p1\",\"counters\":{\"frames_in\":1}}\n";
  const auto head = [](const char* leaf) {
    return std::string("{\"schema\":\"weft.counters/1\",\"switch\":\"") + leaf + "\"}\n";
  };
  for (const char* wrong : {"{\"schema\":\"weft.counters/1\",\"switch\":\"leaf2\",\"at\":\"yesterday\"}\n",
                            "{\"schema\":\"weft.counters/2\",\"switch\":\"leaf2\"}\n",
                            "{\"schema\":\"weft.counters/1\",\"switch\":\"le\n"}) {
    const auto table = read(head("leaf1") + line + wrong + line + head("leaf2") + line);
    ASSERT_TRUE(table);
    EXPECT_EQ(table->points(), 2U) << wrong;
    EXPECT_EQ(table->refused.count, 2U) << wrong;
  }
}

TEST(CounterFile, WithoutAReadingOfUseIsAnErrorThatSaysWhy) {
  EXPECT_THAT(read("").error().message, HasSubstr("no reading"));
  EXPECT_THAT(read("{\"schema\":\"weft.counters/2\"}\n").error().message, HasSubstr("weft.counters/1"));
  const auto other =
      read(std::string(kHead) +
           "{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"\\u001b[2Jx\",\"counters\":{\"frames_in\":1}}\n");
  EXPECT_THAT(other.error().message, HasSubstr("x"));
  EXPECT_TRUE(is_harmless(other.error().message));
}

TEST(CounterKeys, AreReadBackAndHaveTheIndexTheyCanHave) {
  for (std::size_t i = 0; i < kPortCounters; ++i) {
    CounterKey key{.counter = static_cast<PortCounter>(i)};
    if (facts(key.counter).index != CounterIndex::none) key.index = 3;
    EXPECT_EQ(parse_counter_key(to_string(key)), key) << to_string(key);
    EXPECT_FALSE(facts(key.counter).proves.empty());
  }
  for (const auto* wrong :
       {"", "frames_in.1", "fec_bin", "fec_bin.32", "pause_in.8", "pause_in.", "pause_in.-1"})
    EXPECT_FALSE(parse_counter_key(wrong)) << wrong;
}

TEST(Counts, OutOfFloatingPointNumbersAreWhole) {
  EXPECT_EQ(*count_of(9007199254740992.0), 9007199254740992U);
  for (const double wrong : {std::nan(""), -1.0, 0.5, HUGE_VAL, -HUGE_VAL, 18446744073709551616.0})
    EXPECT_FALSE(count_of(wrong)) << wrong;
}

}  // namespace
}  // namespace weft::counters
