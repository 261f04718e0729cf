// `weft sweep --fabric` and `weft trace --fabric` over hosts that are reached by a launcher, as on a cluster.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/schema.hpp"
#include "tests/support/sweep_document.hpp"
#include "tests/support/test_cluster.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/network_namespace.hpp"
#include "topology/os/socket_address.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds kLimit{60};

TEST(Cluster, IsSweptByAgentsThatALauncherStarts) {
  const TestCluster cluster;
  cluster.fault("leaf1--spine2", {"--down"});
  const auto answer = cluster.on_head(cluster.sweep_words(cluster.launcher()));
  EXPECT_EQ(answer.status, 2) << answer.errors;
  const auto document = document_of(answer);
  ASSERT_EQ(document["links"].size(), 1u) << answer.output;
  EXPECT_EQ(document["links"][0]["link"], "leaf1--spine2");
  EXPECT_EQ(document["links"][0]["cause"], "down");
  EXPECT_TRUE(document["hosts"].empty()) << answer.output;
  EXPECT_EQ(answer.errors, "");
  EXPECT_TRUE(std::filesystem::is_empty(cluster.temporary()));
}

Words by_tree(Words words) {
  words.insert(words.end(), {"--fan-out", "tree"});
  return words;
}

TEST(Cluster, HostsThatWereReachedStartTheAgentsOfOthers) {
  const TestCluster cluster;
  const auto log = (cluster.directory() / "logins").string();
  const auto launch = cluster.launcher_with("echo $1 $3 >> " + log);
  const auto answer = cluster.on_head(by_tree(cluster.sweep_words(launch)));
  EXPECT_EQ(answer.status, 0) << answer.output << answer.errors;
  EXPECT_EQ(document_of(answer)["coverage"]["probed"], 16) << answer.output;
  const auto logins = text_of(log);
  for (const char* line : {"host1 relay\n", "host2 agent\n", "host3 relay\n", "host4 agent\n"})
    EXPECT_THAT(logins, HasSubstr(line));
  EXPECT_EQ(std::ranges::count(logins, '\n'), 4);
  EXPECT_TRUE(std::filesystem::is_empty(cluster.temporary()));
}

TEST(Cluster, ARelayThatHangsLosesNobodyButItself) {
  const TestCluster cluster;
  const auto launch = cluster.launcher_with("[ $1 = host3 ] && exec sleep 600");
  auto words = by_tree(cluster.sweep_words(launch));
  words.insert(words.end(), {"--gather", "20s"});
  const auto answer = cluster.on_head(words);
  EXPECT_EQ(answer.status, 3) << answer.errors;
  const auto document = document_of(answer);
  EXPECT_THAT(untested(document, "host3"), HasSubstr("did not come"));
  EXPECT_GE(document["coverage"]["probed"], 14) << "all but the cable of host3: " << answer.output;
}

TEST(Cluster, AHostThatItsRelayCannotReachIsReachedFromTheHead) {
  const TestCluster cluster;
  const auto first = (cluster.directory() / "first").string();
  const auto launch = cluster.launcher_with("[ $1 = host4 ] && [ ! -e " + first + " ] && { touch " + first +
                                            "; echo 'no key' >&2; exit 255; }");
  const auto answer = cluster.on_head(by_tree(cluster.sweep_words(launch)));
  EXPECT_EQ(answer.status, 0) << answer.output << answer.errors;
  EXPECT_EQ(document_of(answer)["coverage"]["probed"], 16) << answer.output;
}

TEST(Cluster, IsSweptOverIpv6) {
  const TestCluster cluster("ipv6");
  const auto answer = cluster.on_head(cluster.sweep_words(cluster.launcher()));
  EXPECT_EQ(answer.status, 0) << answer.errors << answer.output;
  EXPECT_EQ(document_of(answer)["coverage"]["probed"], 16) << answer.output;
}

TEST(Cluster, AHostThatCannotBeReachedIsNotTestedAndTheRestIsSwept) {
  const TestCluster cluster;
  const auto launch = cluster.launcher_with("[ $1 = host3 ] && { echo 'no route to host3' >&2; exit 255; }");
  const auto answer = cluster.on_head(cluster.sweep_words(launch));
  EXPECT_EQ(answer.status, 3) << answer.errors;
  const auto document = document_of(answer);
  EXPECT_THAT(untested(document, "host3"), HasSubstr("no route to host3"));
  EXPECT_TRUE(document["hosts"].empty()) << answer.output;
  EXPECT_FALSE(names_a_switch_link(document)) << answer.output;
  EXPECT_GE(document["coverage"]["probed"], 14) << "all but the cable of host3: " << answer.output;
}

