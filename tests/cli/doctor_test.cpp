// `weft doctor`: hosts are reached by a launcher of the test's own making.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "cli/commands.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/scratch_file.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/run_program.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

/// Hosts on this machine: a shell's lines that know the host as $1 and the question as "$@" from there on.
class Hosts {
 public:
  explicit Hosts(const std::string& lines) : script_("host=$1; shift\n" + lines) {}
  Outcome asked(const std::string& hosts, Arguments more = {}) const {
    Arguments words{"--hosts",  hosts,       "--launcher",      "sh " + script_.path() + " {host}",
                    "--listen", "127.0.0.1", "--agent-program", kWeft};
    words.insert(words.end(), more.begin(), more.end());
    return call(doctor_command, words);
  }

 private:
  static constexpr const char* kWeft = WEFT_BINARY_DIR "/weft";
  ScratchFile script_;
};

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

TEST(DoctorCommand, AsksThisHostWithoutAPlace) {
  const auto outcome = call(doctor_command, {"-o", "json"});
  expect_matches_schema(outcome.out, "doctor");
  const auto document = Json::parse(outcome.out);
  ASSERT_EQ(document["hosts"].size(), 1u);
  expect_matches_schema(document["hosts"][0]["report"].dump(), "host_facts");
}

TEST(DoctorCommand, HostsAnswerByTheirLauncherAndTwoNamesOfOneHostAreNamed) {
  const Hosts hosts("exec \"$@\"");
  const auto outcome = hosts.asked("a,b", {"-o", "json"});
  EXPECT_EQ(outcome.status, 2) << outcome.out << outcome.err;
  expect_matches_schema(outcome.out, "doctor");
  const auto document = Json::parse(outcome.out);
  ASSERT_GE(document["findings"].size(), 1u);
  EXPECT_EQ(document["findings"][0]["trouble"], "same_machine");
  EXPECT_EQ(document["findings"][0]["hosts"], (Json{"a", "b"}));
  EXPECT_EQ(document["hosts"][0]["report"]["reaches_coordinator"], true);
  EXPECT_THAT(document["notes"].dump(), HasSubstr("not tried: path MTU and firewalls between NICs, of "));
}

TEST(DoctorCommand, EachWayOfNotAnsweringIsNamedInAtMostItsLimit) {
  const Hosts hosts(
      "case $host in\n"
      "gone) echo 'ssh: connect to host gone port 22: Connection refused' >&2; exit 255;;\n"
      "locked) echo 'root@locked: Permission denied (publickey).' >&2; exit 255;;\n"
      "bare) exec /no/such/weft;;\n"
      "old) echo \"weft: unknown command 'doctor-report'\" >&2; exit 64;;\n"
      "other) echo 'sh: weft: Exec format error' >&2; exit 126;;\n"
      "chatty) yes | head -c 3000000;;\n"
      "liar) echo '{\"schema\":\"weft.host_facts/1\",\"protocol\":true}';;\n"
      "hangs1) sleep 1000;;\n"
      "hangs2) echo 'Warning: added to the list of known hosts' >&2; exec sleep 1000;;\n"
      "hangs3) \"$@\" | head -c 300; exec sleep 1000;;\n"
      "hangs4) \"$@\"; exec sleep 1000;;\n"
      "hangs5) trap '' TERM; exec sleep 1000 >&- 2>&-;;\n"
      "*) exec \"$@\";;\n"
      "esac\n");
  const auto began = std::chrono::steady_clock::now();
  const auto outcome =
      hosts.asked("gone,locked,bare,old,other,chatty,liar,hangs[1-5],good", {"-o", "json", "--gather", "5s"});
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20))
      << "five hang for 5 s, together";
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  std::map<std::string, std::string> trouble_of;
  const auto document = Json::parse(outcome.out);
  for (const auto& finding : document["findings"])
    for (const auto& host : finding["hosts"]) trouble_of[host] = finding["trouble"];
  EXPECT_EQ(trouble_of, (std::map<std::string, std::string>{{"gone", "unreachable"},
                                                            {"locked", "login_refused"},
                                                            {"bare", "no_weft"},
                                                            {"old", "other_version"},
                                                            {"other", "wrong_machine"},
                                                            {"chatty", "bad_answer"},
                                                            {"liar", "bad_answer"},
                                                            {"hangs1", "no_answer"},
                                                            {"hangs2", "no_answer"},
                                                            {"hangs3", "no_answer"},
                                                            {"hangs4", "no_answer"},
                                                            {"hangs5", "no_answer"}}));
}

