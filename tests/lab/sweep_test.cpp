// `weft sweep` as people run it, in a lab: what it finds, and what becomes of it when its agents, its server
// or its user go away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>

#include "tests/support/lab_user.hpp"
#include "tests/support/sweep_document.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kFabric =
    "fabric: small\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";
constexpr std::chrono::seconds kLimit{40};

/// A lab that is up.
class SweepLab : public LabUser {
 public:
  explicit SweepLab(const char* fabric = kFabric) : LabUser(fabric) {
    const auto answer = up();
    EXPECT_EQ(answer.status, 0) << answer.errors;
  }
  std::vector<std::string> sweep_words(const char* load = "none", const char* budget = "2s") const {
    return {"sweep", "--lab=" + lab, "--load", load, "--budget", budget, "-o", "json"};
  }
  Answer sweep(const char* load = "none") const { return weft(sweep_words(load)); }
  /// `weft lab status`, without the time it was asked.
  Json status() const {
    auto json = Json::parse(weft({"lab", "status", "--name", lab, "-o", "json"}).output);
    json.erase("generated_at");
    return json;
  }
};

/// A sweep that probes, with all its agents at work.
struct Probing {
  RunningCommand command;
  std::vector<pid_t> children;
  std::optional<pid_t> agent_of_host2;
};

Probing start_probing(const SweepLab& lab) {
  Probing probing{lab.start(lab.sweep_words("none", "6s")), {}};
  probing.agent_of_host2 = child_with_word(probing.command.pid(), "host2");
  EXPECT_TRUE(probing.agent_of_host2) << "no agent of host2";
  // Beyond what mapping the paths sends: these are probes.
  EXPECT_TRUE(probes_from(probing.agent_of_host2.value_or(probing.command.pid()), 400));
  probing.children = children_of(probing.command.pid());
  EXPECT_EQ(probing.children.size(), 7u) << "4 agents, nats-server, who would remove their two directories";
  return probing;
}

TEST(Sweep, ToleratesWhatTheFileOfTheLabSays) {
  const SweepLab lab(
      "fabric: small\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\ntolerate: {delay: 100ms}\n");
  for (const char* cable : {"leaf1--spine1", "leaf1--spine2", "leaf2--spine1", "leaf2--spine2"})
    lab.fault(cable, {"--delay", "3ms"});
  const auto tolerated = lab.sweep();
  EXPECT_EQ(tolerated.status, 0) << tolerated.output;
  auto words = lab.sweep_words();
  words.insert(words.end(), {"--tolerate", "delay=1ms"});
  EXPECT_EQ(lab.weft(words).status, 1) << "the option wins";
}

TEST(Sweep, FindsNothingInAHealthyLab) {
  const SweepLab lab;
  const auto answer = lab.sweep("full");
  const auto document = document_of(answer);
  expect_healthy_but_for_this_machine(document);
  EXPECT_EQ(document["coverage"]["probed"], 16);
  EXPECT_EQ(document["coverage"]["complete"], true);
  EXPECT_EQ(answer.errors, "") << "no progress line where nobody watches";
  EXPECT_TRUE(std::filesystem::is_empty(lab.temporary()));
}

TEST(Sweep, OfALabThatIsBeingSweptIsRefused) {
  const SweepLab lab;
  auto first = start_probing(lab);
  const auto second = lab.sweep();
  EXPECT_EQ(second.status, 69);
  EXPECT_THAT(second.errors, HasSubstr("is being loaded by another weft"));
  const auto down = lab.weft({"lab", "down", "--name", lab.lab});
  EXPECT_EQ(down.status, 69);
  EXPECT_THAT(down.errors, HasSubstr(fmt::format("(process {})", first.command.pid())));
  EXPECT_THAT(down.errors, HasSubstr("--force"));
  first.command.signal(SIGINT);
  EXPECT_EQ(first.command.wait(kLimit).status, 130);
  EXPECT_NE(lab.sweep().status, 69) << "it may be swept again";
}

TEST(Sweep, EndsWithItsLabWhereThatIsTakenDownByForce) {
  const SweepLab lab;
  auto probing = start_probing(lab);
  const auto down = lab.weft({"lab", "down", "--name", lab.lab, "--force"});
  EXPECT_EQ(down.status, 0) << down.errors;
  EXPECT_NE(probing.command.wait(kLimit).status, 0);
  EXPECT_TRUE(all_gone(probing.children));
}