TEST(Cluster, AHostThatSaysWithoutEndIsEndedBeforeItFillsTheDisk) {
  const TestCluster cluster;
  const auto answer = cluster.on_head(
      cluster.sweep_words(cluster.launcher_with("[ $1 = host3 ] && exec yes 'a warning' >&2")));
  EXPECT_EQ(answer.status, 3) << answer.errors;
  EXPECT_THAT(untested(document_of(answer), "host3"), HasSubstr("said more than 1 MB on stderr"));
}

TEST(Cluster, AHostThatHangsIsWaitedForAsLongAsAsked) {
  const TestCluster cluster;
  auto words = cluster.sweep_words(cluster.launcher_with("[ $1 = host2 ] && exec sleep 600"));
  words.insert(words.end(), {"--gather", "3s"});
  const auto answer = cluster.on_head(words);
  EXPECT_EQ(answer.status, 3) << answer.errors;
  EXPECT_THAT(untested(document_of(answer), "host2"), HasSubstr("did not come"));
  EXPECT_FALSE(names_a_switch_link(document_of(answer))) << answer.output;
}

TEST(Cluster, HostsThatAreLeftOutAreNoGap) {
  const TestCluster cluster;
  auto words = cluster.sweep_words(cluster.launcher());
  words[4] = "host[1,3]";
  const auto answer = cluster.on_head(words);
  EXPECT_EQ(answer.status, 0) << answer.output << answer.errors;
  EXPECT_EQ(document_of(answer)["coverage"]["complete"], true) << answer.output;
  words[4] = "host[1-2]";
  const auto under_one_leaf = cluster.on_head(words);
  EXPECT_EQ(under_one_leaf.status, 0) << under_one_leaf.output << under_one_leaf.errors;
  EXPECT_EQ(document_of(under_one_leaf)["coverage"]["channels"], 4) << under_one_leaf.output;
  EXPECT_EQ(document_of(under_one_leaf)["coverage"]["out_of_scope"], 12) << under_one_leaf.output;
}

TEST(Cluster, ANicWhoseAddressItsHostDoesNotHaveIsAFinding) {
  const TestCluster cluster;
  auto words = cluster.sweep_words(cluster.launcher());
  std::string text = text_of(cluster.live_file());
  text.replace(text.find("\"10.0.1.1\""), 10, "\"10.7.7.7\"");
  std::ofstream(cluster.live_file()) << text;
  const auto answer = cluster.on_head(words);
  EXPECT_EQ(answer.status, 2) << answer.errors;
  EXPECT_THAT(said_of(document_of(answer), "host1"),
              HasSubstr("no interface of this host has the address 10.7.7.7"))
      << answer.output;
}

TEST(Cluster, HopsWithAddressesThatTheFileDoesNotListAreNamed) {
  const TestCluster cluster;
  std::ifstream in(cluster.live_file());
  std::string kept;
  for (std::string line; std::getline(in, line);)
    if (line.find("    spine1/") == std::string::npos) kept += line + "\n";
  std::ofstream(cluster.live_file()) << kept;
  auto words = cluster.sweep_words(cluster.launcher());
  words.insert(words.end(), {"--save", cluster.directory() / "saved.json"});
  const auto answer = cluster.on_head(words);
  EXPECT_EQ(answer.status, 0) << answer.output << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("2 addresses that the fabric file does not list"));
  EXPECT_THAT(answer.errors, HasSubstr("(hop 2 from host"));
  EXPECT_TRUE(answer.output.ends_with("}\n") && !answer.output.ends_with("\n\n"));
}

/// The passwords of the run's nats-server, from the file that only we may read.
std::vector<std::string> passwords_of(const TestCluster& cluster) {
  std::vector<std::string> passwords;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(cluster.temporary())) {
    if (entry.path().filename() != "nats.conf") continue;
    const std::string text = text_of(entry.path());
    constexpr std::string_view kBefore = "password: \"";
    for (auto at = text.find(kBefore); at != std::string::npos; at = text.find(kBefore, at + 1)) {
      const auto begin = at + kBefore.size();
      passwords.push_back(text.substr(begin, text.find('"', begin) - begin));
    }
  }
  return passwords;
}

std::string text_of_process(pid_t process, const char* file) {
  return text_of(fmt::format("/proc/{}/{}", process, file));
}

/// A sweep that probes: its launchers, and below them the agents.
struct Probing {
  RunningCommand command;
  std::vector<pid_t> processes;
};

