// `weft diagnose` as a user calls it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands.hpp"
#include "tests/support/command.hpp"
#include "tests/support/observation_text.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

const std::string kFabric = "fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";

/// Every pair of hosts over each spine, both ways; leaf1->spine2 loses one packet in a hundred.
std::string lines() {
  return lines_of_two_leaves(5000, [](int leaf, int spine) { return leaf == 1 && spine == 2 ? 50 : 0; });
}

Outcome diagnosed(const std::string& text, const Arguments& more = {}) {
  const ScratchFile fabric(kFabric);
  const ScratchFile observations(text);
  Arguments words{"--fabric", fabric.path(), "--observations", observations.path()};
  words.insert(words.end(), more.begin(), more.end());
  return call(diagnose_command, words);
}

TEST(Diagnose, NamesTheFaultFromAFileAndUsesWhatIsNotBroken) {
  const auto outcome = diagnosed("nonsense\n" + lines(), {"-o", "json"});
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_TRUE(matches_schema(outcome.out, "diagnosis"));
  // With two leaves whatever goes up from one comes down to the other: a class.
  EXPECT_THAT(outcome.out, HasSubstr(R"("ambiguous":[["leaf1->spine2","spine2->leaf2"]])"));
  EXPECT_THAT(outcome.out, HasSubstr(R"("cut_short":"1 of 17 lines could not be used")"));
  EXPECT_THAT(outcome.err, HasSubstr(":1: "));
  EXPECT_THAT(outcome.err, HasSubstr("1 of 17 lines left out"));
}

TEST(Diagnose, AFileThatSaysNothingIsRefusedInOneSentence) {
  const auto empty = diagnosed("");
  EXPECT_EQ(empty.status, 64);
  EXPECT_THAT(empty.err, HasSubstr("has no line: expected JSON Lines"));
  std::string other;
  for (int i = 0; i < 30; ++i) other += "nonsense\n";
  const auto outcome = diagnosed(other);
  EXPECT_EQ(outcome.status, 64);
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, HasSubstr("has no observation of this fabric: expected JSON Lines"));
  EXPECT_THAT(outcome.err, HasSubstr("line 1: line: not JSON"));
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1);
}

TEST(Diagnose, IsNotHealthyByPartOfItsFile) {
  const std::string sound = lines_of_two_leaves(5000, [](int, int) { return 0; });
  EXPECT_EQ(diagnosed(sound).status, 0);
  for (const std::string bad :
       {"nonsense",
        R"({"path":["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host3"],"sent":9,"lost":99})",
        R"({"path":["host1->leaf1","leaf1->spine9","spine9->leaf2","leaf2->host3"],"sent":9,"lost":9})"}) {
    const auto outcome = diagnosed(bad + "\n" + sound);
    EXPECT_EQ(outcome.status, 3) << bad;
    EXPECT_THAT(outcome.out, HasSubstr("cut short: 1 of 17 lines could not be used"));
    EXPECT_THAT(diagnosed(bad + "\n" + sound, {"--quiet"}).out,
                HasSubstr("; cut short: 1 of 17 lines could not be used"))
        << "who is paged reads this line";
  }
}

TEST(Diagnose, AThinFileManyTimesOverIsStillThinAndThatIsSaid) {
  std::string thin;
  int rows = 0;
  std::istringstream all(lines_of_two_leaves(10, [](int, int) { return 0; }));
  for (std::string line; std::getline(all, line);)
    thin += fmt::format("{},\"window\":{{\"start_us\":{},\"length_us\":9}}}}\n",
                        line.substr(0, line.rfind('}')), ++rows);
  ASSERT_EQ(diagnosed(thin).status, 3);
  std::string often;
  for (int i = 0; i < 1000; ++i) often += thin;
  const auto outcome = diagnosed(often);
  EXPECT_EQ(outcome.status, 3) << outcome.out;
  EXPECT_THAT(outcome.err, HasSubstr(fmt::format("{} of {} lines left out, from line {} on: they repeat",
                                                 999 * rows, 1000 * rows, rows + 1)));
}

