// `weft topology discover` with packets: in a lab of which it uses nothing but names and addresses, and of
// hosts that a launcher reaches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
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
  EXPECT_THAT(answer.errors, HasSubstr("gave no LLDP table")) << "lldpd does not run here, which is no fault";
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

TEST(DiscoverLab, FindsEveryCableOfThreeTiers) {
  const LabUser user(
      "fabric: pods\nclos: {pods: 2, leaves: 2, spines: 2, cores: 2, hosts_per_leaf: 2, link: 50M}\n"
      "addresses: {plan: ipv4}\n");
  ASSERT_EQ(user.up().status, 0);
  const auto answer =
      user.weft({"topology", "discover", "--lab=" + user.lab, "--against", user.fabric_file(), "-o", "json"});
  EXPECT_EQ(answer.status, 0) << answer.errors << answer.output;
  const auto document = nlohmann::json::parse(answer.output);
  EXPECT_EQ(document["fabric"]["links"].size(), 20u);
  EXPECT_TRUE(document["unknown"].empty() && document["differences"].empty()) << answer.output;
}

/// The file of `cluster` in which these two hosts have changed places.
std::string with_hosts_swapped(const TestCluster& cluster, const std::string& one, const std::string& other) {
  std::ifstream in(cluster.live_file());
  std::string text(std::istreambuf_iterator<char>(in), {});
  const auto far_end = [&](const std::string& host) {
    const auto line = text.find("a: " + host + "/p1, b: ");
    const auto begin = text.find("b: ", line) + 3;
    return std::pair(begin, text.find(',', begin) - begin);
  };
  const auto [a, a_size] = far_end(one);
  const auto [b, b_size] = far_end(other);
  const auto at_a = text.substr(a, a_size), at_b = text.substr(b, b_size);
  text.replace(b, b_size, at_a);
  text.replace(a, a_size, at_b);
  const auto file = cluster.directory() / "swapped.yaml";
  std::ofstream(file) << text;
  return file;
}

TEST(DiscoverLab, OfAFileThatIsNearlyRightWhatIsWrongIsNamedAndNothingElse) {
  const TestCluster cluster;
  const auto answer = cluster.weft({"topology", "discover", "--lab=" + cluster.lab, "--against",
                                    with_hosts_swapped(cluster, "host2", "host3"), "-o", "json"});
  EXPECT_EQ(answer.status, 1) << answer.errors << answer.output;
  const auto differences = nlohmann::json::parse(answer.output)["differences"];
  EXPECT_EQ(differences.size(), 4u) << "both ends of two cables: " << differences;
  EXPECT_THAT(differences.dump(),
              HasSubstr("host2/p1 (10.0.1.3) is cabled to leaf1; the file says to leaf2/p1"));
  EXPECT_THAT(differences.dump(),
              HasSubstr("host3/p1 (10.0.2.1) is cabled to leaf2; the file says to leaf1/p2"));
  EXPECT_THAT(differences.dump(), testing::Not(HasSubstr("host1")));
}

TEST(DiscoverLab, ASwitchThatNeverAnswersIsAGapAndItsCablesAreNotClaimed) {
  const TestCluster cluster;
  const auto silenced = cluster.weft(
      {"lab", "exec", "spine2", "--name", cluster.lab, "--", "sh", "-c",
       "nft add table ip mute && nft add chain ip mute out '{ type filter hook output priority 0; }' && "
       "nft add rule ip mute out icmp type time-exceeded drop"});
  ASSERT_EQ(silenced.status, 0) << silenced.errors;
  const auto answer = cluster.weft({"topology", "discover", "--lab=" + cluster.lab});
  EXPECT_EQ(answer.status, 3) << answer.errors << answer.output;
  EXPECT_THAT(answer.output, HasSubstr("4 hosts with 4 NICs, 2 leaves, 1 spine"));
  EXPECT_THAT(answer.output, HasSubstr("6 cables: 4 of hosts, 2 between switches"));
  EXPECT_THAT(answer.output, HasSubstr("unknown: "));
}

TEST(DiscoverLab, EndsWithWhatIsKnownWhenItsTimeIsOver) {
  const TestCluster cluster;
  const auto began = std::chrono::steady_clock::now();
  const auto answer = cluster.weft(
      {"topology", "discover", "--lab=" + cluster.lab, "--answer-rate", "25", "--time-limit", "12s"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(40));
  EXPECT_EQ(answer.status, 3) << answer.errors << answer.output;
  EXPECT_THAT(answer.errors, HasSubstr("the traces are not complete"));
  EXPECT_THAT(answer.errors, HasSubstr("12s"));
}

}  // namespace
}  // namespace weft
