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
  };

  void read(const std::string& port, int hour, const Odd& odd) {
    text_ += fmt::format(
        R"({{"at":"1970-01-01T0{}:00:00Z","port":"{}","counters":{{"fec_corrected":{}}},)"
        R"("module":{{"form":"OSFP","part":"P","serial":"{}","celsius":45,"tx_mw":[{},{}],"rx_mw":[{},{}],)"
        R"("bias_ma":[40,null]}}}})"
        "\n",
        hour, port, odd.corrected * static_cast<std::uint64_t>(hour), odd.serial, odd.sent, 1.1, odd.received,
        0.6);
  }

  RepairSurvey survey(const Odd& odd) {
    text_ = "{\"schema\":\"weft.counters/1\",\"source\":\"file\"}\n";
    for (int hour = 1; hour <= 3; ++hour)
      for (std::uint32_t p = 0; p < fabric_.port_count(); ++p) {
        const auto name = fabric_.name_of(PortId(p));
        if (fabric_.is_host(fabric_.port(PortId(p)).node)) continue;
        read(name, hour, name == "spine1/p1" ? odd : Odd{});
      }
    table_ = CounterTable();
    EXPECT_TRUE(read_counter_file(fabric_, text_, "file", "", hours(9), table_));
    EXPECT_THAT(table_.refused.first, IsEmpty());
    return {fabric_, table_};
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
  auto odd = survey({});
  text_ = "{\"schema\":\"weft.counters/1\"}\n";
  read("spine1/p1", 4, {.serial = "S2"});
  ASSERT_TRUE(read_counter_file(fabric_, text_, "file", "", hours(9), table_));
  EXPECT_EQ(RepairSurvey(fabric_, table_).signs(into_).to.touched, true);
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
