#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "probes/session/messages_json.hpp"
#include "topology/base/json_members.hpp"

namespace weft::session {
namespace {

const std::vector<datapath::Peer> kPeers{{PortId(7), *IpAddress::parse("10.0.1.1")},
                                         {PortId(9), *IpAddress::parse("fd00::9")}};

constexpr RunId kRun(~0ull);

std::vector<ToAgent> all_to_agent() {
  packet::RunKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i * 17);
  return {
      StartRun{{kRun, key},
               {{"p1", PortId(3)}, {"p2", PortId(4), "verbs"}},
               {{kPeers[0].nic, kPeers[0].address}, {kPeers[1].nic, kPeers[1].address, LidRange{Lid(8), 2}}}},
      Task{TaskId(1), PortId(3), std::chrono::seconds(5),
           datapath::TraceRequest{RunId(5),
                                  BatchId(6),
                                  kPeers,
                                  {{1, PathLabel(50000), 4}},
                                  3,
                                  {500.5, std::chrono::milliseconds(7)}}},
      Task{TaskId(2), PortId(3), std::chrono::seconds(5),
           datapath::PingRequest{RunId(5),
                                 BatchId(6),
                                 kPeers,
                                 {{0, PathLabel(50000), PathLabel(50001), 100, Bytes(128)}},
                                 {},
                                 true}},
      Task{TaskId(3), PortId(3), std::chrono::seconds(5),
           datapath::FlowRequest{RunId(5),
                                 BatchId(6),
                                 kPeers,
                                 {{1, PathLabel(50000), Bandwidth::gbit(400), Bytes(4096), PathLabel(50001)}},
                                 std::chrono::seconds(1)}},
      Task{TaskId(3), PortId(3), std::chrono::seconds(5),
           datapath::FlowRequest{RunId(5),
                                 BatchId(6),
                                 kPeers,
                                 {{1, std::nullopt, Bandwidth::gbit(400), Bytes(4096)}},
                                 std::chrono::seconds(1),
                                 {.operation = FlowOperation::read,
                                  .message = Bytes(65536),
                                  .depth = 16,
                                  .warm_up = std::chrono::milliseconds(20),
                                  .volume = Bytes(1 << 30)}}},
      Task{TaskId(8), PortId(3), std::chrono::seconds(5),
           datapath::FlowRequest{.run = RunId(5),
                                 .batch = BatchId(6),
                                 .peers = kPeers,
                                 .specs = {{.peer = 1,
                                            .label = PathLabel(50'000),
                                            .rate = Bandwidth::gbit(4),
                                            .back_label = PathLabel(50'001)}},
                                 .trips = datapath::TripProbes{BatchId(7), 40}}},
      Task{TaskId(4), PortId(3), std::chrono::seconds(5), ReceivedQuery{BatchId(6)}},
      Task{TaskId(5), PortId(3), std::chrono::seconds(40),
           datapath::TransferRequest{RunId(5),
                                     BatchId(7),
                                     kPeers,
                                     {{1, PathLabel(50000), PathLabel(60000), 1500}},
                                     Bytes(2048),
                                     12,
                                     std::chrono::seconds(30)}},
      Task{TaskId(6), PortId(3), std::chrono::seconds(5), CounterQuery{}},
      StopRun{},
      Alive{}};
}

HostInventory inventory() {
  HostInventory told{.shares_machine = true};
  told.nics.push_back({.interface = "p1", .serves = true, .mtu = Bytes(4200), .up = true});
  told.nics[0].settings["trust"] = "dscp";
  return told;
}

LatencyHistogram latencies(std::initializer_list<Nanoseconds> all) {
  LatencyHistogram histogram;
  for (const Nanoseconds latency : all) histogram.add(latency);
  return histogram;
}

TaskResult ping_result() {
  using std::chrono::microseconds;
  return TaskResult{
      TaskId(2), std::nullopt,
      std::vector<datapath::PingTally>{{0, 10, 9, 1, RttQuantiles{microseconds(3), microseconds(4)}},
                                       {1, 5, 0, 0},
                                       {.spec = 2, .refused = "no memory may be locked"},
                                       {.spec = 3,
                                        .sent = 10,
                                        .answered = 6,
                                        .window = TimeWindow{microseconds(9), microseconds(90)},
                                        .unanswered = {{2, 3}, {9, 1}},
                                        .dropped = 2,
                                        .late = 4}}};
}

TaskResult flow_result() {
  using std::chrono::microseconds;
  return TaskResult{
      TaskId(3), std::nullopt,
      std::vector<datapath::FlowTally>{
          {0, 100, 409600, microseconds(500), microseconds(6)},
          {1, 1, 4096, microseconds(5), microseconds(6), std::nullopt, false, PathLabel(50000)},
          {2, 1, 4096, microseconds(5), microseconds(6), "it ended", false, PathLabel(50001)},
          {3, 1, 4096, microseconds(5), microseconds(6), std::nullopt, false, std::nullopt,
           datapath::FlowMeasure{9, 36'864, latencies({microseconds(5), microseconds(700)})}},
          {4, 1, 4096, microseconds(5), microseconds(6), std::nullopt, false, std::nullopt, std::nullopt,
           datapath::LabelChange{true, "by the drained state"}},
          {.spec = 5, .refused = "no memory may be locked"},
          {.spec = 6, .packets = 1, .started = microseconds(77)},
          {.spec = 7, .error = "it changed", .corrupted = true},
          {.spec = 9, .trips = datapath::TripTally{16, 0}},
          {.spec = 10, .trips = datapath::TripTally{16, 15, RttQuantiles{microseconds(5), microseconds(9)}}},
          {.spec = 8, .error = "the queue is full", .of_sender = true}}};
}

std::vector<ToCoordinator> all_to_coordinator() {
  using std::chrono::microseconds;
  return {Hello{"host1", "0.1.0", "raw", {{"p1", *IpAddress::parse("10.0.1.1")}}},
          Ready{{{PortId(3), "interface p1 is down"}, {PortId(4), "needs a right", true}},
                {{PortId(4), "mlx5_0 port 1"}}},
          Ready{.inventory = inventory()},
          TaskResult{TaskId(1), std::nullopt,
                     std::vector<datapath::HopAnswer>{
                         {2, 3, true, *IpAddress::parse("10.0.1.1"), microseconds(12)}}},
          ping_result(),
          flow_result(),
          TaskResult{TaskId(4), std::nullopt,
                     std::vector<datapath::ReceivedTally>{
                         {.batch = BatchId(6), .packets = 2, .missing = std::vector<LossRun>{}},
                         {.batch = BatchId(6),
                          .spec = 1,
                          .packets = 2,
                          .missing = std::vector<LossRun>{{0, 1}, {4, 70'000}},
                          .dropped = 5,
                          .late = 1}}},
          TaskResult{
              TaskId(5), std::nullopt,
              std::vector<datapath::TransferTally>{{1, 1502, 1500, std::chrono::seconds(1)},
                                                   {1, 4, 4, std::chrono::seconds(1), microseconds(900)},
                                                   {.spec = 3, .took = std::chrono::seconds(2)},
                                                   {.spec = 2, .sent = 8, .error = "its queue pair broke"}}},
          TaskResult{TaskId(6), std::nullopt,
                     std::vector<NicCounters>{
                         {"mlx5_0", 1, std::chrono::seconds(9), {{"symbol_error", 1}, {"lifespan", ~0ull}}}}},
          TaskResult{TaskId(4), "no such batch",
                     std::vector<datapath::ReceivedTally>{
                         {BatchId(6), PortId(3), 1, 2, 3, 4, microseconds(5), microseconds(6)}}},
          Alive{},
          Bye{"told to stop"},
          Hello{"host1",
                "0.1.0",
                "auto",
                {{"p1", *IpAddress::parse("10.0.1.1")}},
                kProtocol,
                {{"p1", "mlx5_0", ""}, {"p2", "", "no RDMA device has an address of p2"}}}};
}

/// As a message of the run; a Hello is of none.
std::string sent(const ToAgent& message) { return encode(MessageToAgent{kRun, message}); }
std::string sent(const ToCoordinator& message) {
  const bool of_none = std::holds_alternative<Hello>(message);
  return encode(MessageToCoordinator{of_none ? std::nullopt : std::optional(kRun), message});
}

TEST(Messages, EveryKindSurvivesTheWay) {
  for (const ToAgent& message : all_to_agent())
    EXPECT_EQ(decode_to_agent(sent(message)), (MessageToAgent{kRun, message}));
  for (const ToCoordinator& message : all_to_coordinator()) {
    const auto read = decode_to_coordinator(sent(message));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->message, message);
    EXPECT_EQ(read->run.has_value(), !std::holds_alternative<Hello>(message));
  }
}

TEST(Messages, WhatDoesNotSayOfWhichRunItIsIsRefused) {
  EXPECT_FALSE(decode_to_agent(R"({"type":"stop"})"));
  EXPECT_FALSE(decode_to_coordinator(R"({"type":"alive"})"));
  EXPECT_FALSE(decode_to_coordinator(R"({"type":"bye","run":-1,"why":""})"));
  EXPECT_TRUE(decode_to_coordinator(R"({"type":"bye","why":"before any run"})"));
}

TEST(Messages, ATruncatedMessageIsAnErrorWhereverItIsCut) {
  for (const ToAgent& message : all_to_agent()) {
    const auto whole = sent(message);
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_FALSE(decode_to_agent(whole.substr(0, length)));
  }
}

/// `text` with the value at `pointer` replaced.
std::string with(const std::string& text, const char* pointer, const nlohmann::json& value) {
  auto json = nlohmann::json::parse(text);
  json[nlohmann::json::json_pointer(pointer)] = value;
  return json.dump();
}

TEST(Messages, ValuesOutOfRangeAreRefused) {
  const auto trace = sent(all_to_agent()[1]);
  EXPECT_FALSE(decode_to_agent(with(trace, "/id", -1)));
  EXPECT_FALSE(decode_to_agent(with(trace, "/id", 4294967296)));
  EXPECT_FALSE(decode_to_agent(with(trace, "/limit", 18446744073709551615ull)));
  EXPECT_FALSE(decode_to_agent(with(trace, "/work/specs/peer/0", 2)));  // two peers: 0 and 1
  EXPECT_FALSE(decode_to_agent(with(trace, "/work/peers/address/0", "10.0.1.1.1")));
  EXPECT_FALSE(decode_to_agent(with(trace, "/work/pace/packets_per_second", -3.0)));
  EXPECT_FALSE(decode_to_agent(with(trace, "/work/kind", "dance")));
  EXPECT_FALSE(decode_to_agent(with(sent(all_to_agent()[0]), "/key", "00ff")));
  const auto pings = sent(all_to_coordinator()[4]);
  EXPECT_FALSE(decode_to_coordinator(with(pings, "/answer/tallies/answered/0", 11)));  // of 10
  EXPECT_FALSE(decode_to_coordinator(with(pings, "/answer/tallies/rtt_p50/0", "fast")));
}

TEST(Messages, APaceOrATimeThatNobodyCanKeepIsRefused) {
  std::size_t flows = 0;
  for (const ToAgent& message : all_to_agent()) {
    const auto text = sent(message);
    const auto json = nlohmann::json::parse(text);
    if (json.value("/work/kind"_json_pointer, "") == "flow") {
      ++flows;
      for (const double rate : {0.0, 5e-324, 1e-7, 0.5, 1e300})
        EXPECT_FALSE(decode_to_agent(with(text, "/work/specs/rate/0", rate))) << rate;
      for (const char* time : {"/work/duration", "/work/options/warm_up"})
        EXPECT_FALSE(decode_to_agent(with(text, time, 9'223'372'036'854'775'807ull))) << time;
    }
    for (const double pace : {5e-324, 1e-9})
      if (json.contains("/work/pace"_json_pointer)) {
        EXPECT_FALSE(decode_to_agent(with(text, "/work/pace/packets_per_second", pace))) << pace;
      }
  }
  EXPECT_GT(flows, 0u);
}

TEST(Messages, AnOrderOfLossesThatCannotBeIsRefused) {
  const auto pings = sent(all_to_coordinator()[4]);
  const auto refused = [&](const char* pointer, const char* value) {
    return !decode_to_coordinator(with(pings, pointer, nlohmann::json::parse(value)));
  };
  const char* const unanswered = "/answer/tallies/unanswered/3";
  EXPECT_FALSE(refused(unanswered, R"({"rows":1,"first":[0],"count":[1]})"));
  EXPECT_TRUE(refused(unanswered, R"({"rows":1,"first":[0],"count":[5]})")) << "six of ten were answered";
  EXPECT_TRUE(refused(unanswered, R"({"rows":1,"first":[9],"count":[2]})")) << "beyond the ten sent";
  EXPECT_TRUE(refused(unanswered, R"({"rows":2,"first":[4,3],"count":[1,1]})"));
  EXPECT_TRUE(refused(unanswered, R"({"rows":1,"first":[4],"count":[0]})"));
  EXPECT_TRUE(refused(unanswered, R"({"rows":1,"first":[4]})"));
  EXPECT_TRUE(refused(unanswered, "\"all\""));
  EXPECT_TRUE(refused("/answer/tallies/window_length/3", "null"));
  EXPECT_TRUE(refused("/answer/tallies/window_start/3", "9000000000000000000"));
  EXPECT_TRUE(refused("/answer/tallies/dropped/3", "-1"));
  EXPECT_TRUE(refused("/answer/tallies/dropped", "[null]")) << "one row told of, of four";
}

TEST(Messages, AnAgentThatTellsNoOrderIsUnderstood) {
  auto json = nlohmann::json::parse(sent(all_to_coordinator()[4]));
  for (const char* column : {"window_start", "window_length", "unanswered", "dropped"})
    ASSERT_EQ(json["answer"]["tallies"].erase(column), 1u);
  const auto message = decode_to_coordinator(json.dump());
  ASSERT_TRUE(message);
  const auto& tallies =
      std::get<std::vector<datapath::PingTally>>(std::get<TaskResult>(message->message).answer);
  EXPECT_EQ(tallies.at(3).answered, 6u);
  EXPECT_FALSE(tallies.at(3).window);
}

TEST(Messages, ATableThatIsNoneIsRefused) {
  const auto trace = sent(all_to_agent()[1]);
  for (const auto& [pointer, value] : {std::pair("/work/specs/rows", "2"),
                                       {"/work/specs/rows", "4294967295"},
                                       {"/work/specs/rows", "-1"},
                                       {"/work/specs/label", "[50000,50001]"},
                                       {"/work/specs/label", "{}"},
                                       {"/work/specs/label/0", "null"},
                                       {"/work/specs", "[]"},
                                       {"/work/peers", R"({"rows":4294967295})"}})
    EXPECT_FALSE(decode_to_agent(with(trace, pointer, nlohmann::json::parse(value)))) << pointer << value;
  EXPECT_TRUE(decode_to_agent(with(trace, "/work/specs", nlohmann::json::parse(R"({"rows":0})"))));
  EXPECT_TRUE(decode_to_agent(with(trace, "/work/specs/more", 7))) << "what a later version may tell";
}

/// An array in an array, somewhere in it.
bool has_rows(const nlohmann::json& value) {
  return std::ranges::any_of(value, [&](const nlohmann::json& inner) {
    return (value.is_array() && inner.is_array()) || (inner.is_structured() && has_rows(inner));
  });
}

TEST(Messages, NoValueHasItsMeaningFromItsPlace) {
  for (const ToAgent& message : all_to_agent())
    EXPECT_FALSE(has_rows(nlohmann::json::parse(sent(message)))) << sent(message);
  for (const ToCoordinator& message : all_to_coordinator())
    EXPECT_FALSE(has_rows(nlohmann::json::parse(sent(message)))) << sent(message);
}

TEST(Messages, WhatIsNoMessageIsRefused) {
  for (const auto* text : {"", "null", "[]", "{}", "{\"type\":\"sing\"}", "\xff\xfe", "{\"type\":7}"}) {
    EXPECT_FALSE(decode_to_agent(text)) << text;
    EXPECT_FALSE(decode_to_coordinator(text)) << text;
  }
  EXPECT_FALSE(decode_to_agent(std::string(kMaxMessageBytes + 1, ' ')));
  EXPECT_FALSE(decode_to_agent(std::string(900'000, '[')));
}

TEST(Messages, TextThatIsNoUtf8IsMendedNotThrownAt) {
  const auto bytes = sent(Bye{"caf\xe9"});
  ASSERT_TRUE(decode_to_coordinator(bytes));
}

TEST(Messages, AnInventoryThatNoHostTellsIsRefused) {
  const auto ready = [](const std::string& told) {
    return decode_to_coordinator(R"({"type":"ready","run":5,"troubles":[],"uses":[],"inventory":)" + told +
                                 "}");
  };
  const auto with = [&](const std::string& nics, const std::string& gaps) {
    return ready(R"({"shares_machine":false,"gpus":[],"numa_nodes":[],"pcie_switches":[],"nics":[)" + nics +
                 R"(],"gaps":[)" + gaps + "]}");
  };
  EXPECT_TRUE(with("", ""));
  EXPECT_TRUE(with(R"({"serves":true,"pcie":{},"mtu":1})", ""));
  EXPECT_FALSE(with(R"({"serves":true,"pcie":{},"mtu":-1})", ""));
  EXPECT_FALSE(ready("7"));
  const auto gap = with("", R"("two\nlines")");
  ASSERT_TRUE(gap);
  EXPECT_EQ(std::get<Ready>(gap->message).inventory->gaps, std::vector<std::string>{"two\\x0alines"});
}

TEST(Messages, OfAHelloOfAnotherProtocolOnlyWhoSaysItIsRead) {
  for (const auto& [told, protocol] :
       {std::pair(R"(,"nics":"of another form"})", 1u), std::pair(R"(,"protocol":9,"inventory":7})", 9u)}) {
    const auto read =
        decode_to_coordinator(std::string(R"({"type":"hello","host":"h","version":"0.1.0")") + told);
    ASSERT_TRUE(read) << told;
    EXPECT_EQ(std::get<Hello>(read->message), (Hello{.host = "h", .version = "0.1.0", .protocol = protocol}));
  }
}

TEST(Messages, QuoteNoMoreOfWhatIsWrongThanItIsWorth) {
  const nlohmann::json long_text = std::string(1'000'000, 'x');
  try {
    json_members::whole<std::uint32_t>(long_text);
    ADD_FAILURE() << "a text is no number";
  } catch (const json_members::BadField& bad) {
    EXPECT_LT(std::string_view(bad.what()).size(), 200u);
  }
  auto counters = nlohmann::json::parse(sent(all_to_coordinator().front()));
  for (const ToCoordinator& message : all_to_coordinator())
    if (auto json = nlohmann::json::parse(sent(message)); json.contains("/answer/devices"_json_pointer))
      counters = json;
  counters["answer"]["devices"][0]["values"] = {{std::string(1'000'000, 'k'), -1}};
  const auto read = decode_to_coordinator(counters.dump());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("kkk"), std::string::npos);
  EXPECT_LT(read.error().message.size(), 400u) << "a key is cut too";
}

TEST(Messages, WhatIsQuotedMayBeShownAndIsNoStructure) {
  EXPECT_EQ(json_members::quoted(std::string("\x1b[2J")), "\"\\x1b[2J\"");
  auto deep = nlohmann::json::array();
  for (int i = 0; i < 100'000; ++i) deep = nlohmann::json::array({std::move(deep)});
  EXPECT_EQ(json_members::quoted(deep), "an array");
}

}  // namespace
}  // namespace weft::session
