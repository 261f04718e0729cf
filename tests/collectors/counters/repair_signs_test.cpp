#include "collectors/counters/repair_signs.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectors/counters/counter_file.hpp"
#include "topology/model/clos.hpp"

namespace weft::counters {
namespace {

using std::chrono::hours;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// All ports of switches tell of a module and of corrected codewords; those of spine1/p1 are as given.
class RepairSignsTest : public ::testing::Test {
 protected:
  struct Odd {
    double sent = 1, received = 0.5;  // milliwatts
    std::uint64_t corrected = 1000;
    const char* serial = "S1";
    const char* part = "P";
    bool copper = false;
  };

  void read(const std::string& port, int hour, const Odd& odd) {
    text_ += fmt::format(
        R"({{"at":"1970-01-01T0{}:00:00Z","port":"{}","counters":{{"fec_corrected":{}}},)"
        R"("module":{{"form":"OSFP","part":"{}","serial":"{}","copper":{},"celsius":45,"tx_mw":[{},{}],"rx_mw":[{},{}],)"
        R"("bias_ma":[40,null]}}}})"
        "\n",
        hour, port, odd.corrected * static_cast<std::uint64_t>(hour), odd.part, odd.serial, odd.copper,
        odd.sent, 1.1, odd.received, 0.6);
  }

  RepairSurvey survey(const Odd& odd) { return survey(odd, {}); }
  RepairSurvey survey(const Odd& odd, const Odd& usual) {
    text_ = "{\"schema\":\"weft.counters/1\",\"source\":\"file\"}\n";
    for (int hour = 1; hour <= 3; ++hour)
      for (std::uint32_t p = 0; p < fabric_.port_count(); ++p) {
        const auto name = fabric_.name_of(PortId(p));
        if (fabric_.is_host(fabric_.port(PortId(p)).node)) continue;
        read(name, hour, name == "spine1/p1" ? odd : usual);
      }
    table_ = CounterTable();
    EXPECT_TRUE(read_counter_file(fabric_, text_, "file", "", hours(9), table_));
    EXPECT_THAT(table_.refused.first, IsEmpty());
    return {fabric_, table_};
  }

  /// What spine1/p1 is beside all others, after `source` has told of it in the hours up to `last` too.
  EndSigns with_another(const std::string& source, int last, const Odd& odd) {
    survey({.corrected = 1'000'000});
    text_ = fmt::format("{{\"schema\":\"weft.counters/1\",\"source\":\"{}\"}}\n", source);
    for (int hour = last > 3 ? 4 : 1; hour <= last; ++hour) read("spine1/p1", hour, odd);
    EXPECT_TRUE(read_counter_file(fabric_, text_, "file", "", hours(9), table_));
    return RepairSurvey(fabric_, table_).signs(into_).to;
  }

  Fabric fabric_ = make_clos({.leaves = 4, .spines = 2, .hosts_per_leaf = 2}).value();
  ChannelId into_ = fabric_.find_channel("leaf1->spine1").value();
  CounterTable table_;
  std::string text_;
};

TEST_F(RepairSignsTest, AreWhatOnePortMeasuresBesideItsPeers) {
  const auto found = survey({.received = 0.05, .corrected = 1'000'000}).signs(into_);
  EXPECT_NEAR(found.to.received_db.value(), -10, 0.1);
  EXPECT_NEAR(found.to.errors.value(), 3, 0.01);
  EXPECT_NEAR(found.to.sent_db.value(), 0, 0.01);
  EXPECT_NEAR(found.to.bias.value(), 0, 1e-6);
  EXPECT_NEAR(found.from.received_db.value(), 0, 0.01);
  EXPECT_EQ(found.to.neighbours_bad, 0);
  EXPECT_EQ(found.to.touched, false);
  EXPECT_EQ(survey({.corrected = 1'000'000}).worse(fabric_.find_link("leaf1--spine1").value()), into_);
}

TEST_F(RepairSignsTest, NoLightIsTheLeastThatModulesMeasure) {
  EXPECT_NEAR(survey({.received = 0}).signs(into_).to.received_db.value(), -37, 0.1);
}

TEST_F(RepairSignsTest, AnotherSerialIsAModuleThatWasTouched) {
  EXPECT_EQ(with_another("file", 4, {.serial = "S2"}).touched, true);
  EXPECT_EQ(with_another("file", 4, {.serial = " S1 "}).touched, false);
  EXPECT_EQ(with_another("other", 3, {.serial = "S2"}).touched, false) << "sources are not compared";
}

TEST_F(RepairSignsTest, OneReadingOfASerialDoesNotSayThatNobodyTouchedIt) {
  text_ = "{\"schema\":\"weft.counters/1\"}\n";
  read("spine1/p1", 1, {});
  ASSERT_TRUE(read_counter_file(fabric_, text_, "file", "", hours(9), table_));
  EXPECT_FALSE(RepairSurvey(fabric_, table_).signs(into_).to.touched);
}

TEST_F(RepairSignsTest, AFewErrorsAreNoneAboveThoseOfPeers) {
  const auto few = survey({.corrected = 2}, {.corrected = 1}).signs(into_);
  EXPECT_FALSE(few.to.errors);
  EXPECT_EQ(few.from.neighbours_bad, 0);
  EXPECT_GT(survey({.corrected = 1'000'000}, {.corrected = 1}).signs(into_).to.errors, 4);
}

TEST_F(RepairSignsTest, SourcesThatContradictEachOtherTellNoErrors) {
  EXPECT_FALSE(with_another("other", 3, {.corrected = 1}).errors);
  EXPECT_TRUE(with_another("other", 3, {.corrected = 900'000}).errors);
}

TEST_F(RepairSignsTest, LightIsNotComparedWithThatOfOtherParts) {
  const auto alone = survey({.received = 0.05, .part = "Q"}).signs(into_);
  EXPECT_FALSE(alone.to.received_db);
  EXPECT_FALSE(alone.to.bias);
  EXPECT_TRUE(alone.to.errors);
}

TEST_F(RepairSignsTest, AreThoseOfOnePartWhereTheCableIsCopper) {
  EXPECT_TRUE(survey({.copper = true}).signs(into_).one_part);
  EXPECT_FALSE(survey({}).signs(into_).one_part);
}

TEST_F(RepairSignsTest, ADirectionIsWorseByAMargin) {
  EXPECT_FALSE(survey({.corrected = 2000}).worse(fabric_.find_link("leaf1--spine1").value()));
}

TEST_F(RepairSignsTest, SayWhatIsMissing) {
  const auto found = survey({});
  EXPECT_THAT(found.missing(into_), IsEmpty());
  const auto up = fabric_.find_channel("host1->leaf1").value();
  EXPECT_THAT(found.missing(up), ElementsAre("the module at host1/p1"));
  EXPECT_FALSE(found.signs(up).from.errors);
}

TEST_F(RepairSignsTest, AModuleOfALineThatCannotBeIsARemark) {
  const std::string wrong =
      "{\"schema\":\"weft.counters/1\"}\n"
      R"({"at":"1970-01-01T01:00:00Z","port":"spine1/p1","counters":{"frames_in":1}})"
      "\n"
      R"({"at":"1970-01-01T02:00:00Z","port":"spine1/p1","counters":{"frames_in":1},"module":{"rx_mw":[-1]}})";
  CounterTable table;
  ASSERT_TRUE(read_counter_file(fabric_, wrong, "file", "", hours(9), table));
  EXPECT_EQ(table.refused.count, 1u);
  EXPECT_THAT(table.modules, IsEmpty());
}

}  // namespace
}  // namespace weft::counters
