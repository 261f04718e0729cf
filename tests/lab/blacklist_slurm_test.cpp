// From a fault in a lab to a drained node of a real Slurm, and back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/places.hpp"
#include "tests/support/slurm_cluster.hpp"

namespace weft {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

class BlacklistedCluster {
 public:
  SlurmCluster slurm;

  Answer blacklist(const std::string& word, Words more = {}) const {
    more.insert(more.begin(), {"blacklist", word});
    more.insert(more.end(), {"--ledger", slurm.directory() / "bl.db", "--fabric", slurm.live_file()});
    return slurm.on_head(more, slurm.environment());
  }
  Answer sync() const { return blacklist("sync", {"--to", "slurm", "--apply"}); }
  /// What a sweep of all finds is taken into the ledger.
  Answer sweep_and_update() const {
    const auto swept = slurm.on_head(slurm.sweep_words(slurm.launcher(), "4s"), slurm.environment());
    const auto path = slurm.directory() / fmt::format("run{}.json", ++runs_);
    std::ofstream(path) << swept.output;
    EXPECT_EQ(swept.output.substr(0, 1), "{") << swept.errors;
    return blacklist("update", {path, "--clean", "1s"});
  }
  /// "STATE REASON"
  std::string state_of(const std::string& host) const {
    return slurm.slurm({"sinfo", "-h", "-N", "-n", host, "-o", "%T %E"}).output;
  }
  std::string wait_for(const std::string& host, const std::string& part) const {
    std::string said = state_of(host);
    for (int look = 0; look < 75 && said.find(part) == std::string::npos; ++look) {
      usleep(200'000);
      said = state_of(host);
    }
    return said;
  }

 private:
  mutable int runs_ = 0;
};

TEST(BlacklistBySlurm, AFaultOfACableDrainsItsNodeAndCleanSweepsGiveItBack) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  const BlacklistedCluster cluster;
  ASSERT_TRUE(cluster.slurm.is_ready());
  const auto before = cluster.state_of("host2");
  cluster.slurm.fault("host2--leaf1", {"--loss", "20%", "--from", "leaf1"});
  const auto updated = cluster.sweep_and_update();
  ASSERT_THAT(updated.output, HasSubstr("activated: nic host2")) << updated.errors;
  const auto drained = cluster.sync();
  EXPECT_EQ(drained.status, 0) << drained.errors << drained.output;
  EXPECT_THAT(cluster.state_of("host2"),
              AllOf(HasSubstr("drained weft: "), HasSubstr("host2--leaf1 id=small:1 "), HasSubstr("lost")));
  const auto job =
      cluster.slurm.slurm({"timeout", "20", "srun", "--quiet", "-N3", "-l", "printenv", "SLURMD_NODENAME"});
  EXPECT_EQ(job.status, 0) << job.errors;
  EXPECT_THAT(job.output,
              AllOf(HasSubstr("host1"), HasSubstr("host3"), HasSubstr("host4"), Not(HasSubstr("host2"))));

  ASSERT_EQ(cluster.slurm.weft({"lab", "heal", "host2--leaf1", "--name", cluster.slurm.lab}).status, 0);
  std::string said;
  for (int run = 0; run < 6 && said.find("released") == std::string::npos; ++run)
    said += cluster.sweep_and_update().output;
  EXPECT_THAT(said, AllOf(HasSubstr("1 probation"), HasSubstr("1 released"))) << said;
  EXPECT_EQ(cluster.sync().status, 0);
  EXPECT_EQ(cluster.wait_for("host2", "idle none"), before) << "idle* until it answers";
  EXPECT_EQ(cluster.blacklist("check", {"--to", "slurm"}).status, 0);
}

TEST(BlacklistBySlurm, LeavesOthersAloneAndOutlivesARestartAndAReconfigure) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  BlacklistedCluster cluster;
  auto& slurm = cluster.slurm;
  ASSERT_TRUE(slurm.is_ready());
  const auto add = [&](const std::string& host) {
    const auto added =
        cluster.blacklist("add", {host, "--for", "1h", "--reason", "it's \"odd\" [x] ALL; $HOME"});
    EXPECT_THAT(added.output, HasSubstr("activated")) << added.errors;
  };
  ASSERT_EQ(slurm.slurm({"scontrol", "update", "NodeName=host1", "State=DRAIN", "Reason=disk"}).status, 0);
  add("host1");
  EXPECT_THAT(cluster.sync().errors, HasSubstr("host1: left alone"));
  EXPECT_THAT(cluster.state_of("host1"), HasSubstr("disk"));
  ASSERT_EQ(slurm.slurm({"scontrol", "update", "NodeName=host1", "State=DOWN", "Reason=psu"}).status, 0);
  EXPECT_THAT(cluster.sync().errors, HasSubstr("host1: left alone"));
  EXPECT_THAT(cluster.state_of("host1"), HasSubstr("psu"));
  ASSERT_EQ(slurm.slurm({"scontrol", "update", "NodeName=host1", "State=RESUME"}).status, 0);
  cluster.wait_for("host1", "idle ");
  const auto applied = cluster.sync();
  EXPECT_EQ(applied.status, 0) << applied.errors << applied.output;
  EXPECT_THAT(cluster.state_of("host1"),
              HasSubstr("weft: planned host1 id=small:1 it's 'odd' [x] ALL; $HOME"));

