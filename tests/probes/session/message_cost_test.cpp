// What a message costs that is made to cost much: refused before it is parsed, so nothing is kept of it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>

#include "probes/session/messages_json.hpp"

namespace weft {
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

/// The deepest nesting of a value.
std::size_t depth_of(const nlohmann::json& value) {
  if (!value.is_structured()) return 0;
  std::size_t deepest = 0;
  for (const auto& inner : value) deepest = std::max(deepest, depth_of(inner));
  return deepest + 1;
}

TEST(MessageCost, AnAnswerAboutHalfAMillionProbesIsWithinTheLimits) {
  TaskResult result{.id = TaskId(1), .answer = std::vector<HopAnswer>(500'000)};
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
}  // namespace weft
