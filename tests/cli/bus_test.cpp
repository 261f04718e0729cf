// `weft bus init` as a user calls it, and a real nats-server that starts from what it writes.
#include "cli/bus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "collectors/bus/agent_link.hpp"
#include "collectors/bus/bus_file.hpp"
#include "collectors/bus/bus_key.hpp"
#include "collectors/bus/watch_link.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/support/command.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/run_program.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class BusInit : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = os::ScratchDirectory::make();
    ASSERT_TRUE(made);
    scratch_ = std::move(*made);
  }
  std::string directory() const { return scratch_->path() / "bus"; }
  Outcome init(std::vector<std::string> words) const {
    words.insert(words.begin(), {"init", directory(), "--fabric", "pod1"});
    return call(bus_command, words);
  }
  bus::BusFile file(const std::string& name) const {
    auto read = bus::read_bus_file(std::filesystem::path(directory()) / name);
    WEFT_CHECK(read.has_value());
    return std::move(*read);
  }

  /// A server that starts from it.
  os::ChildProcess start_server() const {
    os::ChildSpec spec{.argv = {"/usr/sbin/nats-server", "-c", directory() + "/server/nats-server.conf"}};
    spec.output = os::ToNothing{};
    spec.errors = os::ToFile{scratch_->path() / "log"};
    auto server = os::ChildProcess::start(spec);
    WEFT_CHECK(server.has_value());
    return std::move(*server);
  }
  /// Whether this host is let in within half a minute; or, where `wanted` is false, is so no more.
  static bool is_let_in(const bus::BusFile& host, bool wanted = true) {
    const auto agent = bus::connect_agent_link(host.address(), host.fabric, host.name);
    const auto until = std::chrono::steady_clock::now() + bus::kSoon;
    bool now = !wanted;
    for (; now != wanted && std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(20ms))
      now = agent && (*agent)->send_text("here").has_value();
    return now;
  }

  std::optional<os::ScratchDirectory> scratch_;
};

TEST_F(BusInit, AServerStartsFromItAndLetsThoseInWhoHaveItsCredentials) {
  const auto port = bus::free_port();
  const auto made = init({"--hosts", "gpu[001-003]", "--listen", fmt::format("127.0.0.1:{}", port)});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("3 hosts, 1 watcher, at 127.0.0.1:"));
  const auto server = start_server();
  const auto watcher = file("watchers/watcher.json");
  auto link = bus::connect_watch_link(watcher.address(), watcher.fabric,
                                      {.name = watcher.name, .limits = *watcher.limits});
  for (int i = 0; i < 100 && !link; ++i)
    link = bus::connect_watch_link(watcher.address(), watcher.fabric,
                                   {.name = watcher.name, .limits = *watcher.limits});
  ASSERT_TRUE(link) << link.error().message;
  const auto host = file("hosts/gpu002.json");
  const auto agent = bus::connect_agent_link(host.address(), host.fabric, host.name);
  ASSERT_TRUE(agent);
  const auto sent = (*agent)->publish({1, 1}, bus::window("a window"));
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(bus::acknowledged(**agent, 1).size(), 1u);
  const auto windows = bus::fetched(*link->feed, 1);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].host, "gpu002");

  auto foreign = watcher;
  foreign.key.seed = bus::make_user_seed();
  const auto refused = bus::connect_watch_link(foreign.address(), foreign.fabric, {.name = foreign.name});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::permission);
  const auto not_a_watcher = bus::connect_watch_link(host.address(), host.fabric, {.name = host.name});
  ASSERT_FALSE(not_a_watcher) << "a host's key does not make a watcher";
}

TEST_F(BusInit, AnAgentThatWasRefusedTriesAgainUntilItIsLetIn) {
  // As with one connection in 256, whose signature the client library does not send; or a key that comes into
  // the configuration later.
  const auto listen = fmt::format("127.0.0.1:{}", bus::free_port());
  ASSERT_EQ(init({"--hosts", "gpu001", "--listen", listen}).status, 0);
  const auto host = file("hosts/gpu001.json");
  const auto config = directory() + "/server/nats-server.conf";
  const auto whole = text_of(config);
  auto without = whole;
  const auto key = bus::public_key_of(host.key.seed).value();
  without.replace(without.find(key), key.size(), bus::public_key_of(bus::make_user_seed()).value());
  std::ofstream(config) << without;
  auto server = start_server();
  const auto agent = bus::connect_agent_link(host.address(), host.fabric, host.name);
  ASSERT_TRUE(agent);
  const auto refused = (*agent)->send_text("here");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("refuses the credential"));
  std::ofstream(config) << whole;
  ASSERT_TRUE(server.send_signal(SIGHUP));
  auto told = refused;
  const auto until = std::chrono::steady_clock::now() + bus::kSoon;
  for (; !told && std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(10ms))
    told = (*agent)->send_text("here");
  EXPECT_TRUE(told) << told.error().message;
  std::ofstream(config) << without;  // its key is taken away again
  ASSERT_TRUE(server.send_signal(SIGHUP));
  for (; told && std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(10ms))
    told = (*agent)->send_text("here");
  EXPECT_FALSE(told);
}

