// Two runs at a time over one nats-server that has no logins, of hosts with the same names: neither hears of
// the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "collectors/bus/nats_bus.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/agent_loop.hpp"
#include "probes/session/coordinator_loop.hpp"
#include "tests/fakes/fake_script.hpp"
#include "topology/model/clos.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::run {
namespace {

using ::testing::IsEmpty;

/// As somebody starts it for `weft sweep --server`.
class OpenServer {
 public:
  OpenServer() {
    scratch_.emplace(os::ScratchDirectory::make().value());
    server_.emplace(os::ChildProcess::start({.argv = {"nats-server", "-a", "127.0.0.1", "-p", "-1",
                                                      "--ports_file_dir", scratch_->path()},
                                             .output = os::ToNothing{},
                                             .errors = os::ToNothing{}})
                        .value());
  }
  std::string url() const {
    const auto ports = scratch_->path() / fmt::format("nats-server_{}.ports", server_->pid());
    for (int tries = 0; tries < 500; ++tries) {
      std::ifstream file(ports);
      const auto read = nlohmann::json::parse(file, nullptr, false);
      if (read.is_object()) return read.at("nats").at(0);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return "";
  }

 private:
  std::optional<os::ScratchDirectory> scratch_;
  std::optional<os::ChildProcess> server_;
};

PortId mark_of(RunId run) { return PortId(static_cast<std::uint32_t>(run.value())); }

/// What it received is told with a mark of the run that its engine was opened for.
class MarkedEngine : public datapath::ProbeEngine {
 public:
  explicit MarkedEngine(RunId run) : run_(run) {}
  Result<std::vector<datapath::HopAnswer>> trace(const datapath::TraceRequest&, std::stop_token) override {
    return {};
  }
  Result<std::vector<datapath::PingTally>> ping(const datapath::PingRequest&, std::stop_token) override {
    return {};
  }
  Result<std::vector<datapath::ReceivedTally>> received(BatchId batch) override {
    return std::vector<datapath::ReceivedTally>{{.batch = batch, .from = mark_of(run_)}};
  }

 private:
  RunId run_;
};

class MarkedScript : public fakes::FakeScript {
 public:
  using FakeScript::FakeScript;
  void take(const session::WorkItem& item, const session::TaskAnswer* answer) override {
    FakeScript::take(item, answer);
    if (!answer) return;
    for (const auto& tally : std::get<std::vector<datapath::ReceivedTally>>(*answer))
      marks.insert(tally.from);
  }
  std::set<PortId> marks;
};

/// A coordinator and the agents of its hosts, each with a connection of its own.
struct LiveRun {
  static constexpr int kWaves = 200;
  LiveRun(const std::string& url, const Fabric& fabric)
      : script({fabric.nics().begin(), fabric.nics().end()}, kWaves) {
    for (const NodeId host : fabric.hosts()) {
      const PortId nic = fabric.ports_of(host)[0];
      expected.push_back({host, {{"p1", nic}}});
      agents.emplace_back([this, url, name = fabric.name_of(host)] {
        const auto bus = bus::connect_nats({url, ""}, secrets.run, name);
        const session::PrepareRun prepare = [] {
          return session::RunHost{[](const auto&, const packet::RunSecrets& of, const auto&) {
            return Result<session::NicEngines>({std::make_shared<MarkedEngine>(of.run), nullptr});
          }};
        };
        if (bus) (void)run_agent(**bus, {.host = name}, prepare, {}, session::AgentLife::one_run, {});
      });
    }
    coordinator = std::jthread([this, url, &fabric] {
      const auto bus = bus::connect_nats({url, ""}, secrets.run, std::string(session::kCoordinator));
      if (!bus) return;
      session::Coordinator driven(fabric, script, secrets, expected);
      outcome = coordinate(**bus, driven, [](const session::Progress&) {}, {});
    });
  }
  void join() {
    coordinator.join();
    for (std::jthread& agent : agents) agent.join();
  }

  const packet::RunSecrets secrets = new_run_secrets();
  MarkedScript script;
  std::vector<session::ExpectedHost> expected;
  Result<void> outcome = fail(ErrorKind::internal, "no bus");
  std::vector<std::jthread> agents;
  std::jthread coordinator;
};

TEST(RunsOnOneServer, HearNothingOfEachOther) {
  const OpenServer server;
  const std::string url = server.url();
  ASSERT_FALSE(url.empty());
  const Fabric fabric = make_clos({.leaves = 2, .spines = 1, .hosts_per_leaf = 1}).value();
  LiveRun first(url, fabric);
  LiveRun second(url, fabric);
  for (LiveRun* run : {&first, &second}) {
    run->join();
    EXPECT_TRUE(run->outcome) << run->outcome.error().message;
    EXPECT_EQ(run->script.answered, 2 * LiveRun::kWaves);
    EXPECT_EQ(run->script.marks, std::set<PortId>{mark_of(run->secrets.run)});
    EXPECT_THAT(run->script.blamed, IsEmpty());
    EXPECT_THAT(run->script.untested, IsEmpty());
  }
  EXPECT_NE(first.secrets.run, second.secrets.run);
}

}  // namespace
}  // namespace weft::run