Probing start_probing(const TestCluster& cluster) {
  Probing probing{cluster.start_on_head(cluster.sweep_words(cluster.launcher(), "6s")), {}};
  const auto launcher = child_with_word(probing.command.pid(), "host2");
  EXPECT_TRUE(launcher);
  const auto agent = child_with_word(launcher.value_or(0), "agent");
  EXPECT_TRUE(agent);
  EXPECT_TRUE(probes_from(agent.value_or(0), 400));
  probing.processes = children_of(probing.command.pid());
  for (const pid_t child : children_of(probing.command.pid()))
    for (const pid_t grandchild : children_of(child)) probing.processes.push_back(grandchild);
  EXPECT_EQ(probing.processes.size(), 11u)
      << "4 launchers, 4 agents, nats-server, the removers of two scratch directories";
  return probing;
}

TEST(Cluster, TheCredentialIsOnNoCommandLineAndInNoEnvironment) {
  const TestCluster cluster;
  auto probing = start_probing(cluster);
  const auto passwords = passwords_of(cluster);
  ASSERT_EQ(passwords.size(), 5u) << "the coordinator's and four agents'";
  for (const pid_t process : probing.processes)
    for (const char* file : {"cmdline", "environ"})
      for (const std::string& password : passwords)
        EXPECT_THAT(text_of_process(process, file), Not(HasSubstr(password))) << file;
  probing.command.signal(SIGINT);
  EXPECT_EQ(probing.command.wait(kLimit).status, 130);
}

TEST(Cluster, CtrlCEndsTheAgentsEverywhere) {
  const TestCluster cluster;
  auto probing = start_probing(cluster);
  probing.command.signal(SIGINT);
  const auto answer = probing.command.wait(kLimit);
  EXPECT_EQ(answer.status, 130) << answer.errors;
  EXPECT_THAT(answer.output, testing::AnyOf(testing::IsEmpty(), HasSubstr("interrupted")));
  EXPECT_TRUE(all_gone(probing.processes));
  EXPECT_TRUE(std::filesystem::is_empty(cluster.temporary()));
}

TEST(Cluster, CtrlCEndsALauncherThatHangsAndWhatItStarted) {
  const TestCluster cluster;
  auto command = cluster.start_on_head(
      cluster.sweep_words(cluster.launcher_with("trap '' TERM; sleep 600; sleep 600; exit 1")));
  const auto launcher = child_with_word(command.pid(), "host4");
  ASSERT_TRUE(launcher);
  const auto below = child_with_word(*launcher, "600");
  ASSERT_TRUE(below);
  command.signal(SIGINT);
  EXPECT_EQ(command.wait(kLimit).status, 130);
  EXPECT_TRUE(all_gone({*launcher, *below}));
}

TEST(Cluster, AgentsEndWhenTheirCoordinatorIsKilled) {
  const TestCluster cluster;
  auto probing = start_probing(cluster);
  probing.command.signal(SIGKILL);
  probing.command.wait(kLimit);
  EXPECT_TRUE(all_gone(probing.processes));
  EXPECT_TRUE(becomes_empty(cluster.temporary()));
}

