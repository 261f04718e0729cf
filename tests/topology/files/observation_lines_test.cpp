// Reading observation lines: what the writer writes comes back; what is broken is named, counted and left
// out.
#include "topology/files/observation_lines.hpp"

#include <gtest/gtest.h>

#include "tests/support/draws.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/files/observation_json.hpp"
#include "topology/model/clos.hpp"

namespace weft::files {
namespace {

Fabric small() { return *make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 2}); }

ReadObservations read(const Fabric& fabric, std::string_view text, std::size_t piece = 1 << 20) {
  ObservationReader reader(fabric);
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) reader.feed(text.substr(0, piece));
  return std::move(reader).finish();
}

const std::string kPath = R"("path":["host1->leaf1","leaf1->spine2","spine2->leaf2","leaf2->host3"])";
const std::string kBack = R"("back":["host3->leaf2","leaf2->spine1","spine1->leaf1","leaf1->host1"])";

std::string line(const std::string& rest) { return "{" + kPath + "," + rest + "}\n"; }

TEST(ObservationLines, AProbeLineIsRead) {
  const Fabric fabric = small();
  const auto result =
      read(fabric, line(R"("sent":100,"lost":3,"bytes":4096,"corrupt":2,"rtt_us":{"p50":81.5,"p99":240})"));
  EXPECT_EQ(result.lines, 1u);
  EXPECT_EQ(result.broken, 0u);
  ASSERT_EQ(result.observations.probes.size(), 1u);
  const Observation& seen = result.observations.probes[0];
  EXPECT_EQ(seen.sent, 100u);
  EXPECT_EQ(seen.lost, 3u);
  EXPECT_EQ(seen.size, Bytes(4096));
  EXPECT_EQ(seen.corrupt, 2u);
  EXPECT_EQ(seen.rtt->p50, Nanoseconds(81500));
  EXPECT_FALSE(seen.back);
  const PathTable& paths = result.observations.paths;
  EXPECT_EQ(paths.channels(paths.paths(seen.path)[0]).size(), 4u);
}

TEST(ObservationLines, WhatTheWriterWritesComesBackTheSame) {
  const Fabric fabric = small();
  const std::string text =
      line("\"sent\":100,\"lost\":3,\"bytes\":128,\"corrupt\":1,\"rtt_us\":{\"p50\":81.5,\"p99\":240}") +
      line(kBack + ",\"sent\":7,\"lost\":0") +
      R"({"paths":[["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host3"],)"
      R"(["host1->leaf1","leaf1->spine2","spine2->leaf2","leaf2->host3"]],"sent":9,"lost":9})"
      "\n" +
      line(
          R"("load":{"round":3,"wanted":50000000,"offered":48000000,"delivered":12000000,"line_rate":51000000,)"
          R"("stalled":true})") +
      R"({"channel":"leaf1->spine1","cause":"counter","log_ratio":4.5,"text":"77 symbol \"errors\""})"
      "\n"
      R"({"count":{"channel":"leaf1->spine1","kind":"codewords","errors":7,"exposure":4.68e10,"frames_per_error":2,)"
      R"("spread":0.5,"window_s":600,"age_s":2.5,"period_s":15,"link_event":true,"source":"leaf1 \"Ethernet1\""}})"
      "\n"
      R"({"host":"host2","nic":"host2","verdict":"failed","cause":"down","text":"its agent died"})"
      "\n";
  const auto first = read(fabric, text);
  EXPECT_EQ(first.broken, 0u) << (first.first_broken.empty() ? "" : first.first_broken[0].message);
  const std::string written = observation_lines(fabric, first.observations);
  const auto second = read(fabric, written);
  EXPECT_EQ(second.broken, 0u);
  EXPECT_EQ(observation_lines(fabric, second.observations), written);
  EXPECT_EQ(second.observations.loads.size(), 1u);
  EXPECT_TRUE(second.observations.loads[0].sender_stalled);
  EXPECT_EQ(second.observations.loads[0].line_rate, Bandwidth::mbit(51));
  EXPECT_EQ(second.observations.channels[0].text, "77 symbol \"errors\"");
  EXPECT_EQ(second.observations.hosts[0].cause, Cause::down);
  ASSERT_EQ(second.observations.counts.size(), 1u);
  const ChannelCount& count = second.observations.counts[0];
  EXPECT_EQ(count.kind, CounterKind::codewords);
  EXPECT_EQ(count.errors, 7u);
  EXPECT_EQ(count.exposure, 4.68e10);
  EXPECT_EQ(count.gain, (CounterGain{2, 0.5}));
  EXPECT_EQ(count.end - count.begin, std::chrono::minutes(10));
  EXPECT_EQ(count.age, std::chrono::milliseconds(2500));
  EXPECT_EQ(count.period, std::chrono::seconds(15));
  EXPECT_TRUE(count.link_event);
  EXPECT_EQ(count.source, "leaf1 \"Ethernet1\"");
}