TEST_F(BusInit, WritesNothingWhereItSaysNo) {
  struct Case {
    std::vector<std::string> words;
    std::string said;
  };
  for (const Case& bad :
       {Case{{}, "--hosts"}, Case{{"--hosts", "a/b"}, "a/b"}, Case{{"--hosts", "gpu[1-"}, "--hosts"},
        Case{{"--hosts", "a", "--watchers", "0"}, "--watchers 0"},
        Case{{"--hosts", "a", "--watchers", "17"}, "--watchers 17"},
        Case{{"--hosts", "a", "--listen", "0.0.0.0"}, "--listen 0.0.0.0"},
        Case{{"--hosts", "a", "--listen", "nonsense"}, "--listen"}, Case{{"--hosts", "pod1"}, "pod1"}}) {
    const auto outcome = init(bad.words);
    EXPECT_EQ(outcome.status, 64) << bad.said;
    EXPECT_THAT(outcome.err, HasSubstr(bad.said));
    EXPECT_FALSE(std::filesystem::exists(directory()));
  }
}

TEST_F(BusInit, WritesOverNothing) {
  ASSERT_EQ(init({"--hosts", "a"}).status, 0);
  const auto before = file("hosts/a.json");
  const auto again = init({"--hosts", "a,b"});
  EXPECT_EQ(again.status, 69);
  EXPECT_THAT(again.err, HasSubstr("not empty"));
  EXPECT_EQ(file("hosts/a.json"), before);
}

TEST_F(BusInit, LeavesNothingBehindWhereItCannotWrite) {
  const auto outcome =
      call(bus_command, {"init", directory() + "/no/such", "--fabric", "pod1", "--hosts", "a"});
  EXPECT_EQ(outcome.status, 69);
  EXPECT_THAT(outcome.err, HasSubstr("cannot make " + directory() + "/no/such"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch_->path()));
}

TEST_F(BusInit, TakesNameAndHostsOfAFabricFile) {
  const auto fabric = scratch_->path() / "fabric.yaml";
  std::ofstream(fabric) << "fabric: roce-a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 400G}\n";
  const auto made = call(bus_command, {"init", directory(), "--fabric", fabric});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(file("hosts/host4.json").fabric, "roce-a");
  const auto standing =
      call(agent_command, {"--standing", "--credential", directory() + "/watchers/watcher.json"});
  EXPECT_EQ(standing.status, 64);
  EXPECT_THAT(standing.err, HasSubstr("it is a watcher's"));
}

TEST_F(BusInit, AnOperatorsCredentialIsNoAgents) {
  ASSERT_EQ(init({"--hosts", "a", "--operators", "1"}).status, 0);
  const auto standing =
      call(agent_command, {"--standing", "--credential", directory() + "/operators/operator.json"});
  EXPECT_EQ(standing.status, 64);
  EXPECT_THAT(standing.err, HasSubstr("operator's; a host's is hosts/HOST.json"));
}

TEST_F(BusInit, AHostThatTheFabricFileDoesNotHaveIsRefused) {
  const auto fabric = scratch_->path() / "fabric.yaml";
  std::ofstream(fabric) << "fabric: roce-a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 400G}\n";
  const auto typo = call(bus_command, {"init", directory(), "--fabric", fabric, "--hosts", "host1,hots2"});
  EXPECT_EQ(typo.status, 64);
  EXPECT_THAT(typo.err, HasSubstr("hots2 is no host of roce-a"));
  EXPECT_FALSE(std::filesystem::exists(directory()));
}

