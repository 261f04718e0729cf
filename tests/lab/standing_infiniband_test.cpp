// Sweeps of an InfiniBand subnet by agents that stand, with a watcher beside: adapters of ibsim under OpenSM,
// a server with TLS and nkeys.
#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/places.hpp"
#include "tests/support/infiniband_lab.hpp"
#include "tests/support/standing_cluster.hpp"
#include "tests/support/text_of.hpp"
#include "topology/model/infiniband.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kFabric =
    "fabric: ib-stands\nkind: infiniband\n"
    "clos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 200G}\nlab: {routing: minhop, lmc: 1}\n";
constexpr const char* kOperator = "operators/operator.json";
constexpr const char* kWatcher = "watchers/watcher.json";

/// A subnet whose hosts have standing agents, each a process, and the server that they are at.
class StandingSubnet : public LabUser {
 public:
  StandingSubnet() : LabUser(kFabric) {
    const auto there = up();
    EXPECT_EQ(there.status, 0) << there.errors;
    opened_ = lab::ib_lab_open(lab, cli::ib_lab_root()).value();
    const auto made = weft({"bus", "init", in("bus"), "--fabric", fabric_file(), "--listen",
                            fmt::format("127.0.0.1:{}", bus::free_port()), "--operators", "1"});
    EXPECT_EQ(made.status, 0) << made.errors;
    server_ = start_program({"/usr/sbin/nats-server", "-c", in("bus/server/nats-server.conf")}, "server.log");
    for (const NodeId host : opened_->fabric.hosts()) start_agent(opened_->fabric.name_of(host));
  }

  /// Through a process at its adapter; with `words` in place of that, `weft agent` itself.
  void start_agent(const std::string& host, std::vector<std::string> words = {}) {
    const PortId nic = opened_->fabric.find_nic(host).value();
    if (words.empty()) words = {WEFT_BINARY_DIR "/adapters_agent", "agent", "--engine", "ibsim"};
    words.insert(words.end(), {"--standing", "--credential", in("bus/hosts/" + host + ".json"), "--nic",
                               to_string(gid_address(*opened_->fabric.port(nic).guid))});
    agents_[host] = start_program(words, host + ".log", {"WEFT_TEST_IB_LAB=" + lab});
  }
  void end_agent(const std::string& host) {
    ASSERT_TRUE(agents_.at(host)->send_signal(SIGTERM));
    EXPECT_TRUE(agents_.at(host)->wait_for(10s).value()) << text_of(in(host + ".log"));
  }

  /// From a host of the subnet.
  RunningCommand start_in_subnet(const std::vector<std::string>& words) const {
    return start_after(lab::in_directory(opened_->directory, {}), words, opened_->environment_for_commands());
  }
  std::vector<std::string> sweep_words(const char* credential = kOperator) const {
    return {"sweep",
            "--budget",
            "3s",
            "--fabric",
            fabric_file(),
            "--credential",
            in("bus/") + credential,
            "-o",
            "json",
            "--probe-rate",
            "200",
            "--tolerate",
            "delay=1s"};
  }
  Answer sweep(const char* credential = kOperator) const {
    return start_in_subnet(sweep_words(credential)).wait(60s);
  }
  /// Agents are there some seconds after they were started.
  Answer first_healthy_sweep() const {
    Answer swept;
    comes_true_within(60s, [&] {
      swept = sweep();
      return swept.status == 0;
    });
    return swept;
  }
  RunningCommand start_watch() const {
    return start_in_subnet({"watch", "--fabric", fabric_file(), "--credential", in("bus/") + kWatcher,
                            "--rate", "100", "--events", in("events"), "--state", in("state"),
                            "--close-after", "4s"});
  }
  std::vector<Json> events() const {
    std::vector<Json> all;
    std::ifstream file(in("events"));
    for (std::string line; std::getline(file, line) && !file.eof();) all.push_back(Json::parse(line));
    return all;
  }
  bool told(std::string_view change, Nanoseconds limit) const {
    return comes_true_within(limit, [&] {
      return std::ranges::any_of(events(), [&](const Json& event) { return event["change"] == change; });
    });
  }
  std::string said_by_agents() const {
    std::string all;
    for (const auto& [host, agent] : agents_) all += host + ":\n" + text_of(in(host + ".log"));
    return all;
  }
  std::string in(const std::string& name) const { return directory() / name; }

 private:
  std::optional<os::ChildProcess> start_program(std::vector<std::string> argv, const std::string& log,
                                                std::vector<std::string> env = {}) const {
    os::ChildSpec spec{.argv = std::move(argv), .env = std::move(env)};
    spec.output = os::ToNothing{};
    spec.errors = os::ToFile{in(log)};
    auto child = os::ChildProcess::start(spec);
    if (!child) ADD_FAILURE() << child.error().message;
    return child ? std::optional(std::move(*child)) : std::nullopt;
  }

  std::optional<lab::IbLab> opened_;
  std::optional<os::ChildProcess> server_;
  std::map<std::string, std::optional<os::ChildProcess>> agents_;
};

