// `weft nccl steer --credential` as an operator calls it: a real nats-server that `weft bus init` set up, and
// standing agents, each a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "balancer/steer/label_list.hpp"
#include "cli/bus.hpp"
#include "cli/nccl.hpp"
#include "collectors/bus/agent_link.hpp"
#include "collectors/bus/bus_file.hpp"
#include "collectors/bus/operator_link.hpp"
#include "tests/collectors/bus/watch_rig.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/private_file.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kTwoHosts =
    "fabric: pod1\naddresses: {plan: ipv4}\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 400G}\n";
/// A queue pair from host1 to host2, labelled both ways.
constexpr const char* kAssignment =
    R"({"schema":"weft.assignment/1","assignments":[{"src":"host1","dst":"host2","qp":0,"bytes":5,"label":49152,)"
    R"("path":["host1->leaf1","leaf1->spine1","spine1->leaf2","leaf2->host2"],"reverse":{"src":"host2","label":)"
    R"(50000,"path":["host2->leaf2","leaf2->spine1","spine1->leaf1","leaf1->host1"]}}]})";

class SteerHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(in("fabric.yaml")) << kTwoHosts;
    std::ofstream(in("now.json")) << kAssignment;
    const auto listen = fmt::format("127.0.0.1:{}", bus::free_port());
    const auto made =
        call(bus_command, {"init", in("bus"), "--fabric", in("fabric.yaml"), "--listen", listen});
    ASSERT_EQ(made.status, 0) << made.err;
    ASSERT_FALSE(std::filesystem::exists(in("bus/operators"))) << "nobody steers unless it is asked for";
  }
  std::string in(const std::string& name) const { return scratch_.path() / name; }
  bus::BusFile file(const std::string& name) const { return bus::read_bus_file(in("bus/" + name)).value(); }

  os::ChildProcess start(std::vector<std::string> argv, const std::string& log) const {
    os::ChildSpec spec{.argv = std::move(argv), .env = {"WEFT_NO_CONFIG=1"}};
    spec.output = spec.errors = os::ToFile{in(log)};
    auto child = os::ChildProcess::start(spec);
    WEFT_CHECK(child.has_value());
    return std::move(*child);
  }
  /// One that is ready: before that, SIGHUP would end it.
  os::ChildProcess start_server() const {
    auto server = start({"/usr/sbin/nats-server", "-c", in("bus/server/nats-server.conf")}, "server.log");
    const auto until = std::chrono::steady_clock::now() + bus::kSoon;
    while (text_of(in("server.log")).find("Server is ready") == std::string::npos &&
           std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(20ms);
    return server;
  }
  os::ChildProcess start_agent(const std::string& host, std::vector<std::string> more = {}) const {
    std::vector<std::string> words{WEFT_BINARY_DIR "/weft", "agent", "--standing", "--credential",
                                   in("bus/hosts/" + host + ".json")};
    words.insert(words.end(), more.begin(), more.end());
    return start(words, host + ".log");
  }
  /// An agent whose host has a directory of jobs.
  os::ChildProcess start_agent_of_jobs(const std::string& host) const {
    mkdir(in(host).c_str(), 0755);
    return start_agent(host, {"--nccl-dir", in(host)});
  }
  void add_operator(os::ChildProcess& server) const {
    const auto added = call(bus_command, {"add", in("bus"), "--operators", "1"});
    ASSERT_EQ(added.status, 0) << added.err;
    EXPECT_THAT(added.out, HasSubstr("1 operator, whose credentials are in"));
    ASSERT_TRUE(server.send_signal(SIGHUP));
  }
  Outcome steer(const std::string& credential, const std::vector<std::string>& more = {}) const {
    Arguments words{in("now.json"), "--fabric",     in("fabric.yaml"),      "--job",
                    "77",           "--credential", in("bus/" + credential)};
    words.insert(words.end(), more.begin(), more.end());
    return call(nccl_steer_command, words);
  }
  /// Until what it prints is this, or half a minute is over: agents may still come, or the server read its
  /// configuration.
  Outcome steer_until(const std::string& said) const {
    const auto until = std::chrono::steady_clock::now() + bus::kSoon;
    for (;;) {
      auto outcome = steer("operators/operator.json");
      if (outcome.out.find(said) != std::string::npos || std::chrono::steady_clock::now() > until)
        return outcome;
      std::this_thread::sleep_for(100ms);
    }
  }
  steer::LabelList list_of(const std::string& host) const {
    const auto text = text_of(in(host) + "/labels.77");
    return steer::decode_labels(std::as_bytes(std::span(text))).value();
  }

  os::ScratchDirectory scratch_ = os::ScratchDirectory::make().value();
};

