// What a message costs that is made to cost much: refused before it is parsed, so nothing is kept of it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "probes/session/messages_json.hpp"
#include "topology/findings/latency_histogram.hpp"

namespace weft::session {
namespace {

constexpr std::size_t kSize = 63'000'000;

/// The most memory that this process has had, in bytes.
std::size_t peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

std::string repeated(std::string_view piece) {
  std::string text;
  text.reserve(kSize + piece.size());
  while (text.size() < kSize) text += piece;
  return text;
}

TEST(MessageCost, AMessageThatWouldFillTheMemoryIsRefusedBeforeItDoes) {
  for (const char* piece : {"[", "{\"a\":", "[],", "{},", "0,", "\"\",", "[0,0,0],"}) {
    const std::string text = R"({"type":"result","id":1,"answer":[)" + repeated(piece);
    const std::size_t before = peak_memory();
    const auto refused = decode_to_coordinator(text);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.find("deeper") != std::string::npos ||
                refused.error().message.find("values") != std::string::npos)
        << refused.error().message;
    EXPECT_LT(peak_memory() - before, 10'000'000u) << piece;
    EXPECT_FALSE(decode_to_agent(text));
  }
}

/// What is said of a message that is small for what it would take in memory, which must not grow.
std::string refusal_of(const nlohmann::json& message) {
  const auto text = message.dump();
  EXPECT_TRUE(check_json_limits(text, kMessageLimits)) << text.size();
  const std::size_t before = peak_memory();
  const auto read = decode_to_coordinator(text);
  EXPECT_LT(peak_memory() - before, 600'000'000u) << "half of a gigabyte is the parser's";
  return read ? "taken" : read.error().message;
}

nlohmann::json result_of_kind(const char* kind) {
  return {{"type", "result"}, {"run", 7}, {"id", 1}, {"answer", {{"kind", kind}}}};
}

TEST(MessageCost, MoreHistogramsThanFlowsCanBeAreRefusedBeforeTheyTakeEightKilobytesEach) {
  const nlohmann::json measure{
      {"packets", 1},
      {"bytes", 1},
      {"messages", {{"rows", 1}, {"index", {LatencyHistogram::kBuckets - 1}}, {"count", {1}}}}};
  constexpr std::size_t kFlows = 180'000;  // 1.4 GB
  auto message = result_of_kind("flows");
  auto& flows = message["answer"]["tallies"];
  flows["rows"] = kFlows;
  flows["measure"] = std::vector<nlohmann::json>(kFlows, measure);
  EXPECT_EQ(refusal_of(message), "a message does not fit: answer: 180000 latency histograms, at most 16384");
}

TEST(MessageCost, AHistogramOfMoreBucketsThanThereAreIsRefusedUnread) {
  constexpr std::size_t kRows = 1'900'000;
  auto message = result_of_kind("flows");
  const std::vector<std::uint32_t> column(kRows, 1);
  message["answer"]["tallies"] = {
      {"rows", 1},
      {"measure",
       {{{"packets", 1},
         {"bytes", 1},
         {"messages", {{"rows", kRows}, {"index", column}, {"count", column}}}}}}};
  for (const char* name : {"spec", "packets", "bytes", "elapsed", "longest_gap"})
    message["answer"]["tallies"][name] = {0};
  EXPECT_EQ(refusal_of(message),
            "a message does not fit: answer.measure[0].messages: 1900000 in a list of at most 960");
}

TEST(MessageCost, CountersOfMoreThanTheOneDeviceThatWasAskedForAreRefused) {
  auto message = result_of_kind("counters");
  const nlohmann::json device{{"device", "mlx5_0"}, {"port", 1}, {"at", 1}, {"values", {{"rx", 1}}}};
  message["answer"]["devices"] = nlohmann::json::array({device});
  EXPECT_EQ(refusal_of(message), "taken");
  message["answer"]["devices"] = std::vector<nlohmann::json>(300'000, device);
  EXPECT_EQ(refusal_of(message), "a message does not fit: answer: 300000 in a list of at most 1");
}

TEST(MessageCost, TroublesOfMoreNicsThanAHostHasAreRefused) {
  const nlohmann::json trouble{{"nic", 1}, {"text", "no carrier"}, {"of_tool", false}};
  const nlohmann::json use{{"nic", 1}, {"text", "mlx5_0"}};
  const auto ready = [&](std::size_t troubles, std::size_t uses) {
    return nlohmann::json{{"type", "ready"},
                          {"run", 7},
                          {"troubles", std::vector<nlohmann::json>(troubles, trouble)},
                          {"uses", std::vector<nlohmann::json>(uses, use)}};
  };
  EXPECT_EQ(refusal_of(ready(1024, 1024)), "taken");
  EXPECT_EQ(refusal_of(ready(400'000, 0)),
            "a message does not fit: troubles: 400000 in a list of at most 1024");
  EXPECT_EQ(refusal_of(ready(0, 400'000)), "a message does not fit: uses: 400000 in a list of at most 1024");
}

/// The deepest nesting of a value.
std::size_t depth_of(const nlohmann::json& value) {
  if (!value.is_structured()) return 0;
  std::size_t deepest = 0;
  for (const auto& inner : value) deepest = std::max(deepest, depth_of(inner));
  return deepest + 1;
}

TEST(MessageCost, AnAnswerAboutHalfAMillionProbesIsWithinTheLimits) {
  TaskResult result{.id = TaskId(1), .answer = std::vector<datapath::HopAnswer>(500'000)};
  const MessageToCoordinator sent{RunId(7), result};
  EXPECT_EQ(decode_to_coordinator(encode(sent)), sent);
}

TEST(MessageCost, AHostsInventoryStaysWellWithinTheDepth) {
  HostInventory inventory;
  inventory.nics.push_back({.interface = "p1"});
  inventory.nics[0].settings["trust"] = "dscp";
  inventory.gpus.push_back({});
  const auto text = encode(MessageToCoordinator{RunId(7), Ready{.inventory = inventory}});
  EXPECT_LE(depth_of(nlohmann::json::parse(text)), kMessageLimits.depth / 2);
}

}  // namespace
}  // namespace weft::session
