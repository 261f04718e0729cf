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
#include "topology/os/child_process.hpp"
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

  std::optional<os::ScratchDirectory> scratch_;
};

TEST_F(BusInit, AServerStartsFromItAndLetsThoseInWhoHaveItsCredentials) {
  const auto port = bus::free_port();
  const auto made = init({"--hosts", "gpu[001-003]", "--listen", fmt::format("127.0.0.1:{}", port)});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("3 hosts, 1 watcher, at 127.0.0.1:"));
  os::ChildSpec spec{.argv = {"/usr/sbin/nats-server", "-c", directory() + "/server/nats-server.conf"}};
  spec.output = os::ToNothing{};
  spec.errors = os::ToFile{scratch_->path() / "log"};
  const auto server = os::ChildProcess::start(spec);
  ASSERT_TRUE(server) << server.error().message;

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

std::string text_of(const std::string& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
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
  os::ChildSpec spec{.argv = {"/usr/sbin/nats-server", "-c", config}};
  spec.output = os::ToNothing{};
  spec.errors = os::ToFile{scratch_->path() / "log"};
  auto server = os::ChildProcess::start(spec);
  ASSERT_TRUE(server) << server.error().message;
  const auto agent = bus::connect_agent_link(host.address(), host.fabric, host.name);
  ASSERT_TRUE(agent);
  const auto refused = (*agent)->tell("here");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("refuses the credential"));
  std::ofstream(config) << whole;
  ASSERT_TRUE(server->send_signal(SIGHUP));
  auto told = refused;
  const auto until = std::chrono::steady_clock::now() + bus::kSoon;
  for (; !told && std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(10ms))
    told = (*agent)->tell("here");
  EXPECT_TRUE(told) << told.error().message;
  std::ofstream(config) << without;  // its key is taken away again
  ASSERT_TRUE(server->send_signal(SIGHUP));
  for (; told && std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(10ms))
    told = (*agent)->tell("here");
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

TEST_F(BusInit, TakesNameAndHostsOfAFabricFile) {
  const auto fabric = scratch_->path() / "fabric.yaml";
  std::ofstream(fabric) << "fabric: roce-a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2, link: 400G}\n";
  const auto made = call(bus_command, {"init", directory(), "--fabric", fabric});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(file("hosts/host4.json").fabric, "roce-a");
}

}  // namespace
}  // namespace weft::cli
