// How long it takes from a package to a verdict: weft's Debian package is installed in a copy of this
// machine's root (an overlay, gone at the end) which is the head and all hosts of a lab; they differ by their
// network namespaces, and ssh alone leads from one to the others. The commands are those of docs/cluster.md.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "cli/lab_place.hpp"
#include "tests/bench/first_hour/pieces.hpp"
#include "tests/support/cluster_page.hpp"
#include "tests/support/lab_user.hpp"
#include "topology/os/run_program.hpp"

namespace weft::bench {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

constexpr const char* kFabric =
    "fabric: cold\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 400G}\nlab: {link_rate: 50M}\n";
constexpr const char* kHosts = "host[1-16]";
constexpr std::chrono::minutes kLimit{3};

class ColdCluster : public LabUser {
 public:
  ColdCluster() : LabUser(kFabric) {}

  /// The package installed, the hosts up, an ssh server on each.
  Result<void> make(const fs::path& package) {
    if (const auto answer = up(); answer.status != 0) return fail(ErrorKind::absent, "{}", answer.errors);
    WEFT_TRY(opened_, lab::Lab::open(lab, cli::lab_state_root()));
    WEFT_TRY_VOID(make_root(package));
    WEFT_TRY_VOID(make_ssh());
    for (const NodeId host : opened_->fabric().hosts()) WEFT_TRY_VOID(start_server(host));
    return {};
  }

  /// A command on the head.
  Answer paste(const std::string& command) const {
    return start_after(in_root({"--net=" + opened_->management_namespace().string()},
                               {"env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "sh", "-c",
                                "cd /root && " + command}),
                       {})
        .wait(kLimit);
  }

  /// Written where the overlay is mounted: here its place is an empty directory.
  void configure(const std::string& text) const {
    paste(fmt::format("mkdir -p /etc/weft && printf '%s' '{}' >/etc/weft/weft.yaml", text));
  }

 private:
  fs::path root() const { return directory() / "root"; }

  /// The root's mounts are in a namespace of their own, which a process keeps.
  Words in_root(Words places, const Words& command) const {
    Words words{"nsenter", fmt::format("--mount=/proc/{}/ns/mnt", keeper_->pid())};
    words.insert(words.end(), places.begin(), places.end());
    words.insert(words.end(), {"chroot", root()});
    words.insert(words.end(), command.begin(), command.end());
    return words;
  }

  Result<void> make_root(const fs::path& package) {
    for (const char* name : {"upper", "work", "root"}) fs::create_directories(directory() / name);
    fs::copy_file(package, directory() / "weft.deb");
    const std::string script = fmt::format(
        "mount -t overlay overlay -o lowerdir=/,upperdir={0}/upper,workdir={0}/work {0}/root && "
        "for place in proc sys dev run; do mount --rbind /$place {0}/root/$place || exit 1; done && "
        "cp {0}/weft.deb {0}/root/root/ && chroot {0}/root dpkg -i /root/weft.deb >{0}/dpkg 2>&1 && "
        "touch {0}/ready && exec sleep 600",
        directory().string());
    WEFT_TRY(auto keeper, os::ChildProcess::start({.argv = {"unshare", "-m", "sh", "-c", script},
                                                   .output = os::ToNothing{},
                                                   .errors = os::ToFile{directory() / "keeper"}}));
    keeper_ = std::move(keeper);
    for (int look = 0; look < 600 && !fs::exists(directory() / "ready"); ++look) {
      const auto ended = keeper_->wait_for(std::chrono::milliseconds(100));
      if (!ended || *ended) break;
    }
    if (!fs::exists(directory() / "ready"))
      return fail(ErrorKind::absent, "the package cannot be installed in an overlay of this root");
    return {};
  }

  /// Keys without a question, and the hosts by their names: all that a site gives weft.
  Result<void> make_ssh() {
    std::string names = "127.0.0.1 localhost\n";
    for (const NodeId host : opened_->fabric().hosts())
      names += fmt::format("{} {}\n", to_string(opened_->management_address(host)),
                           opened_->fabric().name_of(host));
    const auto script = fmt::format(
        "mkdir -p /root/.ssh && chmod 700 /root /root/.ssh && cd /root/.ssh && rm -f key key.pub server && "
        "ssh-keygen -q -t ed25519 -N '' -f key && cp key.pub authorized_keys && "
        "dropbearkey -t ed25519 -f server && printf '%s' '{}' >/etc/hosts && "
        "printf 'Host *\\n BatchMode yes\\n StrictHostKeyChecking accept-new\\n LogLevel ERROR\\n "
        "IdentityFile /root/.ssh/key\\n' >config",
        names);
    WEFT_TRY([[maybe_unused]] const auto said,
             os::run_program(in_root({}, {"sh", "-ec", script}), "", std::chrono::seconds(20)));
    return {};
  }

  Result<void> start_server(NodeId host) {
    const auto place = fmt::format("{}:22", to_string(opened_->management_address(host)));
    WEFT_TRY(auto server, spawn_in(*opened_, host,
                                   {.argv = in_root({}, {"dropbear", "-F", "-E", "-s", "-m", "-j", "-k", "-r",
                                                         "/root/.ssh/server", "-P", "", "-p", place}),
                                    .output = os::ToNothing{},
                                    .errors = os::ToFile{directory() / "sshd"}}));
    servers_.push_back(std::move(server));
    return {};
  }

  std::optional<lab::Lab> opened_;
  std::optional<os::ChildProcess> keeper_;
  std::vector<os::ChildProcess> servers_;
};

/// NaN: a command failed, which is said.
double seconds_to_verdict(const ColdCluster& head) {
  const auto began = std::chrono::steady_clock::now();
  double total = 0;
  for (const std::string& command : commands_of_cluster_page({{"gpu[001-064]", kHosts}})) {
    const auto answer = head.paste(command);
    const double at = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    fmt::print("  {:5.1f} s  {}\n", at - total, command);
    total = at;
    if (answer.status != 0) {
      fmt::print("  ended with {}: {}{}\n", answer.status, answer.output, answer.errors);
      return NAN;
    }
    if (command.find("--save") != std::string::npos) return total;
  }
  return NAN;
}

}  // namespace

void measure_cold_start(Figures& figures) {
  if (geteuid() != 0) return fmt::print("  cold_start is not measured: it needs root\n");
  const auto package = debian_package();
  if (!package) return;
  ColdCluster head;
  if (const auto made = head.make(*package); !made)
    return fmt::print("  cold_start is not measured: {}\n", made.error().message);
  // What a lab is: links of 50 Mbit/s, which its interfaces do not tell, and switches that answer as fast as
  // they are asked. Those of a site have limits of their own.
  const std::string rate = "topology: {discover: {rate: 50M}}\n";
  head.configure(rate + "answer-rate: 10000\n");
  figures.add("cold_start_to_verdict_s", seconds_to_verdict(head), "at most 30");
  head.configure(rate);
  figures.add("cold_start_at_100_answers_s", seconds_to_verdict(head));
}

}  // namespace weft::bench