TEST_F(SteerHosts, EachHostTakesItsOwnLabelsAndTheCommandSaysWhatBecameOfThem) {
  auto server = start_server();
  const auto first = start_agent_of_jobs("host1");
  std::optional<os::ChildProcess> second = start_agent("host2");
  add_operator(server);
  const auto refused = steer_until("host2  refused");
  EXPECT_THAT(refused.out, HasSubstr("host2  refused: this agent has no directory of jobs (--nccl-dir)"))
      << refused.err << text_of(in("server.log")) << text_of(in("host2.log"));
  EXPECT_EQ(refused.status, 69);
  EXPECT_THAT(refused.err, HasSubstr("hosts have not taken their labels"));
  second.reset();
  second = start_agent_of_jobs("host2");
  const auto taken = steer_until("host2  list");
  EXPECT_EQ(taken.status, 0) << taken.out << taken.err << text_of(in("host2.log"));
  EXPECT_THAT(taken.out, AllOf(HasSubstr("host1  list "), HasSubstr("host2  list 1: 1 pairs of NICs")));
  const auto one = list_of("host1"), two = list_of("host2");
  ASSERT_EQ(one.pairs.size(), 1u) << "those of its own NICs alone";
  EXPECT_EQ(one.pairs[0].role, steer::Role::sends);
  EXPECT_EQ(one.pairs[0].labels, std::vector{PathLabel(49'152)});
  EXPECT_EQ(one.job, "77");
  ASSERT_EQ(two.pairs.size(), 1u);
  EXPECT_EQ(two.pairs[0].own, one.pairs[0].peer);
  EXPECT_EQ(two.pairs[0].labels, std::vector{PathLabel(50'000)});
  EXPECT_EQ(steer("operators/operator.json").status, 0);
  EXPECT_EQ(list_of("host1").generation, one.generation + 1);
  EXPECT_THAT(text_of(in("host1.log")), HasSubstr("of labels is in " + in("host1")));

  second.reset();
  const auto without = steer("operators/operator.json");
  EXPECT_EQ(without.status, 69);
  EXPECT_THAT(without.out, AllOf(HasSubstr("host1  list "), HasSubstr("host2  no agent answers")));
  const auto watched =
      call(watch_command, {"--fabric", in("fabric.yaml"), "--credential", in("bus/operators/operator.json")});
  EXPECT_EQ(watched.status, 64);
  EXPECT_THAT(watched.err, HasSubstr("it is an operator's"));
  const auto document = steer("operators/operator.json", {"-o", "json"});
  EXPECT_EQ(document.status, 69);
  expect_matches_schema(document.out, "steered");
  const auto told = nlohmann::json::parse(document.out)["hosts"];
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0]["labels"], "taken");
  EXPECT_EQ(told[0]["pairs"], 1);
  EXPECT_EQ(told[1], nlohmann::json::parse(R"({"host":"host2","labels":"no agent","pairs":1})"));
}

TEST_F(SteerHosts, NobodyElsesCredentialSteers) {
  auto server = start_server();
  const auto agent = start_agent_of_jobs("host1");
  add_operator(server);
  EXPECT_THAT(steer_until("host1  list 1").out, HasSubstr("host1  list 1"));
  for (const char* other : {"watchers/watcher.json", "hosts/host2.json"}) {
    const auto outcome = steer(other);
    EXPECT_EQ(outcome.status, 64);
    EXPECT_THAT(outcome.err, HasSubstr("expected that of an operator"));
    // Who says of itself that it is one.
    auto forged = file(other);
    forged.steers = true;
    ASSERT_TRUE(os::write_whole_file(in("bus/forged.json"), bus::bus_file_text(forged), 0600,
                                     os::Existing::replaced));
    const auto tried = steer("forged.json");
    EXPECT_EQ(tried.status, 69) << tried.out;
    EXPECT_THAT(tried.out, Not(HasSubstr("list")));
  }
  EXPECT_EQ(list_of("host1").generation, 1u);
  EXPECT_EQ(call(nccl_steer_command, {in("now.json"), "--fabric", in("fabric.yaml"), "--credential",
                                      in("bus/operators/operator.json"), "--dir", in("host1")})
                .status,
            64);
}

TEST_F(SteerHosts, AnAgentWorksAtABusThatAnOlderWeftSetUp) {
  const auto config = in("bus/server/nats-server.conf");
  auto text = text_of(config);
  const std::string words[] = {", \"weft.labels.pod1.host1\"", ", \"weft.labelled.pod1.host1\""};
  for (const auto& word : words) {
    ASSERT_NE(text.find(word), std::string::npos) << text;
    text.erase(text.find(word), word.size());
  }
  std::ofstream(config) << text;
  const auto server = start_server();
  const auto host = file("hosts/host1.json");
  const auto agent = bus::connect_agent_link(host.address(), host.fabric, host.name);
  ASSERT_TRUE(agent);
  const auto until = std::chrono::steady_clock::now() + bus::kSoon;
  bool is_let_in = false;
  for (; !is_let_in && std::chrono::steady_clock::now() < until; std::this_thread::sleep_for(20ms))
    is_let_in = (*agent)->send_text("here").has_value();
  EXPECT_TRUE(is_let_in) << text_of(in("server.log"));
  EXPECT_TRUE((*agent)->publish({1, 1}, bus::window("a window")));
}

}  // namespace
}  // namespace weft::cli