  slurm.stop_controller();
  EXPECT_EQ(cluster.sync().status, 69) << "the controller is down";
  slurm.start_controller();
  EXPECT_THAT(cluster.wait_for("host1", "weft"), HasSubstr("drained"));
  ASSERT_EQ(slurm.slurm({"scontrol", "reconfigure"}).status, 0);
  const auto same = cluster.sync();
  EXPECT_EQ(same.status, 0) << same.errors;
  EXPECT_EQ(same.output, "") << "it stands as before";
  EXPECT_EQ(cluster.blacklist("release", {"1"}).status, 0);
  EXPECT_EQ(cluster.sync().status, 0);
  EXPECT_THAT(cluster.wait_for("host1", "idle"), HasSubstr("none"));
}

TEST(BlacklistBySlurm, AReasonThatIsSetBetweenItsReadAndItsWriteStands) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  const BlacklistedCluster cluster;
  const auto& slurm = cluster.slurm;
  ASSERT_TRUE(slurm.is_ready());
  const auto added = cluster.blacklist("add", {"host1", "--for", "1h", "--reason", "optics"});
  ASSERT_THAT(added.output, HasSubstr("activated")) << added.errors;
  // The first call reads, the second asks for the rights, the third reads once more.
  const auto folder = slurm.directory() / "between";
  std::filesystem::create_directory(folder);
  std::ofstream(folder / "scontrol") << fmt::format(
      "#!/bin/sh\necho >> '{0}/calls'\n[ $(wc -l < '{0}/calls') != 3 ] || /usr/bin/scontrol update "
      "NodeName=host1 State=DRAIN Reason=disk\nexec /usr/bin/scontrol \"$@\"\n",
      folder.string());
  std::filesystem::permissions(folder / "scontrol", std::filesystem::perms::owner_all);
  auto environment = slurm.environment();
  environment.push_back(fmt::format("PATH={}:{}", folder.string(), std::getenv("PATH")));
  const auto applied = slurm.on_head({"blacklist", "sync", "--to", "slurm", "--apply", "--ledger",
                                      slurm.directory() / "bl.db", "--fabric", slurm.live_file()},
                                     environment);
  EXPECT_EQ(applied.status, 1) << applied.errors << applied.output;
  EXPECT_THAT(applied.output, AllOf(HasSubstr("not applied"), HasSubstr("disk (changed since it was read")));
  EXPECT_THAT(cluster.state_of("host1"), AllOf(HasSubstr("disk"), Not(HasSubstr("weft"))));
}

TEST(BlacklistBySlurm, ARailIsAFeatureThatIsAssertedAgainAndJobsAskFor) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  BlacklistedCluster cluster;
  auto& slurm = cluster.slurm;
  ASSERT_TRUE(slurm.is_ready());
  const auto features = [&] {
    return slurm.slurm({"sinfo", "-h", "-N", "-n", "host1", "-o", "%b"}).output;  // those that are active
  };
  const auto before = features();
  ASSERT_EQ(before, "weft_rail1_ok\n");
  const auto added =
      cluster.blacklist("add", {"host1/p1", "--for", "1h", "--reason", "optics", "--nic", "rail"});
  ASSERT_THAT(added.output, HasSubstr("activated")) << added.errors;
  const auto applied = cluster.sync();
  EXPECT_EQ(applied.status, 0) << applied.errors << applied.output;
  EXPECT_EQ(features(), "\n");
  EXPECT_THAT(cluster.state_of("host1"), HasSubstr("idle")) << "no host is drained";
  ASSERT_EQ(slurm.slurm({"scontrol", "reconfigure"}).status, 0);
  EXPECT_EQ(cluster.sync().status, 0);
  EXPECT_EQ(features(), "\n") << "asserted again, wherever a reconfigure dropped it";
  slurm.stop_controller(), slurm.start_controller();
  cluster.wait_for("host1", "idle");
  EXPECT_EQ(cluster.sync().status, 0);
  EXPECT_EQ(features(), "\n") << "and a restart";
  const auto job = slurm.slurm({"timeout", "20", "srun", "--quiet", "-N3", "--constraint=weft_rail1_ok", "-l",
                                "printenv", "SLURMD_NODENAME"});
  EXPECT_THAT(job.output, AllOf(HasSubstr("host2"), Not(HasSubstr("host1\n")))) << job.errors;
  EXPECT_EQ(cluster.blacklist("release", {"1"}).status, 0);
  EXPECT_EQ(cluster.sync().status, 0);
  EXPECT_EQ(features(), before);
}

