// SshCluster: the hosts of a lab behind a real ssh: a server (dropbear) in the namespace of each, the client
// of OpenSSH on the management network. Needs root outside a user namespace.
#pragma once

#include <sys/stat.h>

#include "tests/support/test_cluster.hpp"
#include "tests/support/text_of.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/run_program.hpp"

namespace weft {

/// Mount and user changes need the machine's own root.
inline bool is_true_root() { return text_of("/proc/self/uid_map").find("4294967295") != std::string::npos; }

/// A cluster of four hosts, of which these let us in by ssh.
class SshCluster : public TestCluster {
 public:
  explicit SshCluster(const std::vector<std::string>& with_server = {"host1", "host2", "host3"}) {
    make_keys();
    std::string config = "Host *\n  Port " + std::string(kSshPort) + "\n  User root\n  BatchMode yes\n" +
                         "  StrictHostKeyChecking accept-new\n  LogLevel ERROR\n  IdentityFile " +
                         (directory() / "key").string() + "\n  UserKnownHostsFile " +
                         (directory() / "known").string() + "\n";
    for (const char* host : {"host1", "host2", "host3", "host4"})
      config += fmt::format("Host {}\n  HostName {}\n", host, address_of(host));
    write_file(directory() / "config", config, 0600);
    for (const auto& host : with_server) start_server(host);
  }

  /// As --launcher has it.
  std::string launcher() const { return "ssh -F " + (directory() / "config").string() + " {host}"; }
  /// The agents that live below the servers.
  std::vector<pid_t> agents() const {
    std::vector<pid_t> found;
    for (const os::ChildProcess& server : servers_) add_agents_below(server.pid(), found);
    return found;
  }

 private:
  static constexpr const char* kSshPort = "2222";

  static void run_it(const std::vector<std::string>& argv) {
    const auto done = os::run_program(argv, "", std::chrono::seconds(20));
    ASSERT_TRUE(done) << done.error().message;
  }
  static void write_file(const std::filesystem::path& path, const std::string& text, mode_t mode) {
    std::ofstream(path) << text;
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }

  std::string address_of(const std::string& host) const {
    return to_string(opened().management_address(opened().fabric().find_node(host).value()));
  }

  /// Root's home is ours for the servers alone: they see another /etc/passwd than all others.
  void make_keys() {
    const auto home = directory() / "home";
    std::filesystem::create_directories(home / ".ssh");
    run_it({"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", directory() / "key"});
    run_it({"dropbearkey", "-t", "ed25519", "-f", directory() / "server-key"});
    write_file(home / ".ssh/authorized_keys", text_of(directory() / "key.pub"), 0600);
    for (const auto& path : {home, home / ".ssh"}) ASSERT_EQ(chmod(path.c_str(), 0700), 0);
    write_file(directory() / "passwd", "root:x:0:0:root:" + home.string() + ":/bin/sh\n", 0644);
  }

  void start_server(const std::string& host) {
    const auto passwd = (directory() / "passwd").string();
    const auto server = fmt::format(
        "mount --bind {0}/passwd /etc/passwd && exec dropbear -F -E -s -m -j -k -r {0}/server-key -P '' -p "
        "{1}:{2}",
        directory().string(), address_of(host), kSshPort);
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

}  // namespace weft
