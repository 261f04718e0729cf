// The options of the load as people give them, and what a pattern finds on a simulated fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kClos =
    "fabric: a\nkind: roce\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 2}\nlab: {link_rate: 50M}\n";

TEST(LoadOptions, ThatMakeNoSenseAreRefusedWithWhatIsExpected) {
  const std::vector<std::pair<Arguments, std::string>> wrong{
      {{"--load", "full", "--pattern", "ring"}, "expected links, incast or all-pairs"},
      {{"--pattern", "incast", "--load", "none"}, "--load light or --load full"},
      {{"--load", "light", "--pattern", "incast", "--labels", "even"}, "expected assigned or random"},
      {{"--labels", "random"}, "--labels is for --pattern incast and all-pairs"},
      {{"--operation", "write"}, "needs --engine verbs"},
      {{"--busy-poll"}, "needs --engine verbs"},
      {{"--engine", "verbs", "--operation", "atomic"}, "expected write, read or send"},
      {{"--engine", "verbs", "--qps", "0"}, "expected 1 to 64"},
      {{"--engine", "verbs", "--qps", "-3"}, "expected 1 to 64"},
      {{"--engine", "verbs", "--depth", "65"}, "expected 1 to 64"},
      {{"--engine", "verbs", "--message", "2MiB"}, "--message 2MiB: expected 64B to 1MiB"},
      {{"--engine", "verbs", "--message", "many"}, "--message"},
      {{"--engine", "verbs", "--volume", "0"}, "--volume"},
      {{"--load-time", "1ms"}, "100ms at least"},
      {{"--load-time", "1h"}, "at most"},
  };
  const ScratchFile fabric(std::string(kClos) + "addresses: {plan: ipv4}\n");
  for (const auto& [words, part] : wrong) {
    Arguments all{"--fabric", fabric.path()};
    all.insert(all.end(), words.begin(), words.end());
    const auto outcome = call(sweep_command, all);
    EXPECT_EQ(outcome.status, 64) << part;
    EXPECT_THAT(outcome.err, HasSubstr(part));
  }
}

Json simulated(Arguments words) {
  const ScratchFile fabric(kClos);
  words.insert(words.begin(), fabric.path());
  words.insert(words.end(), {"-o", "json"});
  const auto outcome = call(simulate_command, words);
  expect_matches_schema(outcome.out, "diagnosis");
  return Json::parse(outcome.out, nullptr, false);
}

class Pattern : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Both, Pattern, testing::Values("incast", "all-pairs"));

TEST_P(Pattern, GivesEveryFlowOfAHealthyFabricItsRight) {
  const auto document = simulated({"--pattern", GetParam()});
  EXPECT_EQ(document["verdict"], "healthy");
  ASSERT_EQ(document["flows"]["flows"].size(), 8u * 7u) << "every pair";
  ASSERT_EQ(document["flows"]["receivers"].size(), 8u);
  for (const auto& receiver : document["flows"]["receivers"])
    EXPECT_GT(receiver["slowest_share"].get<double>(), 0.95) << receiver;
  EXPECT_TRUE(document["flows"]["slow"].empty());
}

TEST_P(Pattern, NamesTheHostWhoseCableIsSlowAndNotItsPartners) {
  const auto document = simulated({"--pattern", GetParam(), "--fault", "host3--leaf2:rate=100G,from=leaf2"});
  ASSERT_EQ(document["flows"]["slow"].size(), 1u) << document["flows"]["slow"];
  EXPECT_EQ(document["flows"]["slow"][0]["nic"], "host3");
  EXPECT_EQ(document["flows"]["slow"][0]["receives"], true);
  EXPECT_EQ(document["verdict"], "degraded");
  for (const auto& host : document["hosts"]) EXPECT_EQ(host["host"], "host3") << host;
  for (const auto& link : document["links"]) EXPECT_EQ(link["link"], "host3--leaf2") << link;
}

}  // namespace
}  // namespace weft::cli
