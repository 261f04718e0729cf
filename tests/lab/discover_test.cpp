// `weft topology discover` with packets: in a lab of which it uses nothing but names and addresses, and of
// hosts that a launcher reaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/schema.hpp"
#include "tests/support/test_cluster.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr const char* kRails =
    "fabric: rails\nrails: {groups: 2, hosts_per_group: 2, rails: 2, spines: 2, link: 50M}\n";

TEST(DiscoverLab, FindsEveryCableOfRailsAndDiffersFromTheFileInNothing) {
  const LabUser user(std::string(kRails) + "addresses: {plan: ipv4}\n");
  ASSERT_EQ(user.up().status, 0);
  const auto answer =
      user.weft({"topology", "discover", "--lab=" + user.lab, "--against", user.fabric_file(), "-o", "json"});
  EXPECT_EQ(answer.status, 0) << answer.errors << answer.output;
  const auto document = nlohmann::json::parse(answer.output);
  expect_matches_schema(answer.output, "discovery");
  EXPECT_EQ(document["fabric"]["links"].size(), 16u);
  EXPECT_TRUE(document["unknown"].empty() && document["differences"].empty()) << answer.output;
}

TEST(DiscoverLab, OverIpv6Too) {
  const LabUser user(std::string(kClusterFabric) + "lab: {family: ipv6}\n");
  ASSERT_EQ(user.up().status, 0);
  const auto answer = user.weft({"topology", "discover", "--lab=" + user.lab});
  EXPECT_EQ(answer.status, 0) << answer.errors << answer.output;
  EXPECT_THAT(answer.output, HasSubstr("8 cables: 4 of hosts, 4 between switches"));
}

TEST(DiscoverHosts, TheFileThatItWritesIsSweptWithoutAStranger) {
  const TestCluster cluster;
  const Words hosts{"--launcher", cluster.launcher(), "--listen", cluster.head_address()};
  Words words{"topology",    "discover",      "--hosts", "host[1-4]", "--subnet",
              "10.0.0.0/16", "--answer-rate", "10000",   "-o",        "yaml"};
  words.insert(words.end(), hosts.begin(), hosts.end());
  const auto found = cluster.on_head(words);
  ASSERT_EQ(found.status, 0) << found.errors << found.output;
  const auto file = cluster.directory() / "found.yaml";
  std::ofstream(file) << found.output;
  cluster.fault("leaf1--spine2", {"--down"});
  Words sweep{"sweep", "--fabric", file, "--budget", "2s", "--answer-rate", "10000", "-o", "json"};
  sweep.insert(sweep.end(), hosts.begin(), hosts.end());
  const auto swept = cluster.on_head(sweep);
  EXPECT_EQ(swept.status, 2) << swept.errors;
  EXPECT_EQ(swept.errors, "");
  const auto links = nlohmann::json::parse(swept.output)["links"];
  ASSERT_EQ(links.size(), 1u) << swept.output;
  EXPECT_THAT(links[0]["link"].get<std::string>(), HasSubstr("leaf1--spine"));
}

TEST(DiscoverHosts, AHostThatCannotBeReachedIsSaidAndTheRestIsDiscovered) {
  const TestCluster cluster;
  const auto launch = cluster.launcher_with("[ $1 = host3 ] && { echo 'no route to host3' >&2; exit 255; }");
  const auto answer =
      cluster.on_head({"topology", "discover", "--hosts", "host[1-4]", "--subnet", "10.0.0.0/16",
                       "--answer-rate", "10000", "--launcher", launch, "--listen", cluster.head_address()});
  EXPECT_EQ(answer.status, 3) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("host3: its NICs could not be asked for (exit status 255): no route"));
  EXPECT_THAT(answer.output, HasSubstr("3 hosts with 3 NICs, 2 leaves, 2 spines"));
}

TEST(DiscoverHosts, ThatHangCostTheirLimitOnce) {
  const TestCluster cluster;
  const auto launch = cluster.launcher_with("case $1 in host3|host4) exec sleep 600;; esac");
  const auto answer = cluster.on_head({"topology", "discover", "--hosts", "host[1-4]", "--subnet",
                                       "10.0.0.0/16", "--answer-rate", "10000", "--launcher", launch,
                                       "--listen", cluster.head_address(), "--gather", "3s"});
  EXPECT_EQ(answer.status, 3) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("host4: it did not answer in time"));
  EXPECT_THAT(answer.output, HasSubstr("2 hosts with 2 NICs"));
}

}  // namespace
}  // namespace weft
