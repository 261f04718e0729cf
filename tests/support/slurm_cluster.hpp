// A real Slurm over the hosts of a lab: its controller on the lab's management network, one slurmd in the
// namespace of each host.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/test_cluster.hpp"
#include "tests/support/text_of.hpp"
#include "topology/model/fabric.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/run_program.hpp"

namespace weft {

inline std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

class SlurmCluster : public TestCluster {
 public:
  using Words = std::vector<std::string>;
  /// Lines for slurm.conf, of a cluster that keeps its files in this directory.
  using MoreSettings = std::function<std::string(const std::filesystem::path& here)>;
  explicit SlurmCluster(const MoreSettings& more = nullptr, const std::string& fabric = kClusterFabric)
      : TestCluster("ipv4", fabric) {
    write_configuration(more ? more(slurm_.path()) : "");
    start({"munged", "--force", "--foreground", "--num-threads=1", "--key-file=" + here("key"),
           "--socket=" + here("munge"), "--pid-file=" + here("munged.pid"),
           "--log-file=" + here("munged.log"), "--seed-file=" + here("munged.seed")},
          "munged");
    start_controller();
    for (const NodeId host : opened().fabric().hosts())
      start({"nsenter", "--net=" + opened().namespace_of(host).string(), "slurmd", "-D", "-N", name_of(host),
             "-f", here("slurm.conf")},
            name_of(host));
  }

  /// Waits until all nodes take jobs.
  testing::AssertionResult is_ready() const {
    Answer said;
    const auto all = fmt::format("{}\n", opened().fabric().hosts().size());
    for (int look = 0; look < 100; ++look) {
      said = slurm({"sinfo", "-h", "-r", "-t", "idle", "-o", "%D"});
      if (said.output == all) return testing::AssertionSuccess();
      usleep(200'000);
    }
    return testing::AssertionFailure() << said.output << said.errors;
  }
  void stop_controller() { end("slurmctld"); }
  void start_controller() {
    start({"nsenter", on_head_network(), "slurmctld", "-D", "-i", "-f", here("slurm.conf")}, "slurmctld");
  }
  Words environment() const { return {"SLURM_CONF=" + here("slurm.conf")}; }
  std::string on_head_network() const { return "--net=" + opened().management_namespace().string(); }
  void kill_slurmd_of(const std::string& host) { end(host); }
  /// One of Slurm's own commands.
  Answer slurm(Words command) const {
    command.insert(command.begin(), {"env", environment()[0], "nsenter", on_head_network()});
    const auto done = os::run_program(command, "", std::chrono::seconds(10));
    return done ? Answer{0, *done, ""} : Answer{1, "", done.error().message};
  }

 private:
  void end(const std::string& what) {
    for (auto& [name, process] : processes_)
      if (name == what) process.stop(std::chrono::seconds(2));
  }
  std::string here(const char* name) const { return slurm_.path() / name; }
  const std::string& name_of(NodeId host) const { return opened().fabric().node(host).name; }

  void start(Words argv, const std::string& name) {
    argv.insert(argv.begin(), {"env", environment()[0]});
    auto child = os::ChildProcess::start({.argv = argv,
                                          .output = os::ToNothing{},
                                          .errors = os::ToFile{slurm_.path() / (name + ".err")},
                                          .own_session = true});
    ASSERT_TRUE(child) << child.error().message;
    processes_.emplace_back(name, std::move(*child));
  }

  void write_configuration(const std::string& more) {
    std::ofstream(here("key"), std::ios::binary) << std::string(128, 'k');
    std::filesystem::permissions(here("key"), std::filesystem::perms::owner_read);
    std::filesystem::create_directories(here("state"));
    std::string text = fmt::format(
        "ClusterName=weft\nSlurmctldHost={}({})\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n"
        "CredType=cred/munge\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\nMpiDefault=none\n"
        "JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n"
        "SelectType=select/cons_tres\nSwitchType=switch/none\nSlurmdParameters=config_overrides\n"
        "ReturnToService=2\n",
        host_name(), head_address());
    const auto path = slurm_.path().string();
    text += fmt::format(
        "AuthInfo=socket={0}/munge\nStateSaveLocation={0}/state\nSlurmdSpoolDir={0}/spool.%n\n"
        "SlurmctldPidFile={0}/slurmctld.pid\nSlurmdPidFile={0}/slurmd.%n.pid\n"
        "SlurmctldLogFile={0}/slurmctld.log\nSlurmdLogFile={0}/slurmd.%n.log\n",
        path);
    for (const NodeId host : opened().fabric().hosts()) {
      std::filesystem::create_directories(slurm_.path() / fmt::format("spool.{}", name_of(host)));
      text += fmt::format("NodeName={} NodeAddr={} CPUs=2 RealMemory=500 Features=weft_rail1_ok\n",
                          name_of(host), to_string(opened().management_address(host)));
    }
    text += "PartitionName=all Nodes=ALL Default=YES State=UP OverSubscribe=FORCE\n";
    std::ofstream(here("slurm.conf")) << text << more;
  }

  TestDirectory slurm_;
  std::vector<std::pair<std::string, os::ChildProcess>> processes_;
};

/// Empty: Slurm runs here.
inline std::string why_no_slurm_here() {
  if (text_of("/proc/self/uid_map").find("4294967295") == std::string::npos)
    return "Slurm must be root outside a user namespace";
  std::error_code absent;
  if (!std::filesystem::exists("/sys/fs/cgroup/freezer", absent))
    return "slurmd without systemd needs control groups of version 1";
  return "";
}

}  // namespace weft