/// A port of this machine that greets whoever comes, and says no more.
class SilentPort {
 public:
  explicit SilentPort(std::string greeting) : greeting_(std::move(greeting)) {
    sockaddr_in place{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    EXPECT_EQ(bind(listening_.get(), reinterpret_cast<const sockaddr*>(&place), sizeof place), 0);
    EXPECT_EQ(listen(listening_.get(), 8), 0);
    socklen_t size = sizeof place;
    EXPECT_EQ(getsockname(listening_.get(), reinterpret_cast<sockaddr*>(&place), &size), 0);
    port_ = ntohs(place.sin_port);
    server_ = std::jthread([this](const std::stop_token& stop) { greet_all(stop); });
  }
  std::string port() const { return std::to_string(port_); }

 private:
  void greet_all(const std::stop_token& stop) {
    std::vector<os::FileDescriptor> taken;
    while (!stop.stop_requested()) {
      pollfd waits{listening_.get(), POLLIN, 0};
      if (poll(&waits, 1, 50) <= 0) continue;
      taken.emplace_back(accept(listening_.get(), nullptr, nullptr));
      EXPECT_EQ(send(taken.back().get(), greeting_.data(), greeting_.size(), MSG_NOSIGNAL),
                std::ssize(greeting_));
    }
  }
  std::string greeting_;
  os::FileDescriptor listening_{socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port_ = 0;
  std::jthread server_;
};

TEST(DoctorCommand, AnSshThatHangsBeforeItsLoginIsGivenUp) {
  if (access("/usr/bin/ssh", X_OK) != 0) GTEST_SKIP() << "no ssh";
  const SilentPort mute("");
  const SilentPort without_keys("SSH-2.0-OpenSSH_9.2\r\n");
  // The hosts are ports: one hangs before the server's banner, one in the exchange of keys.
  const auto outcome =
      call(doctor_command, {"--hosts", mute.port() + "," + without_keys.port(), "--listen", "127.0.0.1",
                            "--gather", "4s", "-o", "json", "--launcher",
                            "ssh -F none -o BatchMode=yes -o ConnectTimeout=2 -p {host} 127.0.0.1"});
  EXPECT_EQ(outcome.status, 3) << outcome.out << outcome.err;
  std::map<std::string, std::string> trouble_of;
  const auto document = Json::parse(outcome.out);
  for (const auto& finding : document["findings"])
    for (const auto& host : finding["hosts"]) trouble_of[host] = finding["trouble"];
  EXPECT_EQ(trouble_of[mute.port()], "unreachable") << outcome.out;
  EXPECT_EQ(trouble_of[without_keys.port()], "no_answer") << outcome.out;
}

TEST(DoctorCommand, ATreeFindsWhatAskingThemAllFromHereFinds) {
  const ScratchFile log("");
  // A program on a host is "relay" or "doctor-report"; of a relay's own host no login is asked.
  const Hosts hosts("echo $host $2 >> " + log.path() +
                    "\ncase $host in\n"
                    "gone) echo 'connect to host gone port 22: Connection refused' >&2; exit 255;;\n"
                    "old) echo \"weft: unknown command '$2'\" >&2; exit 64;;\n"
                    "chatty) yes | head -c 3000000;;\n"
                    "hangs*) exec sleep 1000;;\n"
                    "*) exec \"$@\";;\n"
                    "esac\n");
  const auto troubles = [&](const Arguments& more) {
    Arguments words{"-o", "json", "--gather", "3s"};
    words.insert(words.end(), more.begin(), more.end());
    // Four a relay: good1 reaches one and not another, old and hangs2 relay nothing.
    const auto outcome = hosts.asked(
        "good1,gone,chatty,good2,old,good3,good4,good5,hangs2,good6,good7,hangs3,good8,hangs4", words);
    std::map<std::string, std::string> trouble_of;
    const auto document = Json::parse(outcome.out);
    EXPECT_EQ(document["hosts"].size(), 14u);
    for (const auto& finding : document["findings"])
      for (const auto& host : finding["hosts"])
        if (finding["trouble"] != "same_machine") trouble_of[host] = finding["trouble"];
    return std::pair(trouble_of, document["notes"].dump());
  };
  const auto flat = troubles({});
  EXPECT_EQ(text_of(log.path()).find("relay"), std::string::npos);
  const auto tree = troubles({"--fan-out", "tree"});
  EXPECT_EQ(tree.first, flat.first);
  EXPECT_EQ(tree.first.at("hangs4"), "no_answer");
  const auto asked = text_of(log.path());
  for (const char* line : {"good1 relay\n", "old relay\n", "hangs2 relay\n", "good8 relay\n"})
    EXPECT_THAT(asked, HasSubstr(line));
  EXPECT_THAT(flat.second, Not(HasSubstr("no relay reached")));
  EXPECT_THAT(tree.second, HasSubstr("no relay reached them (--fan-out tree): "));
  EXPECT_THAT(tree.second, HasSubstr("gone: connect to host gone port 22: Connection refused"));
}

TEST(DoctorCommand, VirtualInterfacesAreLookedAtAndNoneAtAllIsNotHealthy) {
  if (geteuid() != 0) GTEST_SKIP() << "a network namespace of its own needs root";
  const Hosts hosts(
      "exec unshare -n sh -c '[ $0 = bare ] || { ip link add net0 type veth peer name far && ip link set far "
      "up && ip address add 10.99.0.1/24 dev net0 && ip link set net0 up && sleep 1; }; exec \"$@\"' $host "
      "\"$@\"");
  const auto outcome = hosts.asked("virtual,bare", {"-o", "json"});
  const auto document = Json::parse(outcome.out);
  std::map<std::string, std::set<std::string>> found;
  for (const auto& finding : document["findings"])
    for (const auto& host : finding["hosts"]) found[finding["trouble"]].insert(host);
  EXPECT_EQ(found["no_nic"], std::set<std::string>{"bare"}) << outcome.out;
  EXPECT_EQ(found["nic_down"], std::set<std::string>{});
  const auto nics = document["hosts"][0]["report"]["inventory"]["nics"];
  ASSERT_EQ(nics.size(), 1u) << outcome.out;
  EXPECT_EQ(nics[0]["interface"], "net0");
}

TEST(DoctorCommand, TheTableFitsATerminalAndSaysWhatToDo) {
  const Hosts hosts("echo \"ssh: connect to host $host port 22: No route to host\" >&2; exit 255");
  const auto outcome = hosts.asked("node-with-a-long-name-[001-030]");
  EXPECT_EQ(outcome.status, 3);
  EXPECT_LE(widest(outcome.out), 80u) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("30 not asked"));
  EXPECT_THAT(outcome.out, HasSubstr("and 22 more"));
  EXPECT_THAT(outcome.out, HasSubstr("do: "));
  const auto all = hosts.asked("node-with-a-long-name-[001-030]", {"--all"});
  EXPECT_THAT(all.out, HasSubstr("node-with-a-long-name-030"));
}

TEST(DoctorCommand, QuietIsOneLineForMonitoring) {
  const Hosts hosts("echo 'Connection refused | evil' >&2; exit 255");
  const auto outcome = hosts.asked("a", {"--quiet"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.out, testing::StartsWith("WEFT UNKNOWN - doctor: unknown; 1 host"));
  EXPECT_THAT(outcome.out, HasSubstr(" | hosts=1 failed=0 degraded=0 not_asked=1 findings=1\n"));
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1);
}

TEST(DoctorCommand, MayHoldAsManyFilesAsItsUserMay) {
  // A run of thousands of hosts holds a process of each: the usual soft limit, 1024, is not what it may have.
  const ScratchFile script(
      "ulimit -S -n 64; exec " WEFT_BINARY_DIR
      "/weft doctor --hosts a --listen 127.0.0.1 --launcher 'sh -c \"ulimit -S -n >&2; exit "
      "255\" {host}' -o json");
  const auto most = os::run_program({"sh", "-c", "ulimit -H -n"}, "", std::chrono::seconds(10));
  const auto said =
      os::run_program({"sh", "-c", "sh " + script.path() + "; true"}, "", std::chrono::seconds(30));
  ASSERT_TRUE(most && said);
  const auto may = most->starts_with("unlimited") ? 65536 : std::min(65536, std::stoi(*most));
  EXPECT_THAT(*said, HasSubstr(fmt::format("\"{}\"", may)));
}

TEST(DoctorCommand, WhatHostsSayCannotSteerATerminal) {
  const Hosts hosts("printf 'no\\033[2Jway\\n' >&2; exit 1");
  const auto outcome = hosts.asked("a");
  EXPECT_THAT(outcome.out, HasSubstr("no\\x1b[2Jway"));
  EXPECT_THAT(outcome.out, Not(HasSubstr("\x1b")));
}

TEST(DoctorCommand, OfAFleetThoseThatHangAreNamedAndNobodyElse) {
  // Two hundred hosts that tell this one's report, each with a name and a clock of its own; four hang.
  auto told = Json::parse(call(doctor_report_command, {}).out);
  told["identity"] = "IDENTITY";
  told["clock"] = 424242424242;
  told["addresses"] = Json::object();
  const ScratchFile report(told.dump() + "\n");
  const Hosts fleet(
      "case $host in h050|h100|h150|h200) exec sleep 1000;; esac\n"
      "sed \"s/IDENTITY/$host/; s/424242424242/$(date +%s%N)/\" " +
      report.path() + "\n");
  const auto outcome = fleet.asked("h[001-200]", {"--gather", "20s", "-o", "json"});
  const auto document = Json::parse(outcome.out);
  ASSERT_EQ(document["hosts"].size(), 200u);
  std::set<std::string> silent;
  for (const Json& host : document["hosts"])
    if (!host.contains("report")) silent.insert(host["host"]);
  EXPECT_EQ(silent, (std::set<std::string>{"h050", "h100", "h150", "h200"}));
  for (const Json& finding : document["findings"])
    if (finding["trouble"] == "no_answer") {
      EXPECT_EQ(finding["hosts"].size(), 4u);
    } else {
      EXPECT_NE(finding["trouble"], "same_machine");
    }
}

TEST(DoctorCommand, ALauncherThatIsNotHereIsNoTroubleOfAHost) {
  const auto outcome = call(doctor_command, {"--hosts", "a", "--launcher", "/no/such/ssh {host}"});
  EXPECT_EQ(outcome.status, 69);
  EXPECT_THAT(outcome.err, HasSubstr("/no/such/ssh"));
}

TEST(DoctorCommand, MistakesAreAnsweredBeforeAnybodyIsAsked) {
  for (const Arguments& words : {Arguments{"--hosts", "a", "--launcher", "ssh -l root"},
                                 {"--hosts", "a[1-"},
                                 {"--hosts", ""},
                                 {"--hosts", "a", "--gather", "0s"},
                                 {"--hosts", "a", "--gather", "never"},
                                 {"--hosts", "a", "--fan-out", "wide"},
                                 {"--hosts", "a", "--fan-out", "tree", "--launcher", "srun"},
                                 {"--lab=x", "--hosts", "a"},
                                 {"--quiet", "-o", "json"},
                                 {"--hosts", "a", "--listen", "nowhere"},
                                 {"-o", "yaml"},
                                 {"/no/such.yaml"},
                                 {"--hosts", "@/no/such/list"}}) {
    const auto outcome = call(doctor_command, words);
    EXPECT_EQ(outcome.status, 64) << testing::PrintToString(words) << outcome.err;
    EXPECT_THAT(outcome.err, testing::StartsWith("weft: "));
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(DoctorReportCommand, RefusesAQuestionThatMakesNoSense) {
  for (const Arguments& words : {Arguments{"--towards", "10.0.0.1"},
                                 {"--towards", "x:1"},
                                 {"--nic", "eth0"},
                                 {"--nic", "10.0.0.1=x"},
                                 {"--nics"}})
    EXPECT_EQ(call(doctor_report_command, words).status, 64) << testing::PrintToString(words);
}

}  // namespace
}  // namespace weft::cli
