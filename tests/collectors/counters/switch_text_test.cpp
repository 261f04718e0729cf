#include "collectors/counters/switch_text.hpp"

#include <gmock/gmock.h>

#include "topology/base/outside_text.hpp"
#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using ::testing::HasSubstr;

struct Read {
  std::map<std::string, std::uint64_t> values;  // "leaf1/p1 frames_in"
  std::size_t refused, unplaced;
  SwitchForm form;
};

Result<Read> read(std::string_view text, std::string_view node = "leaf1") {
  const auto fabric = *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2});
  CounterTable table;
  WEFT_TRY(const auto form,
           read_switch_text(fabric, text, "answer", node, std::chrono::hours(500'000), table));
  Read read{.values = {}, .refused = table.refused.count, .unplaced = table.unplaced.count, .form = form};
  for (const auto& series : table.series())
    read.values[fabric.name_of(series.port) + " " + to_string(series.key)] = series.points.at(0).value;
  return read;
}

TEST(SwitchText, OfSonicsDatabaseFindsPortsByTheirObjects) {
  // The names of COUNTERS_DB as SONiC's own tests have them; redis-cli gives values as text.
  const auto got =
      read(R"({"COUNTERS_PORT_NAME_MAP": {"p1": "oid:0x1000000000012", "p2": "oid:0x13", "p9": "oid:0x14"},
    "COUNTERS:oid:0x1000000000012": {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "41", "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES": "3",
      "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S7": "2", "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S99": "2", "SAI_PORT_STAT_PFC_3_RX_PKTS": "x"},
    "COUNTERS:oid:0x14": {"SAI_PORT_STAT_IF_IN_OCTETS": "1"}})");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->form, SwitchForm::sonic_db);
  EXPECT_EQ(got->values,
            (std::map<std::string, std::uint64_t>{
                {"leaf1/p1 frames_in", 41}, {"leaf1/p1 fec_uncorrectable", 3}, {"leaf1/p1 fec_bin.7", 2}}));
  EXPECT_EQ(got->refused, 2U) << "p2 has no counters, and x is no count";
  EXPECT_EQ(got->unplaced, 1U) << "p9 is no port";
}

TEST(SwitchText, OfADumpOfSonicsDatabaseHasAnotherLevel) {
  const auto got = read(R"({"COUNTERS_PORT_NAME_MAP": {"type": "hash", "value": {"p1": "oid:0x1"}},
    "COUNTERS:oid:0x1": {"type": "hash", "value": {"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "41"}}})");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->values.at("leaf1/p1 frames_in"), 41U);
}

TEST(SwitchText, FramesOfSonicAreThoseToOneAndToMany) {
  const auto got = read(R"({"COUNTERS_PORT_NAME_MAP": {"p1": "oid:0x1"}, "COUNTERS:oid:0x1": {
      "SAI_PORT_STAT_IF_IN_UCAST_PKTS": "5", "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS": "2",
      "SAI_PORT_STAT_IF_OUT_UCAST_PKTS": "3", "SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS": "N/A",
      "SAI_PORT_STAT_PFC_3_RX_PKTS": "4", "SAI_PORT_STAT_PFC_8_RX_PKTS": "4"}})");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->values,
            (std::map<std::string, std::uint64_t>{
                {"leaf1/p1 frames_in", 7}, {"leaf1/p1 frames_out", 3}, {"leaf1/p1 pause_in.3", 4}}));
}

TEST(SwitchText, OfPortstatStandsAmongLinesOfItsOwn) {
  // The lines are those of sonic-net/sonic-utilities, pull request 4088, and sonic-buildimage, issue 15439.
  const std::string answer = "{\n    \"p1\": {\n        \"RX_OK\": \"3\"\n    }\n}\n";
  const std::string before = "The rates are calculated within 3 seconds period\n";
  const std::string behind =
      "\nReminder: Please execute 'show interface counters -d all' to include internal links\n\n";
  for (const auto& text : {before + answer, answer + behind, before + answer + behind}) {
    const auto got = read(text);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->values.at("leaf1/p1 frames_in"), 3U);
  }
  EXPECT_FALSE(read(before)) << "no document";
  EXPECT_FALSE(read(answer.substr(0, answer.size() - 3) + behind)) << "cut off";
}

TEST(SwitchText, OfPortstatHasThousandsAndNothingAtAll) {
  const auto got = read(
      R"({"p1": {"STATE": "U", "RX_OK": "1,318,237", "RX_BPS": "0.00 B/s", "RX_ERR": "0", "RX_DRP": "N/A", "TX_OK": "many"}})");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->form, SwitchForm::portstat);
  EXPECT_EQ(got->values, (std::map<std::string, std::uint64_t>{{"leaf1/p1 frames_in", 1'318'237},
                                                               {"leaf1/p1 errors_in", 0}}));
  EXPECT_EQ(got->refused, 1U);
}

TEST(SwitchText, OfNvueStandsUnderTheLink) {
  const auto got =
      read(R"({"p1": {"link": {"state": {"up": {}}, "stats": {"in-pkts": 41, "carrier-transitions": 2},
    "phy-detail": {"symbol-errors": "0", "effective-ber": "15E-255"}}, "type": "swp"}, "lo": {"link": {"stats": {"in-pkts": 1}}}})");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->form, SwitchForm::nvue);
  EXPECT_EQ(got->values,
            (std::map<std::string, std::uint64_t>{
                {"leaf1/p1 frames_in", 41}, {"leaf1/p1 link_events", 2}, {"leaf1/p1 symbol_errors", 0}}));
  EXPECT_EQ(got->unplaced, 1U);
}

TEST(SwitchText, OfOurOwnFormNeedsNoSwitch) {
  const auto got = read(
      "{\"schema\":\"weft.counters/1\"}\n{\"at\":\"2026-11-28T05:00:00Z\",\"port\":\"spine1/"
      "p1\",\"counters\":{\"frames_in\":1}}\n",
      "");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->values.size(), 1U);
}

TEST(SwitchText, OfNoneOfTheseFormsIsAnError) {
  for (const std::string& wrong :
       {std::string(), std::string("[]"), std::string("{}"), std::string("{\"a\":1}"),
        std::string(200'000, '['), std::string("{\"COUNTERS_PORT_NAME_MAP\":3}"),
        std::string("{\"COUNTERS_PORT_NAME_MAP\":{\"p1\":[]}}"), std::string("{\"p1\":{\"RX_OK\":{}}}"),
        std::string("{\"\\u001b[2J\":{\"RX_OK\":\"1\"}}"), std::string("Error: no such switch")}) {
    const auto got = read(wrong);
    ASSERT_FALSE(got) << wrong.substr(0, 80);
    EXPECT_TRUE(is_harmless(got.error().message)) << got.error().message;
  }
  EXPECT_THAT(read(R"({"p1":{"RX_OK":"1"}})", "leaf7").error().message, HasSubstr("leaf7"));
}

}  // namespace
}  // namespace weft::counters