TEST_F(BusInit, AHostIsAddedToAServerThatRunsAndNobodyElseNoticesIt) {
  const auto listen = fmt::format("127.0.0.1:{}", bus::free_port());
  ASSERT_EQ(init({"--hosts", "gpu001", "--listen", listen}).status, 0);
  auto server = start_server();
  const auto old_host = file("hosts/gpu001.json");
  ASSERT_TRUE(is_let_in(old_host));
  const auto added = call(bus_command, {"add", directory(), "--hosts", "gpu[002-003]"});
  ASSERT_EQ(added.status, 0) << added.err;
  EXPECT_THAT(added.out, HasSubstr("2 hosts more"));
  EXPECT_THAT(added.out, HasSubstr("systemctl reload weft-bus@pod1"));
  EXPECT_EQ(file("hosts/gpu001.json"), old_host);
  ASSERT_TRUE(server.send_signal(SIGHUP));
  EXPECT_TRUE(is_let_in(file("hosts/gpu003.json")));
  EXPECT_TRUE(is_let_in(old_host));
  const auto again = call(bus_command, {"add", directory(), "--hosts", "gpu004,gpu002"});
  EXPECT_EQ(again.status, 69);
  EXPECT_THAT(again.err, HasSubstr("gpu002 has a key already"));
  EXPECT_FALSE(std::filesystem::exists(directory() + "/hosts/gpu004.json")) << "all of them or none";
}

TEST_F(BusInit, AKeyIsRenewedWithoutATimeInWhichNoneHolds) {
  const auto listen = fmt::format("127.0.0.1:{}", bus::free_port());
  ASSERT_EQ(init({"--hosts", "gpu[001-002]", "--listen", listen}).status, 0);
  auto server = start_server();
  const auto before = file("hosts/gpu001.json");
  const auto other = file("hosts/gpu002.json");
  const auto watcher_before = file("watchers/watcher.json");
  ASSERT_TRUE(is_let_in(before)) << "the server is there: a signal before would end it";
  std::filesystem::remove(directory() + "/hosts/gpu001.json");  // it was carried to its host
  ASSERT_EQ(call(bus_command, {"renew", directory(), "--hosts", "gpu001,watcher"}).status, 0);
  const auto after = file("hosts/gpu001.json");
  EXPECT_NE(after.key.seed, before.key.seed);
  EXPECT_NE(file("watchers/watcher.json").runs->seed, watcher_before.runs->seed);
  EXPECT_EQ(file("hosts/gpu002.json"), other);
  ASSERT_TRUE(server.send_signal(SIGHUP));
  EXPECT_TRUE(is_let_in(after));
  EXPECT_TRUE(is_let_in(before)) << "until it is dropped";
  ASSERT_EQ(call(bus_command, {"drop", directory(), "--all", "--older"}).status, 0);
  ASSERT_TRUE(server.send_signal(SIGHUP));
  EXPECT_FALSE(is_let_in(before, false));
  EXPECT_TRUE(is_let_in(after));
  EXPECT_TRUE(is_let_in(other));
  ASSERT_EQ(call(bus_command, {"drop", directory(), "--hosts", "gpu001"}).status, 0);
  ASSERT_TRUE(server.send_signal(SIGHUP));
  EXPECT_FALSE(is_let_in(after, false));
  EXPECT_FALSE(std::filesystem::exists(directory() + "/hosts/gpu001.json"));
}

TEST_F(BusInit, CredentialsOfAFabricFileSayTheNicsOfTheirHosts) {
  const auto fabric = scratch_->path() / "fabric.yaml";
  const std::string head =
      "fabric: roce-a\naddresses: {plan: ipv4}\nclos: {spines: 1, hosts_per_leaf: 1, link: 400G, leaves: ";
  std::ofstream(fabric) << head << "2}\n";
  ASSERT_EQ(call(bus_command, {"init", directory(), "--fabric", fabric}).status, 0);
  ASSERT_EQ(file("hosts/host1.json").nics.size(), 1u);
  EXPECT_NE(file("hosts/host1.json").nics, file("hosts/host2.json").nics);
  std::ofstream(fabric) << head << "3}\n";
  const auto added = call(bus_command, {"add", directory(), "--fabric", fabric});
  EXPECT_THAT(added.out, HasSubstr("1 host more")) << added.err;
  EXPECT_EQ(file("hosts/host3.json").nics.size(), 1u);
  const auto other = scratch_->path() / "other.yaml";
  std::ofstream(other) << "fabric: roce-b\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 400G}\n";
  const auto refused = call(bus_command, {"add", directory(), "--fabric", other});
  EXPECT_EQ(refused.status, 64);
  EXPECT_THAT(refused.err, HasSubstr("is of fabric roce-a, not of roce-b"));
}