Json document(const Answer& answer) { return Json::parse(answer.output, nullptr, false); }

class StandingInfiniband : public InfinibandLabTest {};

TEST_F(StandingInfiniband, ASweepNamesTheLossyCableBesideAWatcherThatGoesOn) {
  StandingSubnet subnet;
  auto watch = subnet.start_watch();
  ASSERT_TRUE(
      comes_true_within(60s, [&] { return watch.errors_so_far().find("plan 1:") != std::string::npos; }))
      << watch.errors_so_far() << subnet.said_by_agents();
  const auto healthy = subnet.first_healthy_sweep();
  EXPECT_EQ(healthy.status, 0) << healthy.output << healthy.errors << subnet.said_by_agents();
  EXPECT_EQ(document(healthy)["coverage"]["complete"], true) << healthy.output;
  EXPECT_THAT(subnet.events(), IsEmpty()) << "a pause is no fault";
  subnet.fault("leaf1--spine1", {"--loss", "10", "--from", "leaf1"});
  for (const char* credential : {kOperator, kWatcher}) {
    const auto lossy = subnet.sweep(credential);
    EXPECT_EQ(lossy.status, 2) << lossy.output << lossy.errors;
    const auto told = document(lossy);
    ASSERT_EQ(told["links"].size(), 1u) << lossy.output;
    EXPECT_EQ(told["links"][0]["link"], "leaf1--spine1");
    EXPECT_EQ(told["links"][0]["from"], "leaf1");
    EXPECT_THAT(told["hosts"], IsEmpty()) << lossy.output;
  }
  EXPECT_TRUE(subnet.told("opened", 30s)) << watch.errors_so_far();
  ASSERT_EQ(subnet.weft({"lab", "heal", "--name", subnet.lab}).status, 0);
  EXPECT_TRUE(subnet.told("closed", 90s)) << watch.errors_so_far();
  for (const Json& event : subnet.events())
    EXPECT_EQ(event["channels"], Json({"leaf1->spine1"})) << "of the fault alone: " << event;
  watch.signal(SIGINT);
  EXPECT_EQ(watch.wait(20s).status, 0);
}

TEST_F(StandingInfiniband, AHostWithoutAnAgentOfItsKindIsNotTestedAndNotBlamed) {
  StandingSubnet subnet;
  EXPECT_EQ(subnet.first_healthy_sweep().status, 0) << subnet.said_by_agents();
  subnet.end_agent("host2");
  subnet.end_agent("host3");
  subnet.start_agent("host3", {subnet.program(), "agent"});  // the usual engine, which is for RoCE
  Answer swept;
  EXPECT_TRUE(comes_true_within(30s,
                                [&] {
                                  swept = subnet.sweep();
                                  return swept.output.find("started with --engine raw") != std::string::npos;
                                }))
      << swept.output << swept.errors;
  EXPECT_EQ(swept.status, 3) << swept.output << swept.errors;
  EXPECT_THAT(swept.output, HasSubstr("this fabric is probed by --engine umad"));
  EXPECT_THAT(swept.output, HasSubstr("its agent did not come"));
  for (const auto& host : document(swept)["hosts"]) EXPECT_NE(host["verdict"], "failed") << host;
  EXPECT_THAT(document(swept)["links"], IsEmpty()) << swept.output;
}

TEST_F(StandingInfiniband, TwoAtOnceAreNeverAWrongVerdictAndBothEnd) {
  StandingSubnet subnet;
  EXPECT_EQ(subnet.first_healthy_sweep().status, 0) << subnet.said_by_agents();
  auto first = subnet.start_in_subnet(subnet.sweep_words());
  auto second = subnet.start_in_subnet(subnet.sweep_words(kWatcher));
  for (auto* one : {&first, &second}) {
    const auto answer = one->wait(60s);
    EXPECT_THAT(answer.status, AnyOf(0, 3, 69)) << answer.output << answer.errors;
    if (answer.status == 69) {
      EXPECT_THAT(answer.errors, AnyOf(HasSubstr("serves another run"), HasSubstr("did not come")));
    }
  }
}

TEST_F(StandingInfiniband, OneThatIsInterruptedOrKilledLeavesTheAgentsToTheNext) {
  StandingSubnet subnet;
  EXPECT_EQ(subnet.first_healthy_sweep().status, 0) << subnet.said_by_agents();
  for (const int signal : {SIGINT, SIGKILL}) {
    auto words = subnet.sweep_words();
    words[2] = "40s";
    words.insert(words.end(), {"--progress", "plain"});
    auto running = subnet.start_in_subnet(words);
    EXPECT_TRUE(comes_true_within(25s, [&] {
      return running.errors_so_far().find("probing") != std::string::npos;
    })) << running.errors_so_far();
    running.signal(signal);
    running.wait(10s);
    Answer next;
    EXPECT_TRUE(comes_true_within(signal == SIGINT ? 15s : 40s,
                                  [&] {
                                    next = subnet.sweep();
                                    return next.status == 0;
                                  }))
        << signal << next.output << next.errors;
  }
}

}  // namespace
}  // namespace weft
