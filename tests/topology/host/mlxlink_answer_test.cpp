#include "topology/host/mlxlink_answer.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "topology/host/nic_reader.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Keys and forms of MFT 4.34; values by hand, after a 400G-DR4.
constexpr const char* kAnswer = R"json({"result": {"output": {
  "Operational Info": {"State": "Active", "Speed": "400G"},
  "Physical Counters and BER Info": {"Time Since Last Clear [Min]": "61.2", "Effective Physical Errors": "3",
    "Effective Physical BER": "15E-255", "Raw Physical Errors Per Lane": {"values": ["3183333", "242074", "N/A", "7"]},
    "Raw Physical BER": "1E-8", "Link Down Counter": "2"},
  "Module Info": {"Identifier": "OSFP", "Cable Type": "Optical Module (separated)", "Vendor Name": "NVIDIA",
    "Vendor Part Number": "MMS4X00-NM", "Vendor Serial Number": "MT1", "Temperature [C]": "50 [-5..75]",
    "Voltage [mV]": "3317.5 [3000..3600]", "Bias Current [mA]": "265.504,265.504,248.416,248.416 [40..480]",
    "Rx Power Current [dBm]": "1.5,-40,N/A,0 [-9..7]", "Tx Power Current [dBm]": "0,0,0,0 [-6..7]"}}},
  "status": {"code": 0, "message": "success"}})json";

TEST(MlxlinkAnswer, TellsCountsAndTheModuleAndNoErrorRate) {
  const auto answer = read_mlxlink(kAnswer);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->counts, (NamedCounts{{"mlxlink_symbol_errors", 3},
                                         {"mlxlink_link_down", 2},
                                         {"mlxlink_raw_errors_lane0", 3'183'333},
                                         {"mlxlink_raw_errors_lane1", 242'074},
                                         {"mlxlink_raw_errors_lane3", 7}}));
  const ModuleState& module = answer->module.value();
  EXPECT_EQ(module.part, "MMS4X00-NM");
  EXPECT_FALSE(module.copper || module.aoc);
  EXPECT_EQ(module.celsius, 50);
  EXPECT_NEAR(module.volts.value(), 3.3175, 1e-9);
  ASSERT_THAT(module.lanes, SizeIs(4));
  EXPECT_NEAR(module.lanes[0].rx_mw.value(), 1.4125, 1e-4);
  EXPECT_EQ(module.lanes[1].rx_mw, 0) << "no light";
  EXPECT_FALSE(module.lanes[2].rx_mw);
  EXPECT_EQ(module.lanes[3].bias_ma, 248.416);
}

TEST(MlxlinkAnswer, TakesLanesAsAListAndAsText) {
  const auto of = [](const char* lanes) {
    return read_mlxlink(std::string(R"({"result":{"output":{"Physical Counters and BER Info":)") +
                        R"({"Raw Physical Errors Per Lane":)" + lanes + "}}}}")
        ->counts;
  };
  const NamedCounts expected{{"mlxlink_raw_errors_lane0", 1}, {"mlxlink_raw_errors_lane1", 2}};
  EXPECT_EQ(of(R"(["1","2"])"), expected);
  EXPECT_EQ(of(R"("1,2")"), expected);
  EXPECT_THAT(of("7"), IsEmpty());
}

TEST(MlxlinkAnswer, CopperHasNoLightAndWhatItRefusesIsSaid) {
  const auto copper = read_mlxlink(
      R"({"result":{"output":{"Module Info":{"Cable Type":"Passive copper cable","Rx Power Current [dBm]":"0"}}}})");
  EXPECT_TRUE(copper->module->copper);
  EXPECT_THAT(copper->module->lanes, IsEmpty());
  const auto refused =
      read_mlxlink(R"({"status":{"code":1,"message":"Invalid device\u0007"},"result":null})");
  EXPECT_EQ(refused.error().kind, ErrorKind::not_supported);
  EXPECT_THAT(refused.error().message, HasSubstr("Invalid device\\x07"));
}

