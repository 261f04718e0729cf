// `weft simulate` and `weft trace` on a fabric file of kind infiniband, as a user calls them.
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

constexpr const char* kFabric =
    "fabric: ib\nkind: infiniband\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 2, link: 400G}\nlab: {lmc: "
    "2}\n";

nlohmann::json swept(const std::vector<std::string>& more, int status, const char* text = kFabric) {
  const ScratchFile fabric(text);
  Arguments words{fabric.path(), "-o", "json"};
  words.insert(words.end(), more.begin(), more.end());
  const auto outcome = call(simulate_command, words);
  EXPECT_EQ(outcome.status, status) << outcome.out << outcome.err;
  expect_matches_schema(outcome.out, "diagnosis");
  return nlohmann::json::parse(outcome.out);
}

TEST(SimulateInfiniband, AHealthyFabricIsHealthyAndEveryChannelIsCrossed) {
  const auto document = swept({}, 0);
  EXPECT_TRUE(document["links"].empty());
  EXPECT_TRUE(document["coverage"]["missing"].empty());
  EXPECT_EQ(document["coverage"]["probed"], 2 * (4 * 4 + 8));
}

TEST(SimulateInfiniband, AnyTwoHostsOfAHealthyFabricAreHealthy) {
  for (const char* hosts : {"host1,host2", "host1,host3", "host2,host5,host8"}) {
    const auto document = swept({"--hosts", hosts}, 0);
    EXPECT_GT(document["coverage"]["out_of_scope"], 0) << hosts;
    EXPECT_EQ(document["coverage"]["probed"], document["coverage"]["channels"]) << hosts;
    EXPECT_GE(document["coverage"]["channels"], 4) << hosts;
  }
}

TEST(SimulateInfiniband, ALossyChannelIsNamedAlone) {
  const auto document = swept({"--fault", "leaf2--spine3:loss=2%,from=spine3"}, 1);
  ASSERT_EQ(document["links"].size(), 1u);
  EXPECT_EQ(document["links"][0]["link"], "leaf2--spine3");
  EXPECT_EQ(document["links"][0]["from"], "spine3");
  EXPECT_EQ(document["links"][0]["cause"], "loss");
}

TEST(SimulateInfiniband, ACableThatIsOutIsNamedAndRoutedAround) {
  const auto document = swept({"--fault", "leaf2--spine3:down"}, 2);
  ASSERT_EQ(document["links"].size(), 1u);
  EXPECT_EQ(document["links"][0]["link"], "leaf2--spine3");
  EXPECT_EQ(document["links"][0]["cause"], "down");
  EXPECT_EQ(document["probes"]["lost"], 0);
}

TEST(SimulateInfiniband, ALinkThatRunsSlowerThanItShouldIsNamed) {
  const auto document = swept({"--fault", "leaf1--spine1:rate=200G"}, 1);
  ASSERT_EQ(document["links"].size(), 1u);
  EXPECT_EQ(document["links"][0]["link"], "leaf1--spine1");
  EXPECT_EQ(document["links"][0]["cause"], "rate");
}

TEST(SimulateInfiniband, ChannelsThatNoRouteTakesAskForNoMorePairs) {
  // Three tiers polarise: 12 of 16 cores carry nothing. 32 NICs on 8 leaves have 7 partners each, and
  // two on their own leaf.
  const auto document = swept({}, 3,
                              "fabric: ib\nkind: infiniband\n"
                              "clos: {pods: 4, leaves: 2, spines: 4, cores: 16, hosts_per_leaf: 4}\n"
                              "lab: {lmc: 2}\n");
  EXPECT_EQ(document["coverage"]["missing"].size(), 96u);
  EXPECT_EQ(document["coverage"]["paths"], 32 * (7 * 4 + 2));
}

TEST(SimulateInfiniband, LabelsAreLidsAndEachTakesItsOwnPath) {
  const ScratchFile fabric(kFabric);
  const auto outcome = call(trace_command, {"host1", "host8", "--fabric", fabric.path(), "-o", "json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_matches_schema(outcome.out, "pathmap");
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(document["pairs"][0]["paths"].size(), 4u);
  for (const auto& path : document["pairs"][0]["paths"]) {
    ASSERT_EQ(path["labels"].size(), 1u);
    EXPECT_LT(path["labels"][0], 0xC000);
  }
}

TEST(SimulateInfiniband, ATraceRefusesWhatAsksForASubnetThatIsNotNamed) {
  const ScratchFile fabric(kFabric);
  const auto port = call(trace_command, {"host1", "host8", "--fabric", fabric.path(), "--port", "2"});
  EXPECT_EQ(port.status, 64);
  EXPECT_THAT(port.err, HasSubstr("add --device HCA"));
  const auto audit = call(trace_command, {"host1", "host8", "--fabric", fabric.path(), "--audit", "4"});
  EXPECT_EQ(audit.status, 64);
  EXPECT_THAT(audit.err, HasSubstr("on InfiniBand"));
}

TEST(SimulateInfiniband, MoreLidsThanThereAreIsSaid) {
  const ScratchFile fabric(
      "fabric: ib\nkind: infiniband\nclos: {leaves: 200, spines: 4, hosts_per_leaf: 40}\nlab: {lmc: 3}\n");
  const auto outcome = call(simulate_command, {fabric.path()});
  EXPECT_NE(outcome.status, 0);
  EXPECT_THAT(outcome.err, HasSubstr("8000 NICs with 8 LIDs each"));
}

}  // namespace
}  // namespace weft::cli