TEST(Diagnose, WhatHostsInTheFileCanUseAndNothingCrossedIsUnknown) {
  const std::string one =
      R"({"path":["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host3"],"sent":5000,"lost":0})"
      "\n";
  const auto part = diagnosed(one, {"-o", "json", "--hosts", "host1,host3"});
  EXPECT_EQ(part.status, 3) << part.out;
  EXPECT_THAT(part.out, HasSubstr(R"("missing":["leaf1->host1","host3->leaf2")"));
  std::string both;
  for (const char* spine : {"spine1", "spine2"})
    both += fmt::format(
        R"({{"path":["host1->leaf1","leaf1->{0}","{0}->leaf2","leaf2->host3"],"sent":5000,"lost":0}}
{{"path":["host3->leaf2","leaf2->{0}","{0}->leaf1","leaf1->host1"],"sent":5000,"lost":0}}
)",
        spine);
  const auto unasked = diagnosed(both, {"-o", "json"});
  EXPECT_EQ(unasked.status, 3) << "two of four hosts";
  EXPECT_THAT(unasked.out, HasSubstr(R"({"host":"host2","why":"no line of the observations tells of it"})"));
  EXPECT_EQ(diagnosed(both, {"--hosts", "host1,host9"}).status, 64);
  EXPECT_THAT(diagnosed(both, {"--hosts", "host[1,3]"}).out,
              HasSubstr("nothing found on 6 of 8 links, 2 hosts"));
  const auto whole = diagnosed(both, {"-o", "json", "--hosts", "host1,host3"});
  EXPECT_EQ(whole.status, 0) << whole.out;
  EXPECT_THAT(whole.out, HasSubstr(R"("out_of_scope":4)"));
  EXPECT_THAT(whole.out, HasSubstr(R"("paths":4)"));
}

TEST(Diagnose, WhatWasAskedForAndIsNotShownIsUnknownAndSaid) {
  const std::string sound = lines_of_two_leaves(5000, [](int, int) { return 0; });
  // One flow, whole: of the channels beside its path it says nothing.
  const std::string flow =
      R"({"path":["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host3"],)"
      R"("load":{"round":1,"wanted":390e9,"offered":390e9,"delivered":390e9,"line_rate":400e9}})"
      "\n";
  const auto unasked = diagnosed(sound + flow);
  EXPECT_EQ(unasked.status, 3) << unasked.out;
  EXPECT_THAT(unwrapped(unasked.out), HasSubstr("not tested: delays, rates of 12 channels"));
  EXPECT_THAT(unwrapped(unasked.out), HasSubstr("on those loaded"));
  EXPECT_EQ(diagnosed(sound).status, 0) << "nothing was loaded: of rates it says that they were not tested";
  const auto rate = diagnosed(sound + flow, {"--detect", "rate=25%"});
  EXPECT_EQ(rate.status, 3) << rate.out;
  EXPECT_THAT(unwrapped(rate.out), HasSubstr("12 channels, as leaf1->host1"));
  const auto tolerated = diagnosed(sound, {"--detect", "loss=0.5%", "--tolerate", "loss=1%"});
  EXPECT_EQ(tolerated.status, 3) << tolerated.out;
  EXPECT_THAT(tolerated.out, HasSubstr("fell short: a loss of 0.5 % was asked for"));
  EXPECT_EQ(diagnosed(sound, {"--detect", "loss=0.5%"}).status, 0);
  EXPECT_EQ(diagnosed(sound, {"--detect", "loss=0"}).status, 64);
}

TEST(Diagnose, WhatIsMissingIsAUsageError) {
  EXPECT_EQ(call(diagnose_command, {}).status, 64);
  const ScratchFile fabric(kFabric);
  EXPECT_EQ(call(diagnose_command, {"--fabric", fabric.path(), "--observations", "/nowhere.jsonl"}).status,
            64);
}

/// One leaf with two hosts; GUIDs as `topology discover -o yaml` writes them.
const std::string kSubnet =
    "fabric: s\nkind: infiniband\nnodes:\n"
    "  - {name: host1, kind: host, tier: host, guid: 0x10, port_guids: {1: 0x11}}\n"
    "  - {name: host2, kind: host, tier: host, guid: 0x20, port_guids: {1: 0x21}}\n"
    "  - {name: leaf1, kind: switch, tier: leaf, guid: 0x30}\n"
    "links:\n  - {a: host1/p1, b: leaf1/p1, rate: 200G}\n  - {a: host2/p1, b: leaf1/p2, rate: 200G}\n";
const std::string kDump =
    "switchguid=0x30(30)\nSwitch\t2 \"S-0000000000000030\"\t\t# \"leaf1\" base port 0 lid 6 lmc 0\n"
    "[1]\t\"H-0000000000000010\"[1](11)\t\t# \"host1 mlx5_0\" lid 1 4xHDR\n"
    "[2]\t\"H-0000000000000020\"[1](21)\t\t# \"host2 mlx5_0\" lid 2 4xHDR\n";
const std::string kQueryErrors =
    "Errors for 0x30 \"leaf1\"\n   GUID 0x30 port ALL: [SymbolErrorCounter == 300]\n"
    "   GUID 0x30 port 2: [SymbolErrorCounter == 300] [PortXmitWait == 14681376621 (13.673G)]\n"
    "## Summary: 3 nodes checked, 1 bad nodes found\n";
