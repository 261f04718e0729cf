#include "probes/watch/assignment_json.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace weft::watch {
namespace {

Assignment small_assignment() {
  Assignment made{
      .plan = PlanVersion(3),
      .epochs = {{.name = RunId(0x8877665544332211), .ends_in = std::chrono::minutes(12)},
                 {.name = RunId(7), .ends_in = std::chrono::minutes(72)}},
      .nics = {{.nic = PortId(4),
                .interface = "eth0",
                .packets_per_second = 62.5,
                .burst = 5,
                .streams = {{0, PathLabel(49152), PathLabel(49153)},
                            {1, PathLabel(50000), PathLabel(50001)}}}},
      .peers = {{PortId(8), *IpAddress::parse("10.0.0.8")}, {PortId(9), *IpAddress::parse("fd00::9")}},
      .asked = {{PortId(9), *IpAddress::parse("fd00::9")}},
      .size = Bytes(256)};
  for (EpochKeys& keys : made.epochs) {
    for (std::size_t i = 0; i < keys.own.size(); ++i) keys.own[i] = static_cast<std::byte>(0xF0 + i);
    keys.pairs = {{std::byte{1}}, {std::byte{2}}};
  }
  return made;
}

TEST(AssignmentJsonTest, ReadsBackTheSame) {
  const auto read = read_assignment(to_json_text(small_assignment()));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, small_assignment());
}

TEST(AssignmentJsonTest, QueuePairsOfPeersAndAskersTravelAndAreNoOtherWork) {
  auto made = small_assignment();
  made.pairs = {{*IpAddress::parse("10.0.0.8"), {QpNum(17), packet::QueueKey(0x7FFFFFFF)}},
                {*IpAddress::parse("fd00::9"), {QpNum(0xFFFFFF), packet::QueueKey(0)}}};
  const auto read = read_assignment(to_json_text(made));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, made);
  EXPECT_TRUE(same_work(*read, small_assignment()));
  EXPECT_EQ(to_json_text(small_assignment()).find("qkey"), std::string::npos) << "raw probes have none";
  const auto refused = [&](std::string_view text, std::string_view by) {
    auto json = to_json_text(made);
    json.replace(json.find(text), text.size(), by);
    return !read_assignment(json);
  };
  EXPECT_TRUE(refused("\"qp\":[17,16777215]", "\"qp\":[17,16777216]"));
  EXPECT_TRUE(refused("\"qp\":[17,16777215]", "\"qp\":[null,16777215]"));
}

