// What `weft sweep --fabric` and `weft trace --fabric` answer to mistakes, before anything is started.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdlib>

#include "cli/bus.hpp"
#include "probes/run/listen_address.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"
#include "topology/os/file_descriptor.hpp"
#include "topology/os/scratch_directory.hpp"
#include "topology/os/socket_address.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kFabric =
    "fabric: a\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\naddresses: {plan: ipv4}\n";

TEST(ClusterArguments, ASweepIsOfALabOrOfAFabric) {
  const ScratchFile file(kFabric);
  EXPECT_THAT(call(sweep_command, {}).err, HasSubstr("give --fabric FABRIC.yaml or --lab=NAME"));
  EXPECT_THAT(call(sweep_command, {"--hosts", "host1"}).err, HasSubstr("--hosts needs --fabric"));
  const auto both = call(sweep_command, {"--lab=x", "--fabric", file.path()});
  EXPECT_EQ(both.status, 64);
  EXPECT_THAT(both.err, HasSubstr("--lab stands alone"));
}

TEST(ClusterArguments, AnAdapterIsNamedForALiveInfinibandFabricAlone) {
  const ScratchFile file(kFabric);
  const auto refused = [](int (*command)(const Arguments&), const Arguments& words) {
    const auto outcome = call(command, words);
    EXPECT_EQ(outcome.status, 64);
    EXPECT_THAT(outcome.err, HasSubstr("is of a live InfiniBand fabric"));
  };
  refused(sweep_command, {"--fabric", file.path(), "--device", "mlx5_0"});
  refused(sweep_command, {"--lab=x", "--port", "1"});
  refused(trace_command, {"host1", "host2", "--fabric", file.path(), "--device", "mlx5_0"});
  refused(trace_command, {"host1", "host2", "--lab=x", "--port", "1"});
}

TEST(ClusterArguments, TheFabricFileMayStandWithoutItsOption) {
  EXPECT_THAT(call(sweep_command, {"/nonexistent/f.yaml"}).err, HasSubstr("/nonexistent/f.yaml"));
}

TEST(ClusterArguments, HostsMustBeHostsOfTheFabric) {
  const ScratchFile file(kFabric);
  const auto said = [&](const char* hosts) {
    const auto outcome =
        call(sweep_command, {"--fabric", file.path(), "--hosts", hosts, "--listen", "127.0.0.1"});
    EXPECT_EQ(outcome.status, 64) << hosts;
    EXPECT_EQ(outcome.out, "");
    return outcome.err;
  };
  EXPECT_THAT(said("host[1-3]"), HasSubstr("host3"));
  EXPECT_THAT(said("host1,leaf1"), HasSubstr("leaf1 is a switch"));
  EXPECT_THAT(said("host[1"), HasSubstr("']' is missing"));
  EXPECT_THAT(said("host1"), HasSubstr("two hosts at least"));
  EXPECT_THAT(said("@/nonexistent/hosts"), HasSubstr("/nonexistent/hosts"));
}

TEST(ClusterArguments, ACredentialThatIsHalfALoginIsNoToken) {
  const ScratchFile file(kFabric);
  setenv("WEFT_BUS_TOKEN", R"({"user":"a","password":"secret"})", 1);
  const auto sweep = call(sweep_command, {"--fabric", file.path(), "--server", "nats://127.0.0.1:1"});
  const auto agent = call(agent_command, {"--server", "nats://127.0.0.1:1", "--run", "1", "--host", "host1",
                                          "--nic", "127.0.0.1"});
  unsetenv("WEFT_BUS_TOKEN");
  for (const Outcome& outcome : {sweep, agent}) {
    EXPECT_EQ(outcome.status, 64) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("WEFT_BUS_TOKEN: "));
    EXPECT_THAT(outcome.err, HasSubstr("'certificate' is missing"));
  }
}

TEST(ClusterArguments, AListOfHostsMayStandInAFileWithComments) {
  const ScratchFile file(kFabric);
  const ScratchFile list("# rack one\nhost1\nleaf1  # no host\n");
  const auto outcome =
      call(sweep_command, {"--fabric", file.path(), "--hosts", "@" + list.path(), "--listen", "127.0.0.1"});
  EXPECT_THAT(outcome.err, HasSubstr("leaf1 is a switch"));
}

TEST(ClusterArguments, AFabricWithoutAddressesCannotBeSweptLive) {
  const ScratchFile none("fabric: a\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n");
  const auto outcome = call(sweep_command, {"--fabric", none.path()});
  EXPECT_EQ(outcome.status, 64);
  EXPECT_THAT(outcome.err, HasSubstr("gives no addresses"));
  const ScratchFile some(
      "fabric: a\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\naddresses: {ports: {host1: 10.0.0.1}}\n");
  EXPECT_THAT(call(sweep_command, {"--fabric", some.path(), "--hosts", "host[1-2]"}).err,
              HasSubstr("host2 has no address"));
  EXPECT_THAT(call(trace_command, {"host1", "host2", "--fabric", some.path()}).err,
              HasSubstr("host2 has no address"));
  const ScratchFile infiniband(
      "fabric: a\nkind: infiniband\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\naddresses: {plan: "
      "ipv4}\n");
  EXPECT_EQ(call(sweep_command, {"--fabric", infiniband.path()}).status, 69);
}