TEST(ObservationLines, ACountThatCannotBeIsABrokenLine) {
  const Fabric fabric = small();
  const auto of = [](const std::string& members) {
    return R"({"count":{"channel":"leaf1->spine1",)" + members + R"(,"source":"s"}})" + "\n";
  };
  for (const char* members :
       {R"("kind":"lanes","errors":1,"exposure":5,"frames_per_error":1,"spread":0)",
        R"("kind":"frames","errors":-1,"exposure":5,"frames_per_error":1,"spread":0)",
        R"("kind":"frames","errors":1,"exposure":0,"frames_per_error":1,"spread":0)",
        R"("kind":"frames","errors":1,"exposure":1e99,"frames_per_error":1,"spread":0)",
        R"("kind":"frames","errors":1,"exposure":5,"frames_per_error":0,"spread":0)",
        R"("kind":"frames","errors":1,"exposure":5,"frames_per_error":1,"spread":0,"window_s":1e30)",
        R"("kind":"frames","errors":1,"exposure":5,"spread":0)"}) {
    const auto result = read(fabric, of(members));
    EXPECT_EQ(result.broken, 1u) << members;
    EXPECT_TRUE(result.observations.counts.empty()) << members;
  }
}

const std::string kOrder =
    R"("sent":100,"lost":4,"excused":1,"held":9,"window":{"start_us":1500000.25,"length_us":99000},)"
    R"("src":"host1","dst":"host3","label":50000,"runs":[[7,3],[99,1]])";