/// Within ten seconds somebody takes connections at the head's address.
bool listens_soon(const TestCluster& cluster, std::uint16_t port) {
  const auto visit = os::NamespaceVisit::enter(cluster.opened().management_namespace());
  if (!visit) return false;
  const auto at = os::socket_address(cluster.opened().coordinator_address(), UdpPort(port));
  for (int attempt = 0; attempt < 200;
       ++attempt, std::this_thread::sleep_for(std::chrono::milliseconds(50))) {
    const os::FileDescriptor line(socket(at.get()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(line.get(), at.get(), at.size) == 0) return true;
  }
  return false;
}

TEST(Cluster, UsesAServerThatRunsAndRefusesAWrongCredential) {
  const TestCluster cluster;
  const auto place = "--net=" + cluster.opened().management_namespace().string();
  auto server = os::ChildProcess::start({.argv = {"nsenter", place, "nats-server", "-a",
                                                  cluster.head_address(), "-p", "4222", "--auth", "sesame"},
                                         .output = os::ToNothing{},
                                         .errors = os::ToNothing{}});
  ASSERT_TRUE(server);
  const auto url = "nats://" + cluster.head_address() + ":4222";
  auto words = cluster.sweep_words(cluster.launcher());
  words[7] = "--server";
  words[8] = url;
  ASSERT_TRUE(listens_soon(cluster, 4222));
  const auto answer = cluster.on_head(words, {"WEFT_BUS_TOKEN=sesame"});
  EXPECT_EQ(answer.status, 0) << answer.errors << answer.output;
  const auto refused = cluster.on_head(words, {"WEFT_BUS_TOKEN=wrong"});
  EXPECT_EQ(refused.status, 69);
  EXPECT_THAT(refused.errors, HasSubstr("refuses the credential"));
  const auto agent =
      cluster.on_head({"agent", "--server", url, "--run", "1", "--host", "host1", "--nic", "10.0.1.1"},
                      {"WEFT_BUS_TOKEN=wrong"});
  EXPECT_EQ(agent.status, 69);
  EXPECT_THAT(agent.errors, HasSubstr("refuses the credential"));
}

TEST(Cluster, SaysThatTheLauncherIsMissing) {
  const TestCluster cluster;
  const auto answer = cluster.on_head(cluster.sweep_words("/nonexistent/launch {host}"));
  EXPECT_EQ(answer.status, 69);
  EXPECT_THAT(answer.errors, HasSubstr("cannot run '/nonexistent/launch': no such program"));
  EXPECT_EQ(answer.output, "");
}

TEST(Cluster, SaysThatItCannotListenThere) {
  const TestCluster cluster;
  auto words = cluster.sweep_words(cluster.launcher());
  words[8] = "192.0.2.1";
  const auto answer = cluster.on_head(words);
  EXPECT_EQ(answer.status, 69);
  EXPECT_THAT(answer.errors, HasSubstr("192.0.2.1"));
}

TEST(Cluster, IsTracedOverTheTwoHostsOfThePair) {
  const TestCluster cluster;
  const Words common{"trace", "host1", "host4", "--labels", "16", "-o", "json"};
  auto words = common;
  words.insert(words.end(), {"--fabric", cluster.live_file(), "--launcher", cluster.launcher(), "--listen",
                             cluster.head_address()});
  const auto live = cluster.on_head(words);
  EXPECT_EQ(live.status, 0) << live.errors;
  expect_matches_schema(live.output, "pathmap");
  auto in_lab = common;
  in_lab.push_back("--lab=" + cluster.lab);
  const auto expected = cluster.weft(in_lab);
  EXPECT_EQ(Json::parse(live.output)["pairs"], Json::parse(expected.output)["pairs"]);
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Cluster, EndsWhenItsTimeIsOverWithWhatIsKnown) {
  const TestCluster cluster;
  auto words = cluster.sweep_words(cluster.launcher_with("[ $1 = host2 ] && exec sleep 600"));
  words.insert(words.end(), {"--timeout", "3s"});
  const auto begin = std::chrono::steady_clock::now();
  const auto gathering = cluster.on_head(words);
  EXPECT_LE(seconds_since(begin), 3 + 5);
  EXPECT_EQ(gathering.status, 3) << gathering.errors;
  const auto document = document_of(gathering);
  EXPECT_THAT(document["coverage"]["cut_short"].dump(), HasSubstr("--timeout 3s"));
  EXPECT_THAT(untested(document, "host2"), HasSubstr("did not come before the time given was over"));
  words = cluster.sweep_words(cluster.launcher(), "60s");
  words.insert(words.end(), {"--timeout", "6s"});
  const auto again = std::chrono::steady_clock::now();
  const auto probing = cluster.on_head(words);
  EXPECT_LE(seconds_since(again), 6 + 5);
  EXPECT_EQ(probing.status, 3) << probing.errors;
  EXPECT_THAT(document_of(probing)["coverage"]["cut_short"].dump(), HasSubstr("was over while"));
  EXPECT_EQ(document_of(probing)["verdict"], "unknown") << probing.output;
}

TEST(Cluster, ChoosesItsEngineAndSaysWhy) {
  const TestCluster cluster;
  const auto document = document_of(cluster.on_head(cluster.sweep_words(cluster.launcher())));
  EXPECT_EQ(document["engine"]["name"], "raw");
  EXPECT_EQ(document["engine"]["why"], "none of the 4 NICs has an RDMA device");
}

TEST(Cluster, ADryRunStartsNoAgentAndTellsWhatTheSweepThenSends) {
  const TestCluster cluster;
  const auto started = cluster.directory() / "started";
  auto words = cluster.sweep_words(cluster.launcher_with("touch " + started.string()));
  words.emplace_back("--dry-run");
  const auto dry = cluster.on_head(words);
  EXPECT_EQ(dry.status, 0) << dry.errors;
  EXPECT_FALSE(std::filesystem::exists(started));
  expect_matches_schema(dry.output, "dryrun");
  const auto told = Json::parse(dry.output, nullptr, false);
  words.pop_back();
  const auto swept = document_of(cluster.on_head(words));
  std::uint64_t probes = 0;
  for (const auto& stage : told["stages"])
    if (stage.contains("size_bytes")) probes += stage["packets"].get<std::uint64_t>();
  const auto sent = swept["probes"]["sent"].get<double>();
  EXPECT_NEAR(static_cast<double>(probes), sent, sent * 0.1) << dry.output;
}

}  // namespace
}  // namespace weft