TEST(MlxlinkAnswer, NoLightIsNoneHoweverItIsWritten) {
  const auto got = read_mlxlink(
      R"({"result":{"output":{"Module Info":{"Identifier":"QSFP28","Rx Power Current [dBm]":"-inf,-Inf,-40,nan"}}}})");
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_TRUE(got->module);
  ASSERT_EQ(got->module->lanes.size(), 4U);
  for (std::size_t lane = 0; lane < 3; ++lane) EXPECT_EQ(got->module->lanes[lane].rx_mw, 0.0) << lane;
  EXPECT_EQ(got->module->lanes[3].rx_mw, std::nullopt) << "nobody knows";
}

TEST(MlxlinkAnswer, AnythingElseIsAnError) {
  for (const char* text :
       {"", "-E- no such device", "[]", "{}", R"({"result":{"output":3}})", R"({"result":[]})"})
    EXPECT_FALSE(read_mlxlink(text)) << text;
}

TEST(MlxlinkAnswer, AHistogramIsReadWhereItIsToldByOneNumberABin) {
  const auto got = read_mlxlink(R"({"result":{"output":{"Histogram of FEC Errors":{
      "Header":{"values":["Range","Occurrences"]}, "Bin 0":{"values":["[0]","900"]},
      "Bin 1":{"values":["[1:3]","5"]}, "Bin 2":{"values":["[]","5"]}, "Bin 3":{"values":["[4]","many"]},
      "Bin 4":{"values":["[5]"]}, "Bin 5":7, "Bin 6":{"values":["[06]","1"]}}}}})");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->counts, (NamedCounts{{"mlxlink_fec_bin0", 900}}));
}

/// A program in the place of mlxlink, which writes down how it is called.
struct FakeMlxlink {
  os::ScratchDirectory folder = os::ScratchDirectory::make().value();
  std::string program(const std::string& lines) const {
    const auto path = folder.path() / "mlxlink";
    std::ofstream(path) << "#!/bin/sh\necho \"$*\" >>" << (folder.path() / "calls").string() << "\n"
                        << lines << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path.string();
  }
  std::string calls() const {
    std::ifstream file(folder.path() / "calls");
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST(AskMlxlink, AsksForTheHistogramInTheSameCall) {
  const FakeMlxlink fake;
  const auto got = ask_mlxlink("0000:3b:00.0", fake.program(R"(cat <<'END'
{"result":{"output":{"Histogram of FEC Errors":{"Bin 0":{"values":["[0]","900"]}},
 "Physical Counters and BER Info":{"Link Down Counter":"2"}}},"status":{"code":0,"message":"success"}}
END)"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->counts, (NamedCounts{{"mlxlink_fec_bin0", 900}, {"mlxlink_link_down", 2}}));
  EXPECT_EQ(fake.calls(), "-d 0000:3b:00.0 -m -c --rx_fec_histogram --show_histogram --json\n");
}

TEST(AskMlxlink, OfADeviceWithoutAHistogramTellsTheRest) {
  for (const char* refusal :
       {"echo '-E- FEC Histogram is not supported' >&2; exit 1",
        R"(echo '{"status":{"code":1,"message":"no histogram"},"result":null}'; exit 0)"}) {
    const FakeMlxlink fake;
    const auto got = ask_mlxlink(
        "0000:3b:00.0",
        fake.program(
            std::string("case \"$*\" in *histogram*) ") + refusal +
            R"(;; esac; echo '{"result":{"output":{"Physical Counters and BER Info":{"Link Down Counter":"2"}}}}')"));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->counts, (NamedCounts{{"mlxlink_link_down", 2}}));
  }
}

TEST(AskMlxlink, OneThatIsNotThereIsAbsentAndAnAnswerThatIsNoneSaysSo) {
  const FakeMlxlink fake;
  const auto none = ask_mlxlink("0000:3b:00.0", (fake.folder.path() / "nothing").string());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::absent);
  const auto bad = ask_mlxlink("0000:3b:00.0", fake.program("echo '-E- no such device' >&2; exit 1"));
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("no such device"));
}

}  // namespace
}  // namespace weft::host