TEST(ClusterArguments, WrongLaunchOptionsAreNamed) {
  const ScratchFile file(kFabric);
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--fabric", file.path()});
    const auto outcome = call(sweep_command, words);
    EXPECT_EQ(outcome.status, 64) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(said({"--launcher", "pdsh"}), HasSubstr("with {host} in it"));
  EXPECT_THAT(said({"--listen", "here"}), HasSubstr("--listen: here: expected an address of this machine"));
  EXPECT_THAT(said({"--listen", "127.0.0.1", "--server", "nats://x"}), HasSubstr("not both"));
  EXPECT_THAT(said({"--gather", "5h", "--listen", "127.0.0.1"}), HasSubstr("expected 1s to 1h"));
}

TEST(ClusterArguments, AgentsThatStandAreNotStartedNorToldHowToProbe) {
  const ScratchFile file(kFabric);
  const auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"--fabric", file.path(), "--credential", "/no/such.json"});
    const auto outcome = call(sweep_command, words);
    EXPECT_EQ(outcome.status, 64) << outcome.err;
    return outcome.err;
  };
  EXPECT_THAT(said({}), HasSubstr("/no/such.json"));
  for (const auto& words : std::vector<std::vector<std::string>>{{"--launcher", "srun"},
                                                                 {"--fan-out", "tree"},
                                                                 {"--agent-program", "/bin/weft"},
                                                                 {"--listen", "127.0.0.1"},
                                                                 {"--engine", "raw"},
                                                                 {"--traffic-class", "104"}})
    EXPECT_THAT(said(words), HasSubstr(words[0] + ": with --credential no agent is started"));
  EXPECT_THAT(call(sweep_command, {"--lab=x", "--credential", "c.json"}).err,
              HasSubstr("is of a live fabric"));
  for (const std::vector<std::string>& where :
       {std::vector<std::string>{"--lab=x"}, {"--simulate", "--fabric", file.path()}}) {
    std::vector<std::string> words{"host1", "host2", "--credential", "c.json"};
    words.insert(words.end(), where.begin(), where.end());
    EXPECT_THAT(call(trace_command, words).err, HasSubstr("--credential is of a live fabric"));
  }
  const ScratchFile infiniband(
      "fabric: a\nkind: infiniband\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n");
  EXPECT_THAT(call(sweep_command, {"--fabric", infiniband.path(), "--credential", "/no/such.json"}).err,
              HasSubstr("/no/such.json"));
  EXPECT_THAT(call(sweep_command,
                   {"--fabric", infiniband.path(), "--credential", "/no/such.json", "--engine", "verbs"})
                  .err,
              HasSubstr("--engine: with --credential no agent is started"));
  EXPECT_THAT(
      call(trace_command, {"host1", "host2", "--fabric", infiniband.path(), "--credential", "c.json"}).err,
      HasSubstr("--credential is not used: on InfiniBand tables tell the paths"));
}

TEST(ClusterArguments, ABusThatDoesNotAnswerTakesNoLongerThanTheTimeGiven) {
  const ScratchFile file(kFabric);
  const os::FileDescriptor silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto any = os::socket_address(*IpAddress::parse("127.0.0.1"), UdpPort(0));
  ASSERT_EQ(::bind(silent.get(), any.get(), any.size), 0);
  ASSERT_EQ(::listen(silent.get(), 8), 0);  // as a server that was stopped (SIGSTOP)
  sockaddr_in at{};
  socklen_t size = sizeof at;
  ::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&at), &size);
  const auto scratch = os::ScratchDirectory::make();
  ASSERT_TRUE(scratch);
  const auto bus = scratch->path().string() + "/bus";
  const auto made = call(bus_command, {"init", bus, "--fabric", "a", "--hosts", "host[1-2]", "--listen",
                                       fmt::format("127.0.0.1:{}", ntohs(at.sin_port))});
  ASSERT_EQ(made.status, 0) << made.err;
  const auto begin = std::chrono::steady_clock::now();
  const auto swept = call(sweep_command, {"--fabric", file.path(), "--credential",
                                          bus + "/watchers/watcher.json", "--timeout", "1s"});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
  EXPECT_EQ(swept.status, 69) << swept.err;
  EXPECT_THAT(swept.err, HasSubstr("the time given (--timeout 1s) was over while connecting"));
}

TEST(ClusterArguments, WithoutAddressesATraceIsSimulatedAndSaysSo) {
  const ScratchFile file("fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 1}\n");
  const auto outcome = call(trace_command, {"host1", "host2", "--fabric", file.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("traced in a simulation, no packet was sent"));
  const ScratchFile live(kFabric);
  const auto asked = call(trace_command, {"host1", "host2", "--fabric", live.path(), "--simulate"});
  EXPECT_EQ(asked.status, 0);
  EXPECT_EQ(asked.err, "");
}

TEST(ListenAddress, ReadsAddressesWithAndWithoutAPort) {
  const auto said = [](const char* text) {
    const auto listen = run::parse_listen_address(text);
    return listen ? fmt::format("{} {}", to_string(listen->address), listen->port.value_or(0)) : "refused";
  };
  EXPECT_EQ(said("10.0.0.5"), "10.0.0.5 0");
  EXPECT_EQ(said("10.0.0.5:4222"), "10.0.0.5 4222");
  EXPECT_EQ(said("fd00::5"), "fd00::5 0");
  EXPECT_EQ(said("[fd00::5]:4222"), "fd00::5 4222");
  for (const char* wrong :
       {"", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:99999", "[10.0.0.5]:1", "head:1", "[fd00::5]"})
    EXPECT_EQ(said(wrong), "refused") << wrong;
}

TEST(ListenAddress, IsTheOneOnTheWayToTheHosts) {
  EXPECT_EQ(run::address_towards({"127.0.0.2"}).value(), IpAddress::parse("127.0.0.1").value());
  const auto none = run::address_towards({"no-such-host.invalid"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("--listen"));
}

}  // namespace
}  // namespace weft::cli