TEST_F(BusInit, ChangesNothingWhereItSaysNo) {
  ASSERT_EQ(init({"--hosts", "gpu001"}).status, 0);
  const auto config = text_of(directory() + "/server/nats-server.conf");
  struct Case {
    std::vector<std::string> words;
    int status;
    std::string said;
  };
  for (const Case& bad :
       {Case{{"add", directory()}, 64, "--hosts"},
        Case{{"add", directory(), "--hosts", "watcher"}, 64, "watcher"},
        Case{{"add", directory(), "--hosts", "a/b"}, 64, "a/b"}, Case{{"renew", directory()}, 64, "--all"},
        Case{{"renew", directory(), "--hosts", "gpu009"}, 64, "gpu009"},
        Case{{"renew", directory(), "--hosts", "gpu001", "--all"}, 64, "--all"},
        Case{{"drop", directory(), "--all"}, 64, "--older"},
        Case{{"drop", directory(), "--hosts", "watcher"}, 64, "needs a watcher"},
        Case{{"add", scratch_->path(), "--hosts", "a"}, 64, "no directory that 'weft bus init' made"}}) {
    const auto outcome = call(bus_command, bad.words);
    EXPECT_EQ(outcome.status, bad.status) << bad.said << ": " << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr(bad.said));
    EXPECT_EQ(text_of(directory() + "/server/nats-server.conf"), config);
  }
}

/// ca.pem, server.pem and server.key, of which the certificate is of bus.site.example; and of another
/// authority.
constexpr const char* kSiteAuthority = R"(set -e
new() { openssl req -nodes -newkey ec -pkeyopt ec_paramgen_curve:P-256 -subj /CN=site "$@" 2>/dev/null; }
new -x509 -days 3 -keyout ca.key -out ca.pem
new -x509 -days 3 -keyout other.key -out other.pem
new -keyout server.key -out server.csr -subj /CN=bus
echo 'subjectAltName=DNS:*.site.example,DNS:bus.site.example' >names
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3 -extfile names -out server.pem 2>/dev/null
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 3 -out nameless.pem 2>/dev/null
chmod 600 *.key
)";

TEST_F(BusInit, AServerMayShowACertificateOfTheSitesAuthority) {
  const auto in = [&](const char* name) { return (scratch_->path() / name).string(); };
  const auto made =
      os::run_program({"sh", "-c", "cd " + scratch_->path().string() + "; " + kSiteAuthority}, "", 30s);
  ASSERT_TRUE(made) << made.error().message;
  const auto listen = fmt::format("127.0.0.1:{}", bus::free_port());
  const auto with = [&](const char* authority, const char* certificate, const char* key) {
    return init({"--hosts", "gpu001", "--listen", listen, "--ca", in(authority), "--cert", in(certificate),
                 "--key", in(key)});
  };
  EXPECT_THAT(with("other.pem", "server.pem", "server.key").err, HasSubstr("would not believe"));
  EXPECT_THAT(with("ca.pem", "server.pem", "other.key").err, HasSubstr("another certificate"));
  EXPECT_THAT(with("ca.pem", "nameless.pem", "server.key").err, HasSubstr("no DNS name"));
  EXPECT_THAT(with("ca.pem", "server.csr", "server.key").err, HasSubstr("no certificate in PEM"));
  EXPECT_THAT(init({"--hosts", "gpu001", "--ca", in("ca.pem")}).err, HasSubstr("go together"));
  std::filesystem::permissions(in("server.key"), std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(with("ca.pem", "server.pem", "server.key").err, HasSubstr("chmod 600"));
  std::filesystem::permissions(in("server.key"), std::filesystem::perms::owner_read);
  EXPECT_FALSE(std::filesystem::exists(directory()));

  const auto good = with("ca.pem", "server.pem", "server.key");
  ASSERT_EQ(good.status, 0) << good.err;
  const auto server = start_server();
  auto host = file("hosts/gpu001.json");
  EXPECT_EQ(host.key.server, "bus.site.example");
  EXPECT_TRUE(is_let_in(host));
  host.key.server = "bus.other.example";
  const auto agent = bus::connect_agent_link(host.address(), host.fabric, host.name);
  ASSERT_TRUE(agent);
  EXPECT_FALSE((*agent)->send_text("here")) << "a certificate of another server of the site";
}

}  // namespace
}  // namespace weft::cli
