// Trouble of weft itself, of its server and of what starts its agents: no host is blamed for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "probes/session/messages.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/sweep_document.hpp"
#include "tests/support/test_cluster.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds kLimit{60};

/// A sweep whose agents probe.
RunningCommand start_probing(const TestCluster& cluster) {
  auto command = cluster.start_on_head(cluster.sweep_words(cluster.launcher(), "8s"));
  const auto launcher = child_with_word(command.pid(), "host2");
  EXPECT_TRUE(launcher);
  const auto agent = child_with_word(launcher.value_or(0), "agent");
  EXPECT_TRUE(agent);
  EXPECT_TRUE(probes_from(agent.value_or(0), 400));
  return command;
}

void expect_nobody_blamed(const nlohmann::json& document) {
  for (const char* what : {"hosts", "links", "groups", "sets", "ambiguous", "fabric_wide"})
    EXPECT_TRUE(!document.contains(what) || document[what].empty()) << what << ": " << document;
}

/// Stops `process` for a while in the midst of a sweep.
void stop_for(pid_t process, std::chrono::seconds pause) {
  ASSERT_EQ(kill(process, SIGSTOP), 0);
  std::this_thread::sleep_for(pause);
  ASSERT_EQ(kill(process, SIGCONT), 0);
}

TEST(ToolFault, ACoordinatorThatIsStoppedForSixSecondsBlamesNobody) {
  const TestCluster cluster;
  auto command = start_probing(cluster);
  stop_for(command.pid(), std::chrono::seconds(6));
  const auto answer = command.wait(kLimit);
  EXPECT_EQ(answer.status, 0) << answer.errors << answer.output;
  const auto document = document_of(answer);
  expect_nobody_blamed(document);
  EXPECT_TRUE(document["coverage"]["not_tested"].empty()) << document;
}

TEST(ToolFault, AServerThatIsStoppedForFiveSecondsBlamesNobody) {
  const TestCluster cluster;
  auto command = start_probing(cluster);
  const auto server = child_with_word(command.pid(), "nats-server");
  ASSERT_TRUE(server);
  stop_for(*server, std::chrono::seconds(5));
  const auto answer = command.wait(kLimit);
  EXPECT_EQ(answer.status, 0) << answer.errors << answer.output;
  const auto document = document_of(answer);
  expect_nobody_blamed(document);
  EXPECT_TRUE(document["coverage"]["not_tested"].empty()) << document;
}

TEST(ToolFault, AServerThatIsKilledEndsTheSweepWithWhatIsKnownAndBlamesNobody) {
  const TestCluster cluster;
  auto command = start_probing(cluster);
  const auto server = child_with_word(command.pid(), "nats-server");
  ASSERT_TRUE(server);
  ASSERT_EQ(kill(*server, SIGKILL), 0);
  const auto answer = command.wait(kLimit);
  EXPECT_EQ(answer.status, 3) << answer.errors << answer.output;
  const auto document = document_of(answer);
  expect_nobody_blamed(document);
  EXPECT_EQ(document["coverage"]["complete"], false);
  EXPECT_THAT(document["coverage"]["cut_short"].get<std::string>(), HasSubstr("NATS server is lost"));
}

TEST(ToolFault, AServerThatStaysStoppedEndsTheSweepToo) {
  const TestCluster cluster;
  auto command = start_probing(cluster);
  const auto server = child_with_word(command.pid(), "nats-server");
  ASSERT_TRUE(server);
  ASSERT_EQ(kill(*server, SIGSTOP), 0);
  const auto answer = command.wait(kLimit);
  EXPECT_EQ(answer.status, 3) << answer.errors << answer.output;
  expect_nobody_blamed(document_of(answer));
  EXPECT_TRUE(all_gone({*server}));
}

/// No host takes part: 69, and a sentence with these words.
void expect_refusal(const Answer& answer, const std::string& words) {
  EXPECT_EQ(answer.status, 69) << answer.errors << answer.output;
  EXPECT_THAT(answer.errors, StartsWith("weft: none of 4 hosts took part; host"));
  EXPECT_THAT(answer.errors, HasSubstr(words));
  EXPECT_EQ(answer.output, "");
}

TEST(ToolFault, ALauncherThatFailsIsNoHostsFault) {
  const TestCluster cluster;
  expect_refusal(cluster.on_head(cluster.sweep_words("false {host}")), "its agent ended (exit status 1)");
}

TEST(ToolFault, NamesThatSshCannotResolveAreNoHostsFault) {
  const TestCluster cluster;
  expect_refusal(cluster.on_head(cluster.sweep_words("ssh")), "ssh: ");
}