TEST(AssignmentJsonTest, ALargePlanFitsAMessage) {
  auto large = small_assignment();
  large.nics.clear();
  for (std::uint32_t nic = 0; nic < 8; ++nic) {
    large.nics.push_back({.nic = PortId(nic), .interface = fmt::format("eth{}", nic)});
    for (std::uint32_t i = 0; i < 512; ++i)
      large.nics.back().streams.push_back({i % 2, PathLabel(49152 + i), PathLabel(49152 + i)});
  }
  large.asked.clear();
  for (std::uint32_t i = 0; i < 4096; ++i)
    large.asked.push_back({PortId(24'576 - i), *IpAddress::parse("10.100.200.100")});
  for (EpochKeys& keys : large.epochs) keys.pairs.resize(asked_pairs(large.nics).size());
  EXPECT_LT(to_json_text(large).size(), kMaxWordBytes / 2);
}

struct Wrong {
  const char* name;
  std::function<void(Assignment&)> make;
};
class WrongAssignmentTest : public ::testing::TestWithParam<Wrong> {};
INSTANTIATE_TEST_SUITE_P(
    All, WrongAssignmentTest,
    ::testing::Values(Wrong{"PlanNone", [](Assignment& a) { a.plan = PlanVersion(0); }},
                      Wrong{"NoSuchPeer", [](Assignment& a) { a.nics[0].streams[1].peer = 2; }},
                      Wrong{"LabelOfAnotherFabric",
                            [](Assignment& a) { a.nics[0].streams[0].label = PathLabel(70'000); }},
                      Wrong{"NoRate", [](Assignment& a) { a.nics[0].packets_per_second = 0; }},
                      Wrong{"AFlood", [](Assignment& a) { a.nics[0].packets_per_second = 1e9; }},
                      Wrong{"NoBurst", [](Assignment& a) { a.nics[0].burst = 0; }},
                      Wrong{"TooLargeABurst", [](Assignment& a) { a.nics[0].burst = 65; }},
                      Wrong{"InterfaceTwice", [](Assignment& a) { a.nics.push_back(a.nics[0]); }},
                      Wrong{"NoKeys", [](Assignment& a) { a.epochs.clear(); }},
                      Wrong{"TooManyEpochs", [](Assignment& a) { a.epochs.resize(5, a.epochs[0]); }},
                      Wrong{"APairWithoutAKey", [](Assignment& a) { a.epochs[1].pairs.pop_back(); }},
                      Wrong{"AKeyWithoutAPair", [](Assignment& a) { a.nics[0].streams.pop_back(); }},
                      Wrong{"NoSize", [](Assignment& a) { a.size = Bytes(0); }},
                      Wrong{"JumboOfJumbos", [](Assignment& a) { a.size = Bytes(1'000'000); }},
                      Wrong{"TooManyNics",
                            [](Assignment& a) {
                              for (int i = 0; i < 64; ++i) {
                                a.nics.push_back(a.nics[0]);
                                a.nics.back().interface = fmt::format("x{}", i);
                              }
                            }}),
    [](const auto& wrong) { return wrong.param.name; });

TEST_P(WrongAssignmentTest, IsRefused) {
  auto assignment = small_assignment();
  GetParam().make(assignment);
  const auto read = read_assignment(to_json_text(assignment));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::invalid_input);
}

TEST(AssignmentJsonTest, AWrongKeyIsRefused) {
  const auto good = to_json_text(small_assignment());
  const auto at = good.find("f0f1");
  ASSERT_NE(at, std::string::npos);
  for (const char* wrong : {"", "f0f", "zzzz", "F0F1"})
    EXPECT_FALSE(read_assignment(std::string(good).replace(at, 4, wrong))) << wrong;
}

TEST(AssignmentJsonTest, WhatAgentsSayReadsBackTheSame) {
  const AgentHello hello{.host = "host1",
                         .version = "0.2.0",
                         .boot = 0xFFFFFFFFFFFFFFFF,
                         .plan = PlanVersion(2),
                         .epoch = RunId(99),
                         .interfaces = {{"eth0", {*IpAddress::parse("10.0.0.1")}},
                                        {"eth1",
                                         {*IpAddress::parse("10.0.1.1")},
                                         packet::UdPair{QpNum(17), packet::QueueKey(3)}}},
                         .troubles = {"eth1 is down"},
                         .spooled = 17,
                         .dropped = 2,
                         .engine = "verbs"};
  const AgentBye bye{.host = "host1", .boot = 5, .reason = "it was told to stop", .planned = true};
  for (const AgentSpeech& speech : {AgentSpeech(hello), AgentSpeech(bye)}) {
    const auto read = read_speech(to_json_text(speech));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(*read, speech);
  }
}

TEST(AssignmentJsonTest, WhatAnAgentSaysCannotSteerATerminalNorForgeALine) {
  const std::string evil = "x\nweft: all healthy\n\x1b]0;owned\x07";
  const std::string shown = R"(x\x0aweft: all healthy\x0a\x1b]0;owned\x07)";
  const AgentHello hello{
      .host = "host1", .version = evil, .interfaces = {{evil, {}}}, .troubles = {evil}, .protocol = 9};
  const auto read = read_speech(to_json_text(AgentSpeech(hello)));
  ASSERT_TRUE(read) << read.error().message;
  const auto& heard = std::get<AgentHello>(*read);
  EXPECT_EQ(heard.version, shown);
  EXPECT_EQ(heard.interfaces[0].interface, shown);
  EXPECT_EQ(heard.troubles, std::vector{shown});
  const auto bye = read_speech(to_json_text(AgentSpeech(AgentBye{.host = "host1", .reason = evil})));
  ASSERT_TRUE(bye) << bye.error().message;
  EXPECT_EQ(std::get<AgentBye>(*bye).reason, shown);
}

TEST(AssignmentJsonTest, OtherTextsAreRefused) {
  for (const char* text : {"", "{}", "[]", "null", R"({"kind":"hi"})", R"({"kind":"bye"})", R"({"kind":7})",
                           R"({"kind":"hello","protocol":-1})", "{\"kind\":\"bye\"", "\xff\xfe"}) {
    EXPECT_FALSE(read_speech(text)) << text;
    EXPECT_FALSE(read_assignment(text)) << text;
  }
}

}  // namespace
}  // namespace weft::watch