const std::string kPerfquery =
    "# Port counters: Lid 6 port 2 (CapMask: 0x1300)\nPortSelect:......................2\n"
    "SymbolErrorCounter:..............300\nPortXmitData:....................15264\n";

Outcome diagnosed_counters(std::string_view text, const std::string& dump = "") {
  const ScratchFile fabric(kSubnet);
  const ScratchFile counters(text);
  const ScratchFile lids(dump);
  Arguments words{"--fabric", fabric.path(), "--counters", counters.path(), "-o", "json"};
  if (!dump.empty()) words.insert(words.end(), {"--dump", lids.path()});
  return call(diagnose_command, words);
}

TEST(DiagnoseCounters, OfBothProgramsAreToldOfTheCableThatEntersThePortAndAloneNameNothing) {
  for (const auto& outcome : {diagnosed_counters(kQueryErrors), diagnosed_counters(kPerfquery, kDump)}) {
    EXPECT_EQ(outcome.status, 3) << outcome.out;
    EXPECT_TRUE(matches_schema(outcome.out, "diagnosis"));
    EXPECT_THAT(outcome.out, testing::AllOf(HasSubstr("SymbolErrorCounter of leaf1/p2: 300 of"),
                                            HasSubstr(R"("channel":"host2->leaf1")"),
                                            testing::Not(HasSubstr(R"("host":"host1")"))));
    EXPECT_THAT(outcome.err, HasSubstr("counters of 1 of 4 ports"));
  }
}

TEST(DiagnoseCounters, WithoutAnErrorAreNoVerdictOnAFabricThatNothingCrossed) {
  const auto outcome = diagnosed_counters("   GUID 0x30 port 2: [PortXmitData == 15264]\n");
  EXPECT_EQ(outcome.status, 3) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr(R"("verdict":"unknown")"));
}

TEST(DiagnoseCounters, OfLidsThatNobodyNamesAreAUsageErrorThatSaysWhatHelps) {
  const auto outcome = diagnosed_counters(kPerfquery);
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("nothing tells who has LID 6: --dump"));
  const ScratchFile fabric(kSubnet);
  const ScratchFile dump(kDump);
  const ScratchFile observations(lines());
  const auto alone = call(diagnose_command, {"--fabric", fabric.path(), "--dump", dump.path(),
                                             "--observations", observations.path()});
  EXPECT_EQ(alone.status, 64);
  EXPECT_THAT(alone.err, HasSubstr("needs --counters"));
}

TEST(DiagnoseCounters, OfPortsAndNodesThatTheFileLacksAreLeftOutAndNamed) {
  const auto outcome = diagnosed_counters(
      kQueryErrors +
          "   GUID 0x30 port 40: [SymbolErrorCounter == 300]\n   GUID 0x99 port 1: [PortXmitWait == 3]\n"
          "   GUID 0x0 port 1: [SymbolErrorCounter == 3]\n   GUID 0x30 port 2: [LinkDowned == 3]\n" +
          "   GUID 0x30 port 2: [LinkDownedCounter == 99999999999999999999]\n",
      kDump);
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr("0x30 port 40 is not in the fabric file"),
                                          HasSubstr("0x99 port 1 is not in the fabric file"),
                                          HasSubstr("expected the GUID and the number of one port"),
                                          HasSubstr("expected a number: 'LinkDownedCounter'")));
  const auto none = diagnosed_counters("   GUID 0x99 port 1: [SymbolErrorCounter == 300]\n");
  EXPECT_EQ(none.status, 64) << "of a file that is about another fabric nothing can be said";
  EXPECT_THAT(none.err, HasSubstr("none of 1 readings is of a port of the fabric file"));
}

TEST(DiagnoseCounters, WhereTheFileIsNoneIsAUsageErrorThatShowsNothingRaw) {
  EXPECT_THAT(diagnosed_counters("").err, HasSubstr("no counters: expected the output of perfquery"));
  const std::string binary(
      "\x7f"
      "ELF\0\x1b[2J GUID 0x\n# Port counters: Lid \x1b[31m\xff\n",
      44);
  for (const auto& outcome : {diagnosed_counters(""), diagnosed_counters(binary)}) {
    EXPECT_EQ(outcome.status, 64);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(diagnosed_counters(kPerfquery, "no dump\n").status, 64);
  const ScratchFile fabric(kSubnet);
  EXPECT_EQ(call(diagnose_command, {"--fabric", fabric.path(), "--counters", "/nowhere"}).status, 64);
  const ScratchFile roce(kFabric);
  const ScratchFile counters(kQueryErrors);
  EXPECT_THAT(call(diagnose_command, {"--fabric", roce.path(), "--counters", counters.path()}).err,
              HasSubstr("no counters of a RoCE fabric"));
}

}  // namespace
}  // namespace weft::cli