TEST(ToolFault, AWrongProgramIsNoHostsFault) {
  const TestCluster cluster;
  auto words = cluster.sweep_words(cluster.launcher());
  words.insert(words.end(), {"--agent-program", "/nonexistent/weft"});
  expect_refusal(cluster.on_head(words), "/nonexistent/weft");
  words.back() = "/bin/false";
  expect_refusal(cluster.on_head(words), "its agent ended");
}

/// A launcher that puts `before` in front of the agent.
std::string launcher_through(const TestCluster& cluster, const std::string& before) {
  const auto script = cluster.directory() / "through.sh";
  std::ofstream(script) << "host=$1; shift; exec " << cluster.program() << " lab exec $host --name "
                        << cluster.lab << " -- " << before << " \"$@\"\n";
  return "sh " + script.string() + " {host}";
}

TEST(ToolFault, AMissingCapabilityIsNoHostsFault) {
  const TestCluster cluster;
  const auto launch = launcher_through(cluster, "setpriv --bounding-set=-net_raw");
  expect_refusal(cluster.on_head(cluster.sweep_words(launch)), "CAP_NET_RAW");
}

TEST(ToolFault, AnotherProtocolIsNoHostsFault) {
  const TestCluster cluster;
  const auto copy = cluster.directory() / "other";
  std::filesystem::copy_file(cluster.program(), copy);
  // Its greeting names no protocol, as one of a version from before they had numbers.
  ASSERT_EQ(std::system(fmt::format("sed -i s/protocol/protocal/g {}", copy.string()).c_str()), 0);
  auto words = cluster.sweep_words(cluster.launcher());
  words.insert(words.end(), {"--agent-program", copy});
  expect_refusal(cluster.on_head(words),
                 fmt::format("and speaks protocol 1, this one speaks {}", session::kProtocol));
}

TEST(ToolFault, ATemporaryDirectoryThatIsNotThereOrFullIsNoHostsFault) {
  const TestCluster cluster;
  auto words = cluster.sweep_words(cluster.launcher());
  const auto missing = cluster.on_head(words, {"TMPDIR=/nonexistent"});
  EXPECT_EQ(missing.status, 69) << missing.errors;
  EXPECT_THAT(missing.errors, HasSubstr("TMPDIR"));
  const auto full = cluster.directory() / "full";
  std::filesystem::create_directory(full);
  const auto place = "--net=" + cluster.opened().management_namespace().string();
  const auto answer =
      cluster
          .start_after(
              {"unshare", "--mount", "sh", "-c",
               "mount -t tmpfs -o size=4k none $0 && head -c 4096 /dev/zero > $0/x; export TMPDIR=$0; "
               "exec nsenter \"$@\"",
               full, place},
              words)
          .wait(kLimit);
  EXPECT_EQ(answer.status, 69) << answer.errors << answer.output;
  EXPECT_EQ(answer.output, "");
}

TEST(ToolFault, AnAgentThatIsStoppedForAWhileBlamesNoCable) {
  const TestCluster cluster;
  auto command = start_probing(cluster);
  const auto launcher = child_with_word(command.pid(), "host2");
  ASSERT_TRUE(launcher);
  const auto agent = child_with_word(*launcher, "agent");
  ASSERT_TRUE(agent);
  stop_for(*agent, std::chrono::seconds(2));
  const auto answer = command.wait(kLimit);
  EXPECT_THAT(answer.status, testing::AnyOf(0, 3)) << answer.errors << answer.output;
  const auto document = document_of(answer);
  for (const char* what : {"links", "groups", "sets", "fabric_wide"})
    EXPECT_TRUE(!document.contains(what) || document[what].empty()) << what << ": " << document;
  for (const auto& host : document["hosts"]) {
    EXPECT_EQ(host["host"], "host2") << document;
    EXPECT_EQ(host["verdict"], "unknown") << document;
  }
}

TEST(ToolFault, AnAgentThatIsKilledIsNotTestedAndTheRestIs) {
  const TestCluster cluster;
  auto command = start_probing(cluster);
  const auto launcher = child_with_word(command.pid(), "host2");
  ASSERT_TRUE(launcher);
  ASSERT_TRUE(send_signal(child_with_word(*launcher, "agent"), SIGKILL));
  const auto answer = command.wait(kLimit);
  EXPECT_EQ(answer.status, 3) << answer.errors << answer.output;
  const auto document = document_of(answer);
  expect_nobody_blamed(document);
  ASSERT_EQ(document["coverage"]["not_tested"].size(), 1u) << answer.output;
  EXPECT_EQ(document["coverage"]["not_tested"][0]["host"], "host2");
}

}  // namespace
}  // namespace weft