TEST(Sweep, AsAnIncastNamesTheHostThatReceivesSlowly) {
  const SweepLab lab(
      "fabric: small\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\nlab: {link_rate: 20M}\n");
  lab.fault("host3--leaf2", {"--rate", "5M", "--from", "leaf2"});
  auto words = lab.sweep_words("full", "6s");
  words.insert(words.end(), {"--pattern", "incast"});
  auto flows = document_of(lab.weft(words))["flows"];
  EXPECT_EQ(flows["receivers"].size(), 4u);
  EXPECT_EQ(flows["flows"].size(), 12u) << "every pair";
  std::size_t told = 0;
  for (auto& flow : flows["flows"]) told += flow["dst"] == "host3" && !flow["sender_stalled"] ? 1 : 0;
  // One flow alone names nobody.
  if (told < 2 && flows["slow"].empty()) return print_disturbance("flows to host3", flows["flows"]);
  ASSERT_EQ(flows["slow"].size(), 1u) << flows["flows"];
  EXPECT_EQ(flows["slow"][0]["nic"], "host3");
  EXPECT_EQ(flows["slow"][0]["receives"], true);
}

TEST(Sweep, NamesACableBetweenSwitchesThatIsDown) {
  const SweepLab lab;
  lab.fault("leaf1--spine2", {"--down"});
  const auto answer = lab.sweep();
  EXPECT_EQ(answer.status, 2) << answer.errors;
  const auto document = document_of(answer);
  EXPECT_EQ(document["verdict"], "failed");
  ASSERT_FALSE(document["links"].empty()) << answer.output;
  EXPECT_EQ(document["links"][0]["link"], "leaf1--spine2") << answer.output;
  EXPECT_EQ(document["links"][0]["cause"], "down") << answer.output;
}

TEST(Sweep, NamesAChannelThatChangesWhatItCarries) {
  const SweepLab lab("fabric: three\nkind: roce\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 1}\n");
  lab.fault("leaf1--spine2", {"--corruption", "5", "--from", "leaf1"});
  const auto answer = lab.sweep();
  EXPECT_THAT(answer.status, testing::AnyOf(1, 2)) << answer.output << answer.errors;
  const auto document = document_of(answer);
  ASSERT_FALSE(document["links"].empty()) << answer.output;
  EXPECT_EQ(document["links"][0]["link"], "leaf1--spine2") << answer.output;
  EXPECT_EQ(document["links"][0]["cause"], "corruption") << answer.output;
  EXPECT_EQ(document["links"][0]["from"], "leaf1") << answer.output;
  EXPECT_NEAR(document["links"][0]["estimate"]["value"].get<double>(), 0.05, 0.03) << answer.output;
  for (const auto& link : document["links"]) EXPECT_NE(link["cause"], "loss") << answer.output;
}

TEST(Sweep, SaysThatAHostsInterfaceHasASmallerMtuThanTheFabric) {
  const SweepLab lab;
  const auto set =
      lab.weft({"lab", "exec", "host3", "--name", lab.lab, "--", "ip", "link", "set", "p1", "mtu", "2000"});
  ASSERT_EQ(set.status, 0) << set.errors;
  const auto document = document_of(lab.sweep());
  EXPECT_THAT(said_of(document, "host3"), HasSubstr("the MTU of p1 is 2000, the fabric's is 4200"));
  EXPECT_EQ(said_of(document, "host1"), "") << document;
}

TEST(Sweep, BlamesAHostsCableOrNicAndNoLinkBetweenSwitches) {
  const SweepLab lab;
  lab.fault("host1--leaf1", {"--loss", "5"});
  const auto answer = lab.sweep();
  EXPECT_THAT(answer.status, testing::AnyOf(1, 2)) << answer.output << answer.errors;
  const auto document = document_of(answer);
  EXPECT_FALSE(names_a_switch_link(document)) << answer.output;
  EXPECT_TRUE(document["groups"].empty()) << answer.output;
  EXPECT_THAT(said_of(document, "host1"), HasSubstr("loss")) << answer.output;
}

/// Sends `signal` to host2's agent in the midst of a sweep: the rest goes on, and nothing stays behind.
Json lose_the_agent_of_host2(int signal, int status) {
  const SweepLab lab;
  auto probing = start_probing(lab);
  EXPECT_TRUE(send_signal(probing.agent_of_host2, signal));
  const auto answer = probing.command.wait(kLimit);
  EXPECT_EQ(answer.status, status) << answer.errors;
  auto document = document_of(answer);
  EXPECT_FALSE(names_a_switch_link(document)) << answer.output;
  EXPECT_EQ(said_of(document, "host3"), "") << answer.output;
  EXPECT_TRUE(all_gone(probing.children)) << "also one that hung";
  return document;
}

TEST(Sweep, GoesOnWithoutAnAgentThatIsKilled) {
  const auto document = lose_the_agent_of_host2(SIGKILL, 3);
  EXPECT_EQ(said_of(document, "host2"), "") << document;
  EXPECT_THAT(untested(document, "host2"), HasSubstr("its agent ended (signal 9)")) << document;
}

TEST(Sweep, GoesOnWithoutAnAgentThatHangs) {
  EXPECT_THAT(said_of(lose_the_agent_of_host2(SIGSTOP, 2), "host2"), HasSubstr("agent"));
}

