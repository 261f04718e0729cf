// Standing agents and watchers as services: what they tell their manager, at a socket of the test's own,
// while a real nats-server comes and goes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <memory>

#include "cli/bus.hpp"
#include "collectors/bus/agent_link.hpp"
#include "collectors/bus/bus_file.hpp"
#include "collectors/bus/watch_link.hpp"
#include "probes/watch/assignment_json.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/service_manager.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class Service : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = os::ScratchDirectory::make();
    ASSERT_TRUE(made);
    scratch_ = std::move(*made);
    manager_ = std::make_unique<ServiceManager>("@weft-service-test-" + std::to_string(getpid()));
  }
  std::filesystem::path in(const std::string& name) const { return scratch_->path() / name; }

  /// A bus of this fabric, whose only host is this one; its files are in the directory of that name.
  os::ChildProcess start_bus(const std::string& fabric) const {
    const auto made = call(bus_command, {"init", in(fabric), "--fabric", fabric, "--hosts", "host1",
                                         "--listen", fmt::format("127.0.0.1:{}", bus::free_port())});
    EXPECT_EQ(made.status, 0) << made.err;
    os::ChildSpec spec{.argv = {"/usr/sbin/nats-server", "-c", in(fabric) / "server/nats-server.conf"}};
    spec.output = spec.errors = os::ToFile{in(fabric + ".log")};
    auto server = os::ChildProcess::start(spec);
    WEFT_CHECK(server.has_value());
    return std::move(*server);
  }
  bus::WatchLink watcher_of(const std::string& fabric) const {
    const auto file = bus::read_bus_file(in(fabric) / "watchers/watcher.json");
    WEFT_CHECK(file.has_value());
    const auto until = std::chrono::steady_clock::now() + bus::kSoon;
    for (;;) {  // one connection in 256 is refused, and the server may not be there yet
      auto link =
          bus::connect_watch_link(file->address(), fabric, {.name = file->name, .limits = *file->limits});
      if (link) return std::move(*link);
      WEFT_CHECK(std::chrono::steady_clock::now() < until);
      std::this_thread::sleep_for(50ms);
    }
  }
  /// `weft WORDS` under the manager, with a watchdog of this length.
  os::ChildProcess start(std::vector<std::string> words, const std::string& watchdog_us = "1000000") const {
    words.insert(words.begin(), WEFT_BINARY_DIR "/weft");
    os::ChildSpec spec{
        .argv = words,
        .env = {"NOTIFY_SOCKET=" + manager_->address(), "WATCHDOG_USEC=" + watchdog_us, "WEFT_NO_CONFIG=1"}};
    spec.output = spec.errors = os::ToFile{in("said")};
    auto child = os::ChildProcess::start(spec);
    WEFT_CHECK(child.has_value());
    return std::move(*child);
  }
  std::string said() const { return text_of(in("said")); }

  std::optional<os::ScratchDirectory> scratch_;
  std::unique_ptr<ServiceManager> manager_;
};

bool hears_of_host1(watch::WindowFeed& feed) {
  const auto until = std::chrono::steady_clock::now() + bus::kSoon;
  for (; std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(20ms))
    for (const auto& word : feed.words())
      if (word.host == "host1") return true;
  return false;
}