TEST(ObservationLines, WhenAndInWhichOrderPacketsWereLostIsReadAlikeByScannerAndJson) {
  const Fabric fabric = small();
  const std::string set = R"({"paths":[["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host3"],)"
                          R"(["host1->leaf1","leaf1->spine2","spine2->leaf2","leaf2->host3"]],)";
  const std::string load = R"("load":{"round":3,"wanted":5,"offered":5,"delivered":5})";
  const auto result = read(fabric, line(kOrder) + set + kOrder + "}\n" +
                                       line(load + R"(,"window":{"start_us":1,"length_us":500000})"));
  EXPECT_EQ(result.broken, 0u) << (result.first_broken.empty() ? "" : result.first_broken[0].message);
  ASSERT_EQ(result.observations.probes.size(), 2u);
  for (const Observation& seen : result.observations.probes) {
    EXPECT_EQ(seen.window, (TimeWindow{Nanoseconds(1'500'000'250), Nanoseconds(99'000'000)}));
    EXPECT_EQ(seen.runs, (std::vector<LossRun>{{7, 3}, {99, 1}}));
    EXPECT_EQ(seen.excused, 1u);
    EXPECT_EQ(seen.held, 9u);
    EXPECT_EQ(seen.pair,
              (LabelledPair{*fabric.find_nic("host1"), *fabric.find_nic("host3"), PathLabel(50'000)}));
  }
  EXPECT_EQ(result.observations.loads.at(0).window,
            (TimeWindow{std::chrono::microseconds(1), std::chrono::milliseconds(500)}));
  const std::string written = observation_lines(fabric, result.observations);
  EXPECT_NE(written.find(kOrder.substr(kOrder.find("excused"))), std::string::npos) << written;
  EXPECT_EQ(observation_lines(fabric, read(fabric, written).observations), written);
}

TEST(ObservationLines, AnOrderOfLossesThatContradictsItsCountsIsBroken) {
  const Fabric fabric = small();
  const std::vector<std::pair<std::string, std::string>> broken{
      {R"("sent":10,"lost":2,"excused":3)", "3 excused of 2 lost"},
      {R"("sent":10,"lost":2,"held":2000000000000000)", "more than any run"},
      {R"("sent":10,"lost":2,"runs":[[0,3]])", "3 packets in the runs of 2 lost"},
      {R"("sent":10,"lost":2,"runs":[[9,2]])", "within the 10 sent"},
      {R"("sent":10,"lost":2,"runs":[[5,1],[4,1]])", "ascending"},
      {R"("sent":10,"lost":2,"runs":[[5,1,1]])", "the first packet and how many"},
      {R"("sent":10,"lost":2,"runs":[[5,-1]])", "whole number"},
      {R"("sent":10,"lost":2,"runs":7)", "runs"},
      {R"("sent":10,"lost":2,"src":"host1")", "belong together"},
      {R"("sent":10,"lost":2,"src":"host1","dst":"leaf1","label":1)", "dst"},
      {R"("sent":10,"lost":2,"src":"host1","dst":"host3","label":-1)", "label"},
      {R"("sent":10,"lost":2,"window":{"start_us":1})", "length_us"},
      {R"("sent":10,"lost":2,"window":{"start_us":-1,"length_us":1})", "from 0 to"},
      {R"("sent":10,"lost":2,"window":{"start_us":1e14,"length_us":1})", "from 0 to"}};
  for (const auto& [text, message] : broken) {
    const auto result = read(fabric, line(text));
    ASSERT_EQ(result.broken, 1u) << text;
    EXPECT_NE(result.first_broken[0].message.find(message), std::string::npos)
        << text << ": " << result.first_broken[0].message;
  }
}

TEST(ObservationLines, AFlowThatCannotBeIsBroken) {
  const Fabric fabric = small();  // of 400 Gbit/s
  const auto load = [](std::string_view wanted, std::string_view offered, std::string_view delivered) {
    return line(fmt::format(R"("load":{{"round":0,"wanted":{},"offered":{},"delivered":{}}})", wanted,
                            offered, delivered));
  };
  const std::vector<std::pair<std::string, std::string>> broken{
      {load("380e9", "380e9", "400e9"), "delivered of"},
      {load("100e9", "200e9", "100e9"), "was wanted"},
      {load("900e9", "900e9", "100e9"), "a link of 400G"},
      {load("1e300", "1e300", "1e300"), "from 0 to"},
      {load("5", "5", "5,\"line_rate\":0"), "a line rate of"},
      {load("5", "5", "5,\"line_rate\":900e9"), "a link of 400G"},
      {load("5", "5", "5,\"line_rate\":-1"), "from 0 to"},
      {load("100e9", "100e9", "100e9,\"line_rate\":1"), "a cable built for"},
      {load("0", "1", "1"), "was wanted"}};
  for (const auto& [text, message] : broken) {
    const auto result = read(fabric, text);
    ASSERT_EQ(result.broken, 1u) << text;
    EXPECT_NE(result.first_broken[0].message.find(message), std::string::npos)
        << text << ": " << result.first_broken[0].message;
  }
  const auto fine = read(fabric, load("380e9", "400e9", "400e9") + load("5e7", "4.8e7", "4.9e7") +
                                     load("0", "0", "0") + load("780e9", "780e9", "380e9"));
  EXPECT_EQ(fine.broken, 0u) << (fine.first_broken.empty() ? "" : fine.first_broken[0].message);
}

TEST(ObservationLines, TheAnswerDoesNotDependOnHowTheBytesAreCut) {
  const Fabric fabric = small();
  std::string text;
  for (int i = 0; i < 20; ++i) text += line(fmt::format("\"sent\":{},\"lost\":{}", 10 + i, i % 3));
  text += line("\"sent\":1") + "\n \r\n" + "{" + kPath + ",\"sent\":5,\"lost\":5}";  // no newline at the end
  const std::string whole = observation_lines(fabric, read(fabric, text).observations);
  for (const std::size_t piece : {1u, 2u, 3u, 7u, 64u, 100u}) {
    const auto cut = read(fabric, text, piece);
    EXPECT_EQ(observation_lines(fabric, cut.observations), whole) << piece;
    EXPECT_EQ(cut.lines, 22u);
    EXPECT_EQ(cut.broken, 1u);
    EXPECT_EQ(cut.first_broken[0].line, 21u);
  }
}

TEST(ObservationLines, BrokenLinesAreNamedCountedAndLeftOut) {
  const Fabric fabric = small();
  const std::vector<std::pair<std::string, std::string>> broken{
      {line("\"sent\":10,\"lost\":12"), "12 lost of 10 sent"},
      {line("\"sent\":-1,\"lost\":0"), "expected a whole number"},
      {line("\"sent\":1.5,\"lost\":0"), "expected a whole number"},
      {line("\"sent\":99999999999999999,\"lost\":0"), "more than any run"},
      {line("\"sent\":10,\"lost\":1,\"corrupt\":10"), "10 corrupt of 9 received"},
      {line("\"sent\":10"), "lost"},
      {R"({"path":["host1->leaf1","leaf9->spine1"],"sent":1,"lost":0})"
       "\n",
       "leaf9"},
      {R"({"path":["host1->leaf1","spine1->leaf2"],"sent":1,"lost":0})"
       "\n",
       "'spine1->leaf2' does not go on where 'host1->leaf1' ends"},
      {R"({"path":[],"sent":1,"lost":0})"
       "\n",
       "without a channel"},
      {R"({"sent":1,"lost":0})"
       "\n",
       "expected 'path' or 'paths'"},
      {"{\"path\":[\n", "line"},
      {"[1,2]\n", "path"},
      {R"({"channel":"leaf1->spine1","cause":"gremlins","log_ratio":1,"text":""})"
       "\n",
       "no such cause: 'gremlins'"},
      {R"({"host":"leaf1","verdict":"failed","text":""})"
       "\n",
       "'leaf1' is no host"},
  };
  for (const auto& [text, message] : broken) {
    const auto result = read(fabric, line("\"sent\":1,\"lost\":0") + text + line("\"sent\":2,\"lost\":0"));
    EXPECT_EQ(result.lines, 3u);
    EXPECT_EQ(result.observations.probes.size(), 2u) << text;
    ASSERT_EQ(result.first_broken.size(), 1u) << text;
    EXPECT_EQ(result.first_broken[0].line, 2u);
    EXPECT_NE(result.first_broken[0].message.find(message), std::string::npos)
        << result.first_broken[0].message;
  }
}

TEST(ObservationLines, ALineWithoutEndIsLeftOutWithoutBeingKept) {
  const Fabric fabric = small();
  ObservationReader reader(fabric);
  for (int i = 0; i < 40; ++i) reader.feed(std::string(100000, 'x'));
  reader.feed("\n" + line("\"sent\":1,\"lost\":0"));
  const auto result = std::move(reader).finish();
  EXPECT_EQ(result.broken, 1u);
  EXPECT_EQ(result.observations.probes.size(), 1u);
}

TEST(ObservationLines, OneBrokenLineInAMillionIsNamedAndTheOthersAreUsed) {
  constexpr std::size_t kLines = draws(1'000'000);
  constexpr std::size_t kBroken = draws(654'321);
  const Fabric fabric = small();
  const std::string good = line("\"sent\":3,\"lost\":1");
  const std::string bad = line("\"sent\":3,\"lost\":4");
  ObservationReader reader(fabric);
  for (std::size_t i = 1; i <= kLines; ++i) reader.feed(i == kBroken ? bad : good);
  const auto result = std::move(reader).finish();
  EXPECT_EQ(result.lines, kLines);
  EXPECT_EQ(result.broken, 1u);
  ASSERT_EQ(result.first_broken.size(), 1u);
  EXPECT_EQ(result.first_broken[0].line, kBroken);
  EXPECT_NE(result.first_broken[0].message.find("4 lost of 3 sent"), std::string::npos);
  EXPECT_EQ(result.observations.probes.size(), kLines - 1);
}

TEST(ObservationLines, OfManyBrokenLinesTheFirstAreNamed) {
  const Fabric fabric = small();
  std::string text;
  for (int i = 0; i < 100; ++i) text += "nonsense\n";
  const auto result = read(fabric, text);
  EXPECT_EQ(result.broken, 100u);
  EXPECT_EQ(result.first_broken.size(), ObservationReader::kNamed);
}

TEST(ObservationLines, AnEmptyFileIsNoErrorAndAMissingOneIs) {
  const Fabric fabric = small();
  const ScratchFile empty("");
  EXPECT_EQ(read_observation_file(fabric, empty.path())->lines, 0u);
  EXPECT_EQ(read_observation_file(fabric, "/nowhere.jsonl").error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace weft::files
