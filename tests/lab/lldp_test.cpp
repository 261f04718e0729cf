// `weft topology discover` by what a real lldpd says: one in each host and each switch of a lab, with a
// socket and a host name of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/test_cluster.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/run_program.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr std::chrono::seconds kLimit{120};

class LldpLab : public TestCluster {
 public:
  LldpLab() {
    for (const char* folder : {"hosts", "switches", "text"}) fs::create_directories(directory() / folder);
    for (NodeId node(0); node.value() < opened().fabric().nodes().size(); node = NodeId(node.value() + 1))
      start(node);
    // One that is asked to send before it resumes by itself may never send or hear anything (lldpd 1.0.16).
    wait_for("lldpd does not resume", [&] {
      return std::ranges::all_of(daemons_, [](const Daemon& daemon) {
        return text_of(daemon.log).find("should resume operations") != std::string::npos;
      });
    });
    wait_for("lldpd does not hear all neighbours", [&] { return dump_all(); });
  }

  std::string dumps(const std::string& of) const { return directory() / of; }
  /// Reaches hosts as a cluster's are; `lldpcli` asks each host's own daemon.
  std::string launcher_to_daemons() const {
    return launcher_with("[ $2 = lldpcli ] && { host=$1; shift 2; exec lldpcli -u " + directory().string() +
                         "/$host.socket \"$@\"; }");
  }

 private:
  struct Daemon {
    NodeId node;
    fs::path socket, log;
    os::ChildProcess process;
  };

  template <class Holds>
  void wait_for(std::string_view otherwise, Holds holds) {
    const auto deadline = std::chrono::steady_clock::now() + kLimit;
    while (!holds()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline) << otherwise;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }

  /// The host name is the node's, in a UTS namespace of its own: it is what neighbours hear.
  void start(NodeId node) {
    const auto& name = opened().fabric().name_of(node);
    const fs::path socket = directory() / (name + ".socket"), log = directory() / (name + ".lldpd");
    auto started =
        spawn_in(opened(), node,
                 {.argv = {"unshare", "-u", "sh", "-c",
                           fmt::format("hostname {} && exec lldpd -d -u {}", name, socket.string())},
                  .output = os::ToNothing{},
                  .errors = os::ToFile{log}});
    ASSERT_TRUE(started) << started.error().message;
    daemons_.push_back({node, socket, log, std::move(*started)});
  }

  /// A lldpd sends as it starts, when others do not hear it yet, and each 30 s: asked for, it sends again.
  bool dump_all() {
    bool complete = true;
    for (const Daemon& daemon : daemons_) {
      const auto ask = [&](std::vector<std::string> words) {
        words.insert(words.begin(), {"lldpcli", "-u", daemon.socket});
        return os::run_program(words, "", kLimit);
      };
      const auto sent = ask({"update"});
      const auto said = ask({"-f", "json", "show", "neighbors"});
      const auto text = ask({"show", "neighbors"});
      if (!sent || !said || !text) return false;
      const auto& fabric = opened().fabric();
      const bool is_host = fabric.node(daemon.node).kind == NodeKind::host;
      std::ofstream(directory() / (is_host ? "hosts" : "switches") / (fabric.name_of(daemon.node) + ".json"))
          << *said;
      if (!is_host) std::ofstream(directory() / "text" / (fabric.name_of(daemon.node) + ".txt")) << *text;
      std::size_t neighbours = 0;
      for (auto at = said->find("\"chassis\""); at != std::string::npos;
           at = said->find("\"chassis\"", at + 1))
        ++neighbours;
      complete &= neighbours == fabric.ports_of(daemon.node).size();
    }
    return complete;
  }

  std::vector<Daemon> daemons_;
};

TEST(Lldp, DumpsOfSwitchesAndHostsTellEveryCable) {
  const LldpLab lab;
  for (const std::vector<std::string>& records :
       {std::vector<std::string>{"--lldp", lab.dumps("switches"), "--lldp", lab.dumps("hosts")},
        {"--lldp", lab.dumps("switches")},
        {"--lldp", lab.dumps("text")},
        {"--lab=" + lab.lab, "--lldp", lab.dumps("switches")}}) {
    std::vector<std::string> words{"topology", "discover", "--against", lab.live_file(), "-o", "json"};
    words.insert(words.end(), records.begin(), records.end());
    const auto answer = lab.weft(words);
    EXPECT_EQ(answer.status, 0) << testing::PrintToString(records) << answer.output << answer.errors;
    const auto found = Json::parse(answer.output, nullptr, false);
    EXPECT_EQ(found["fabric"]["links"].size(), 8u) << answer.output;
  }
  // What hosts hear of their leaves they are asked for: traces alone would have no names for them.
  const auto asked = lab.on_head({"topology", "discover", "--hosts", "host[1-4]", "--subnet", "10.0.0.0/16",
                                  "--answer-rate", "10000", "--launcher", lab.launcher_to_daemons(),
                                  "--listen", lab.head_address(), "-o", "yaml"});
  EXPECT_EQ(asked.status, 0) << asked.output << asked.errors;
  EXPECT_EQ(asked.errors, "");
  for (const char* leaf : {"name: leaf1, kind: switch, tier: leaf", "name: leaf2, kind: switch, tier: leaf"})
    EXPECT_THAT(asked.output, HasSubstr(leaf));
  const auto answer = lab.weft({"topology", "discover", "--lldp", lab.dumps("hosts")});
  EXPECT_EQ(answer.status, 3) << answer.output << answer.errors;
  EXPECT_THAT(answer.output, HasSubstr("unknown: the cables of other devices"));
}

}  // namespace
}  // namespace weft