TEST_F(Service, OneAgentServesTheFabricsOfAllItsCredentialsAndTellsItsManager) {
  std::filesystem::create_directory(in("agent"));
  auto one = start_bus("pod1");
  auto two = start_bus("pod2");
  for (const std::string fabric : {"pod1", "pod2"})
    std::filesystem::copy_file(in(fabric) / "hosts/host1.json", in("agent") / ("bus_" + fabric + ".json"));
  auto first = watcher_of("pod1");
  auto second = watcher_of("pod2");
  auto agent = start({"agent", "--standing", "--credential", in("agent"), "--nic", "127.0.0.1"});
  EXPECT_TRUE(hears_of_host1(*first.feed)) << said();
  EXPECT_TRUE(hears_of_host1(*second.feed)) << said();
  EXPECT_TRUE(manager_->hears("READY=1"));
  EXPECT_TRUE(manager_->hears("WATCHDOG=1"));
  one.stop(5s);
  EXPECT_TRUE(manager_->hears("STATUS=pod1: the bus is away"));
  EXPECT_TRUE(manager_->hears("WATCHDOG=1")) << "it works without the bus";
  ASSERT_TRUE(agent.send_signal(SIGTERM));
  EXPECT_TRUE(manager_->hears("STOPPING=1"));
  const auto ended = agent.wait_for(10s);
  ASSERT_TRUE(ended && *ended);
  EXPECT_TRUE((*ended)->success()) << said();
}

TEST_F(Service, AnAgentIsReadyWhileTheBusIsAway) {
  { auto server = start_bus("pod1"); }
  const auto agent =
      start({"agent", "--standing", "--credential", in("pod1") / "hosts/host1.json", "--nic", "127.0.0.1"});
  EXPECT_TRUE(manager_->hears("STATUS=the bus is away")) << said();
  EXPECT_TRUE(manager_->hears("READY=1")) << said();
}

TEST_F(Service, AWatcherIsReadyAtItsBusAndSaysHowTheFabricIs) {
  std::ofstream(in("fabric.yaml"))
      << "fabric: pod1\nclos: {leaves: 1, spines: 1, hosts_per_leaf: 1, link: 400G}\n"
         "addresses: {plan: ipv4}\n";
  auto server = start_bus("pod1");
  auto watcher = start({"watch", "--fabric", in("fabric.yaml"), "--credential",
                        in("pod1") / "watchers/watcher.json", "--state", in("state")});
  EXPECT_TRUE(manager_->hears("STATUS=watching pod1 as the active watcher")) << said();
  EXPECT_TRUE(manager_->hears("READY=1")) << said();
  EXPECT_TRUE(manager_->hears("WATCHDOG=1"));
  const auto host = bus::read_bus_file(in("pod1") / "hosts/host1.json").value();
  const auto newer = bus::connect_agent_link(host.address(), host.fabric, host.name);
  ASSERT_TRUE(newer);
  const watch::AgentHello hello{
      .host = "host1", .version = "9.0", .boot = 1, .protocol = watch::kWatchProtocol + 1};
  const auto until = std::chrono::steady_clock::now() + bus::kSoon;
  while (!(*newer)->send_text(watch::to_json_text(hello)) && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(20ms);
  EXPECT_TRUE(manager_->hears("STATUS=host1: its weft 9.0 speaks protocol")) << said();
  ASSERT_TRUE(watcher.send_signal(SIGTERM));
  EXPECT_TRUE(manager_->hears("STOPPING=1"));
}

TEST_F(Service, AnAgentSaysWhatItsCredentialsLack) {
  std::filesystem::create_directory(in("agent"));
  const auto ask = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"--standing", "--credential", in("agent")});
    return call(agent_command, more);
  };
  const auto none = ask({});
  EXPECT_EQ(none.status, 64);
  EXPECT_THAT(none.err, HasSubstr("no file there ends in .json"));
  ASSERT_EQ(call(bus_command, {"init", in("pod1"), "--fabric", "pod1", "--hosts", "host1"}).status, 0);
  const auto credential = in("pod1") / "hosts/host1.json";
  std::filesystem::copy_file(credential, in("agent") / "a.json");
  const auto no_nic = ask({});
  EXPECT_EQ(no_nic.status, 64);
  EXPECT_THAT(no_nic.err, HasSubstr("names none"));
  std::filesystem::copy_file(credential, in("agent") / "b.json");
  const auto twice = ask({"--nic", "127.0.0.1"});
  EXPECT_EQ(twice.status, 64);
  EXPECT_THAT(twice.err, HasSubstr("another one is of fabric pod1"));
}

}  // namespace
}  // namespace weft::cli