TEST(Sweep, SaysThatItsServerIsLost) {
  const SweepLab lab;
  auto probing = start_probing(lab);
  const auto server = child_with_word(probing.command.pid(), "nats-server");
  ASSERT_TRUE(send_signal(server, SIGKILL));
  const auto answer = probing.command.wait(kLimit);
  EXPECT_EQ(answer.status, 3) << answer.errors;
  EXPECT_THAT(document_of(answer)["coverage"]["cut_short"].get<std::string>(), HasSubstr("nats-server"));
  EXPECT_TRUE(all_gone(probing.children));
}

TEST(Sweep, ThatIsKilledLeavesNoDirectoryBehind) {
  const SweepLab lab;
  auto probing = start_probing(lab);
  EXPECT_FALSE(std::filesystem::is_empty(lab.temporary()));
  probing.command.signal(SIGKILL);
  EXPECT_EQ(probing.command.wait(kLimit).status, 128 + SIGKILL);
  EXPECT_TRUE(all_gone(probing.children));
  EXPECT_TRUE(becomes_empty(lab.temporary()));
  EXPECT_EQ(lab.weft({"lab", "down", "--name", lab.lab}).status, 0) << "its claim of the lab ended with it";
}

TEST(Sweep, SaysThatItsTemporaryDirectoryIsNotThere) {
  const SweepLab lab;
  const auto answer = lab.weft(lab.sweep_words(), {"TMPDIR=/no/such/place"});
  EXPECT_EQ(answer.status, 69);
  EXPECT_THAT(answer.errors, HasSubstr("/no/such/place"));
  EXPECT_THAT(answer.errors, HasSubstr("TMPDIR"));
}

TEST(Sweep, SaysWhatToInstallWhereThereIsNoServer) {
  if (geteuid() != 0) GTEST_SKIP() << "only root hides what is installed";
  const SweepLab lab;
  const auto answer = lab.start_after({"unshare", "-m", "sh", "-c",
                                       "mount -t tmpfs none /usr/sbin && PATH=" + lab.temporary().string() +
                                           " exec \"$0\" \"$@\""},
                                      lab.sweep_words())
                          .wait(kLimit);
  EXPECT_EQ(answer.status, 69) << answer.output;
  EXPECT_THAT(answer.errors, HasSubstr("apt-get install nats-server"));
}

/// Interrupts a sweep of a lab that was like this `before`.
void expect_no_trace(const SweepLab& lab, const Json& before, RunningCommand& command,
                     const std::vector<pid_t>& children) {
  command.signal(SIGINT);
  const auto answer = command.wait(kLimit);
  EXPECT_EQ(answer.status, 130) << answer.errors;
  EXPECT_THAT(answer.errors, HasSubstr("interrupted"));
  EXPECT_THAT(answer.output, testing::AnyOf(testing::IsEmpty(), HasSubstr("interrupted"))) << "what is known";
  EXPECT_TRUE(all_gone(children));
  EXPECT_TRUE(std::filesystem::is_empty(lab.temporary()));
  EXPECT_EQ(lab.status(), before);
}

TEST(Sweep, InterruptedWhileItGathersLeavesTheLabAsItWas) {
  const SweepLab lab;
  lab.fault("leaf1--spine1", {"--loss", "1"});
  const auto before = lab.status();
  auto command = lab.start(lab.sweep_words());
  ASSERT_TRUE(child_with_word(command.pid(), "nats-server"));
  expect_no_trace(lab, before, command, children_of(command.pid()));
}

TEST(Sweep, InterruptedWhileItProbesLeavesTheLabAsItWas) {
  const SweepLab lab;
  lab.fault("leaf1--spine1", {"--loss", "1"});
  const auto before = lab.status();
  auto probing = start_probing(lab);
  expect_no_trace(lab, before, probing.command, probing.children);
}

TEST(Sweep, InterruptedEarlyInALongOneNamesWhatItSaw) {
  const SweepLab lab;
  lab.fault("leaf1--spine1", {"--loss", "30", "--from", "leaf1"});
  auto words = lab.sweep_words("none", "10m");
  words.emplace_back("--progress=plain");
  auto command = lab.start(words);
  const auto agent = child_with_word(command.pid(), "host2");
  ASSERT_TRUE(agent);
  // Five seconds of probes and echoes, at 1,500 a second each, and some of what comes after them.
  ASSERT_TRUE(probes_from(*agent, 20'000));
  command.signal(SIGINT);
  const auto answer = command.wait(kLimit);
  EXPECT_EQ(answer.status, 130) << answer.errors;
  const auto document = Json::parse(answer.output);
  EXPECT_EQ(document["coverage"]["cut_short"], "interrupted");
  EXPECT_THAT(answer.output, HasSubstr("leaf1->spine1"))
      << "or the channel behind it: of two leaves all took both";
}

}  // namespace
}  // namespace weft
