// Agents started by a real ssh: a server (dropbear) in the namespace of each host but one, the client of
// OpenSSH on the management network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "tests/support/schema.hpp"
#include "tests/support/test_cluster.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/child_process.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds kLimit{60};
constexpr const char* kPort = "2222";

void run(const Words& argv) {
  const auto done = os::run_program(argv, "", std::chrono::seconds(20));
  ASSERT_TRUE(done) << done.error().message;
}

void write(const std::filesystem::path& path, const std::string& text, mode_t mode) {
  std::ofstream(path) << text;
  ASSERT_EQ(chmod(path.c_str(), mode), 0);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A cluster whose hosts 1 to 3 let us in by ssh; host4 has no server.
class SshCluster : public TestCluster {
 public:
  SshCluster() {
    make_keys();
    std::string config = "Host *\n  Port " + std::string(kPort) + "\n  User root\n  BatchMode yes\n" +
                         "  StrictHostKeyChecking accept-new\n  LogLevel ERROR\n  IdentityFile " +
                         (directory() / "key").string() + "\n  UserKnownHostsFile " +
                         (directory() / "known").string() + "\n";
    for (const char* host : {"host1", "host2", "host3", "host4"})
      config += fmt::format("Host {}\n  HostName {}\n", host, address_of(host));
    write(directory() / "config", config, 0600);
    for (const char* host : {"host1", "host2", "host3"}) start_server(host);
  }

  Words ssh_words(const char* budget) const {
    return sweep_words("ssh -F " + (directory() / "config").string() + " {host}", budget);
  }
  /// The agents that live below the servers.
  std::vector<pid_t> agents() const {
    std::vector<pid_t> found;
    for (const os::ChildProcess& server : servers_) add_agents_below(server.pid(), found);
    return found;
  }

 private:
  std::string address_of(const std::string& host) const {
    return to_string(opened().management_address(opened().fabric().find_node(host).value()));
  }

  /// Root's home is ours for the servers alone: they see another /etc/passwd than all others.
  void make_keys() {
    const auto home = directory() / "home";
    std::filesystem::create_directories(home / ".ssh");
    run({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory() / "key"});
    run({"dropbearkey", "-t", "ed25519", "-f", directory() / "server-key"});
    write(home / ".ssh/authorized_keys", text_of(directory() / "key.pub"), 0600);
    for (const auto& path : {home, home / ".ssh"}) ASSERT_EQ(chmod(path.c_str(), 0700), 0);
    write(directory() / "passwd", "root:x:0:0:root:" + home.string() + ":/bin/sh\n", 0644);
  }

  void start_server(const std::string& host) {
    const auto passwd = (directory() / "passwd").string();
    const auto server = fmt::format(
        "mount --bind {0}/passwd /etc/passwd && exec dropbear -F -E -s -m -j -k -r {0}/server-key -P '' -p "
        "{1}:{2}",
        directory().string(), address_of(host), kPort);
    auto child = spawn_in(opened(), opened().fabric().find_node(host).value(),
                          {.argv = {"unshare", "-m", "sh", "-c", server},
                           .output = os::ToNothing{},
                           .errors = os::ToFile{directory() / (host + ".sshd")}});
    ASSERT_TRUE(child) << child.error().message;
    servers_.push_back(std::move(*child));
  }

  static void add_agents_below(pid_t parent, std::vector<pid_t>& found) {
    for (const pid_t child : children_of(parent)) {
      const bool is_agent =
          text_of(fmt::format("/proc/{}/cmdline", child)).find("--token-stdin") != std::string::npos;
      if (is_agent && text_of(fmt::format("/proc/{}/comm", child)) == "program\n") found.push_back(child);
      add_agents_below(child, found);
    }
  }

  std::vector<os::ChildProcess> servers_;
};

/// Mount and user changes need the machine's own root.
bool is_true_root() { return text_of("/proc/self/uid_map").find("4294967295") != std::string::npos; }

TEST(ClusterBySsh, IsSweptAndAHostThatRefusesIsNotTested) {
  if (!is_true_root()) GTEST_SKIP() << "an ssh server needs to be root outside a user namespace";
  const SshCluster cluster;
  const auto answer = cluster.on_head(cluster.ssh_words("2s"));
  EXPECT_EQ(answer.status, 3) << answer.errors;
  expect_matches_schema(answer.output, "diagnosis");
  const auto document = Json::parse(answer.output, nullptr, false);
  EXPECT_TRUE(document["hosts"].empty()) << answer.output;
  const auto untested = document["coverage"]["not_tested"];
  ASSERT_EQ(untested.size(), 1u) << answer.output;
  EXPECT_EQ(untested[0]["host"], "host4");
  EXPECT_THAT(untested[0].dump(), HasSubstr("Connection refused"));
  EXPECT_GE(document["coverage"]["probed"], 14) << "all but the cable of host4: " << answer.output;
}

TEST(ClusterBySsh, AgentsEndByThemselvesWhenTheCoordinatorIsKilled) {
  if (!is_true_root()) GTEST_SKIP() << "an ssh server needs to be root outside a user namespace";
  const SshCluster cluster;
  auto command = cluster.start_on_head(cluster.ssh_words("20s"));
  std::vector<pid_t> agents;
  for (int look = 0; look < 200 && agents.size() < 3; ++look) {
    usleep(50'000);
    agents = cluster.agents();
  }
  ASSERT_EQ(agents.size(), 3u) << text_of(cluster.directory() / "host1.sshd");
  EXPECT_TRUE(probes_from(agents[0], 100));
  command.signal(SIGKILL);
  command.wait(kLimit);
  EXPECT_TRUE(all_gone(agents));
}

}  // namespace
}  // namespace weft