TEST(BlacklistBySlurm, AReservationKeepsJobsOffAndLeavesThoseOfOthers) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  const BlacklistedCluster cluster;
  const auto& slurm = cluster.slurm;
  ASSERT_TRUE(slurm.is_ready());
  const auto reserve = [&] {
    return cluster.blacklist("sync", {"--to", "slurm", "--slurm-reserve", "--apply"});
  };
  const auto reservations = [&] { return slurm.slurm({"scontrol", "-o", "show", "reservation"}).output; };
  ASSERT_EQ(slurm
                .slurm({"scontrol", "create", "reservation", "ReservationName=site", "StartTime=now",
                        "Duration=60", "Users=root", "Nodes=host1"})
                .status,
            0);
  EXPECT_THAT(cluster.blacklist("add", {"host1", "--for", "1h", "--reason", "fan"}).output,
              HasSubstr("activated"));
  const auto refused = reserve();
  EXPECT_EQ(refused.status, 1) << refused.errors << refused.output;
  EXPECT_THAT(reservations(), AllOf(HasSubstr("ReservationName=site "), Not(HasSubstr("weft."))));
  ASSERT_EQ(slurm.slurm({"scontrol", "delete", "ReservationName=site"}).status, 0);
  const auto applied = reserve();
  EXPECT_EQ(applied.status, 0) << applied.errors << applied.output;
  EXPECT_THAT(reservations(), HasSubstr("ReservationName=weft.small.1.host1 "));
  EXPECT_THAT(cluster.state_of("host1"), Not(HasSubstr("drain")));
  const auto job =
      slurm.slurm({"timeout", "20", "srun", "--quiet", "-N3", "-l", "printenv", "SLURMD_NODENAME"});
  EXPECT_THAT(job.output, AllOf(HasSubstr("host2"), HasSubstr("host3"), HasSubstr("host4"))) << job.errors;
  EXPECT_EQ(cluster.blacklist("release", {"1"}).status, 0);
  EXPECT_EQ(reserve().status, 0);
  EXPECT_THAT(reservations(), Not(HasSubstr("weft.")));
}

TEST(SlurmTopology, AFileThatIsExportedIsWhatSlurmLoads) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  const SlurmCluster cluster([](const std::filesystem::path& here) {
    std::ofstream(here / "fabric.yaml") << kClusterFabric;
    const auto written =
        os::run_program({std::string(WEFT_BINARY_DIR) + "/weft", "topology", "export", here / "fabric.yaml",
                         "--to", "topology.conf", "--nodes", "host[1-4]", "--file", here / "topology.conf"},
                        "", std::chrono::seconds(10));
    EXPECT_TRUE(written) << written.error().message;
    return "TopologyPlugin=topology/tree\n";
  });
  ASSERT_TRUE(cluster.is_ready());
  const auto shown = cluster.slurm({"scontrol", "show", "topology"}).output;
  EXPECT_THAT(
      shown,
      AllOf(HasSubstr("SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=host1,host2"),
            HasSubstr("SwitchName=leaf2 Level=0 LinkSpeed=1 Nodes=host3,host4"),
            HasSubstr("SwitchName=spine1-spine2 Level=1 LinkSpeed=1 Nodes=host[1-4] Switches=leaf1,leaf2")))
      << shown;
  const auto near = cluster.slurm(
      {"timeout", "20", "srun", "--quiet", "-N2", "--switches=1", "-l", "printenv", "SLURM_TOPOLOGY_ADDR"});
  EXPECT_EQ(near.status, 0) << near.errors;
  EXPECT_THAT(near.output, AllOf(HasSubstr("spine1-spine2.leaf1.host1"), HasSubstr("leaf1.host2")));
}

}  // namespace
}  // namespace weft
