#include "collectors/report/nic_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/schema.hpp"

namespace weft::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

ReportedNic reported_nic(int host, std::string firmware, std::string id = "15b3:1021",
                         std::string driver = "mlx5_core") {
  return {.nic = fmt::format("host{}/p1", host),
          .host = fmt::format("host{}", host),
          .interface = "eth2",
          .driver = std::move(driver),
          .firmware = std::move(firmware),
          .pci = "0000:3b:00.0",
          .pci_id = std::move(id),
          .speed = Bandwidth::gbit(400),
          .module_part = "MMA4Z00",
          .module_serial = fmt::format("S{}", host),
          .agent = "0.9",
          .told = std::chrono::hours(480'000)};
}

NicList three_and_one() {
  return {"roce-a", listed_nics({reported_nic(1, "28.39"), reported_nic(2, "28.39"), reported_nic(3, "28.36"),
                                 reported_nic(4, "28.39"), reported_nic(5, "22.31", "15b3:101d")})};
}

TEST(ListedNics, OnlyOneThatDiffersFromMostOfItsKindIsMarked) {
  const auto nics = three_and_one().nics;
  EXPECT_THAT(nics[0].differs, IsEmpty());
  EXPECT_THAT(nics[2].differs, ElementsAre("firmware 28.36 (most have 28.39)"));
  EXPECT_THAT(nics[4].differs, IsEmpty()) << "another model has firmware of its own";
}

TEST(ListedNics, WithoutAPciIdTheDriverTellsTheKindAndWhatIsNotToldDiffersFromNothing) {
  const auto nics = listed_nics({reported_nic(1, "1", ""), reported_nic(2, "1", ""), reported_nic(3, "", ""),
                                 reported_nic(4, "2", "", "ena")});
  for (const ListedNic& one : nics) EXPECT_THAT(one.differs, IsEmpty());
  EXPECT_THAT(listed_nics({reported_nic(1, "1", "8086:1592", "ice"), reported_nic(2, "1", "8086:1592", "ice"),
                           reported_nic(3, "1", "8086:1592", "ice_oot")})[2]
                  .differs,
              ElementsAre("driver ice_oot (most have ice)"));
}

TEST(ListedNics, OfAsManyOfEachTheGreaterCountsAsThatOfMost) {
  const auto nics = listed_nics({reported_nic(1, "28.36"), reported_nic(2, "28.39")});
  EXPECT_THAT(nics[0].differs, ElementsAre("firmware 28.36 (most have 28.39)"));
  EXPECT_THAT(nics[1].differs, IsEmpty());
}

TEST(NicTable, SaysHowManyDifferOfWhichKindAndMarksTheirRows) {
  const auto text = nic_table(three_and_one(), 200);
  EXPECT_THAT(text, HasSubstr("roce-a: 5 NICs told by standing agents, 1 (*) unlike most of their kind"));
  EXPECT_THAT(text, HasSubstr("differ: 15b3:1021: firmware 28.39 at 3, 28.36 at 1"));
  EXPECT_THAT(text, Not(HasSubstr("differ: 15b3:101d")));
  EXPECT_THAT(text, HasSubstr("*  host3/p1"));
  EXPECT_THAT(text, HasSubstr("MMA4Z00 S2"));
  auto down = reported_nic(6, "28.39");
  down.speed.reset();
  down.firmware = "28\x1b[31m";
  const auto strange = nic_table({"roce-a", listed_nics({down})}, 200);
  EXPECT_THAT(strange, HasSubstr("down"));
  EXPECT_THAT(strange, Not(HasSubstr("\x1b"))) << "what agents say is shown harmless";
}

TEST(NicTable, WithoutAnyNicItSaysSo) { EXPECT_THAT(nic_table({"roce-a", {}}, 80), HasSubstr("0 NICs")); }

TEST(NicJson, MeetsItsSchemaAndLeavesOutWhatIsNotTold) {
  auto list = three_and_one();
  list.nics[0].nic.speed.reset();
  list.nics[0].nic.module_part.clear();
  const auto text = nic_json(list, {UtcTime(std::chrono::seconds(1)), "0.9"});
  expect_matches_schema(text, "inventory");
  const auto document = nlohmann::json::parse(text);
  EXPECT_FALSE(document["nics"][0].contains("bits_per_second"));
  EXPECT_FALSE(document["nics"][0].contains("module_part"));
  EXPECT_EQ(document["nics"][2]["differs"][0], "firmware 28.36 (most have 28.39)");
  EXPECT_FALSE(document["nics"][1].contains("differs"));
}

TEST(NicCsv, HasALineForEachNic) {
  const auto text = nic_csv(three_and_one());
  EXPECT_EQ(std::ranges::count(text, '\n'), 6);
  EXPECT_THAT(text, HasSubstr("host3/p1,host3,eth2,mlx5_core,28.36,0000:3b:00.0,15b3:1021,400000000000,"
                              "MMA4Z00,S3,0.9,"));
  EXPECT_THAT(text, HasSubstr("firmware 28.36 (most have 28.39)"));
}

}  // namespace
}  // namespace weft::report
