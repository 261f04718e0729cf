#include "probes/session/work_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "topology/base/json_members.hpp"

namespace weft::session {
namespace {

using json_members::BadField;
using nlohmann::json;

datapath::PingRequest pings() {
  return {.run = RunId(5),
          .batch = BatchId(6),
          .peers = {{PortId(7), *IpAddress::parse("10.0.1.1")}},
          .specs = {{.peer = 0, .label = PathLabel(50'000), .back_label = PathLabel(50'001), .count = 10}}};
}

TEST(WorkJson, WorkComesBackAsItWas) {
  const std::vector<TaskWork> all{
      datapath::TraceRequest{.run = RunId(5), .batch = BatchId(6), .peers = pings().peers}, pings(),
      datapath::FlowRequest{.run = RunId(5), .batch = BatchId(6), .peers = pings().peers},
      ReceivedQuery{BatchId(6)},
      datapath::TransferRequest{.run = RunId(5), .batch = BatchId(6), .peers = pings().peers, .window = 9}};
  for (const TaskWork& work : all) {
    const json written = to_json_value(work);
    EXPECT_TRUE(work_from_json(written) == work) << written.dump();
  }
}

TEST(WorkJson, AnswersComeBackAsTheyWere) {
  const std::vector<TaskAnswer> all{
      std::vector<datapath::HopAnswer>{}, std::vector<datapath::PingTally>{{0, 10, 9, 0}},
      std::vector<datapath::ReceivedTally>{
          {.batch = BatchId(6), .from = PortId(7), .packets = 5, .missing = std::vector<LossRun>{{1, 2}}}},
      std::vector<datapath::TransferTally>{{.spec = 1, .sent = 4, .delivered = 3, .error = "broke"}}};
  for (const TaskAnswer& answer : all) {
    const json written = to_json_value(answer);
    EXPECT_TRUE(answer_from_json(written) == answer) << written.dump();
  }
}

TEST(WorkJson, WorkOfAKindThatNobodyKnowsOrOfNoneIsRefused) {
  for (const char* wrong : {R"({})", R"({"kind":"format_disk"})", R"({"kind":7})", R"([])", R"("ping")"}) {
    EXPECT_THROW(work_from_json(json::parse(wrong)), BadField) << wrong;
    EXPECT_THROW(answer_from_json(json::parse(wrong)), BadField) << wrong;
  }
}

TEST(WorkJson, ASpecNamesAPeerOfItsRequest) {
  auto request = pings();
  request.specs[0].peer = 1;
  EXPECT_THROW(work_from_json(to_json_value(TaskWork(request))), BadField);
}

TEST(WorkJson, FieldsOfATracedPacketComeBackAndThoseThatCannotBeAreRefused) {
  datapath::TraceRequest request{.run = RunId(5), .batch = BatchId(6), .peers = pings().peers};
  request.specs = {
      {.label = PathLabel(50'000)},
      {.label = PathLabel(50'000), .fields = {QpNum(0xABCDEF), std::uint8_t{0x68}, 0xABCDE, Bytes(512)}}};
  const json written = to_json_value(TaskWork(request));
  EXPECT_TRUE(work_from_json(written) == TaskWork(request)) << written.dump();
  for (const auto& [column, value] : {std::pair("queue_pair", 0x1000000),
                                      {"traffic_class", 256},
                                      {"flow_label", 0x100000},
                                      {"size", 70'000}}) {
    auto wrong = written;
    wrong["specs"][column][1] = value;
    EXPECT_THROW(work_from_json(wrong), BadField) << column;
  }
}

TEST(WorkJson, ANumberThatIsNoneOrTooLargeIsRefused) {
  for (const json& wrong : {json("6"), json(-6), json(6.5), json(std::uint64_t{1} << 40)}) {
    auto written = to_json_value(TaskWork(ReceivedQuery{BatchId(6)}));
    written["batch"] = wrong;
    EXPECT_THROW(work_from_json(written), BadField) << wrong;
  }
}

TEST(WorkJson, RunsOfLostPacketsOutOfOrderAreRefused) {
  const TaskAnswer answer =
      std::vector<datapath::ReceivedTally>{{.batch = BatchId(6),
                                            .from = PortId(7),
                                            .packets = 5,
                                            .missing = std::vector<LossRun>{{9, 2}, {1, 2}}}};
  EXPECT_THROW(answer_from_json(to_json_value(answer)), BadField);
}

}  // namespace
}  // namespace weft::session
