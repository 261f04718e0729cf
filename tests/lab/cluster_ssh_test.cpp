// Agents started by a real ssh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/support/schema.hpp"
#include "tests/support/ssh_cluster.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr std::chrono::seconds kLimit{60};

TEST(ClusterBySsh, IsSweptAndAHostThatRefusesIsNotTested) {
  if (!is_true_root()) GTEST_SKIP() << "an ssh server needs to be root outside a user namespace";
  const SshCluster cluster;
  const auto answer = cluster.on_head(cluster.sweep_words(cluster.launcher(), "2s"));
  EXPECT_EQ(answer.status, 3) << answer.errors;
  expect_matches_schema(answer.output, "diagnosis");
  const auto document = Json::parse(answer.output, nullptr, false);
  EXPECT_TRUE(document["hosts"].empty()) << answer.output;
  const auto untested = document["coverage"]["not_tested"];
  ASSERT_EQ(untested.size(), 1u) << answer.output;
  EXPECT_EQ(untested[0]["host"], "host4");
  EXPECT_THAT(untested[0].dump(), HasSubstr("Connection refused"));
  EXPECT_GE(document["coverage"]["probed"], 14) << "all but the cable of host4: " << answer.output;
}

TEST(ClusterBySsh, TheDoctorKnowsHostsByNothingButTheirNames) {
  if (!is_true_root()) GTEST_SKIP() << "an ssh server needs to be root outside a user namespace";
  const SshCluster cluster;
  const auto answer = cluster.on_head({"doctor", "--hosts", "host[1-4]", "--launcher", cluster.launcher(),
                                       "--listen", cluster.head_address(), "-o", "json"});
  EXPECT_EQ(answer.status, 3) << answer.output << answer.errors;
  const auto findings = Json::parse(answer.output, nullptr, false)["findings"];
  ASSERT_EQ(findings.size(), 1u) << answer.output;
  EXPECT_EQ(findings[0]["trouble"], "unreachable");
  EXPECT_EQ(findings[0]["hosts"], Json{"host4"});
}

TEST(ClusterBySsh, RelaysReachWhomTheHeadReachesAndTheDoctorSaysWhomTheyDoNot) {
  if (!is_true_root()) GTEST_SKIP() << "an ssh server needs to be root outside a user namespace";
  const SshCluster cluster;
  const auto answer =
      cluster.on_head({"doctor", "--hosts", "host[1-4]", "--launcher", cluster.launcher(), "--listen",
                       cluster.head_address(), "--fan-out", "tree", "-o", "json"});
  EXPECT_EQ(answer.status, 3) << answer.output << answer.errors;
  // host1 asks host2; host3 cannot ask host4, and neither can the head.
  EXPECT_THAT(Json::parse(answer.output, nullptr, false)["notes"].dump(),
              HasSubstr("no relay reached them (--fan-out tree): 1 of 4 hosts; host4: "));
}

TEST(ClusterBySsh, HostsStartTheAgentsOfOthersByTheSameSsh) {
  if (!is_true_root()) GTEST_SKIP() << "an ssh server needs to be root outside a user namespace";
  const SshCluster cluster;
  auto words = cluster.sweep_words(cluster.launcher(), "2s");
  words.insert(words.end(), {"--fan-out", "tree"});
  const auto answer = cluster.on_head(words);
  EXPECT_EQ(answer.status, 3) << answer.errors;
  const auto document = Json::parse(answer.output, nullptr, false);
  const auto untested = document["coverage"]["not_tested"];
  ASSERT_EQ(untested.size(), 1u) << answer.output;
  EXPECT_EQ(untested[0]["host"], "host4");
  EXPECT_THAT(untested[0].dump(), HasSubstr("Connection refused"));
  EXPECT_GE(document["coverage"]["probed"], 14) << "all but the cable of host4: " << answer.output;
}

TEST(ClusterBySsh, AgentsEndByThemselvesWhenTheCoordinatorIsKilled) {
  if (!is_true_root()) GTEST_SKIP() << "an ssh server needs to be root outside a user namespace";
  const SshCluster cluster;
  auto command = cluster.start_on_head(cluster.sweep_words(cluster.launcher(), "20s"));
  std::vector<pid_t> agents;
  for (int look = 0; look < 200 && agents.size() < 3; ++look) {
    usleep(50'000);
    agents = cluster.agents();
  }
  ASSERT_EQ(agents.size(), 3u) << text_of(cluster.directory() / "host1.sshd");
  EXPECT_TRUE(probes_from(agents[0], 100));
  command.signal(SIGKILL);
  command.wait(kLimit);
  EXPECT_TRUE(all_gone(agents));
}

}  // namespace
}  // namespace weft
