// `sweep --job` in and out of an allocation, and what `sweep` and others answer to a --timeout or a --dry-run
// that cannot be.
#include "cli/job_arguments.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "cli/cluster_arguments.hpp"
#include "tests/support/command.hpp"
#include "tests/support/scratch_file.hpp"

namespace weft::cli {
namespace {

using testing::HasSubstr;
using Variables = std::map<std::string, std::string, std::less<>>;

constexpr const char* kFabric =
    "fabric: a\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1, link: 100G}\naddresses: {plan: ipv4}\n";

run::Environment environment(const Variables& variables) {
  return [&variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

struct Read {
  Result<void> done;
  std::string hosts, launcher;
};

Read read(Arguments words, const Variables& variables) {
  OptionParser parser("weft sweep", "", "");
  parser.options().add_options()("hosts", po::value<std::string>(), "")(
      "fabric", po::value<std::string>(), "")("lab", po::value<std::string>(), "")(
      "credential", po::value<std::string>(), "");
  add_job_option(parser.options());
  add_launch_options(parser.options());
  auto values = parser.parse(words).value();
  auto done = read_job(values, environment(variables));
  return {std::move(done), text_option(values, "hosts").value_or(""), values["launcher"].as<std::string>()};
}

const Variables kJob{{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_NODELIST", "gpu[001-004]"}};

TEST(JobArguments, HostsAndLauncherAreThoseOfTheAllocation) {
  const auto taken = read({"--job", "--fabric", "f"}, kJob);
  EXPECT_TRUE(taken.done);
  EXPECT_EQ(taken.hosts, "gpu[001-004]");
  EXPECT_EQ(taken.launcher, "srun");
}

TEST(JobArguments, AgentsThatStandAreNotStartedBySrun) {
  const auto taken = read({"--job", "--fabric", "f", "--credential", "operator.json"}, kJob);
  EXPECT_TRUE(taken.done);
  EXPECT_EQ(taken.hosts, "gpu[001-004]");
  EXPECT_EQ(taken.launcher, "ssh") << "as nobody said anything";
}

TEST(JobArguments, WhatIsGivenWins) {
  const auto taken =
      read({"--job", "--fabric", "f", "--hosts", "gpu001,gpu002", "--launcher", "ssh {host}"}, kJob);
  EXPECT_EQ(taken.hosts, "gpu001,gpu002");
  EXPECT_EQ(taken.launcher, "ssh {host}");
  EXPECT_EQ(read({"--fabric", "f"}, kJob).launcher, "ssh") << "without --job nothing is taken";
}

TEST(JobArguments, WhatIsMissingIsNamed) {
  const auto refusal = [](const Arguments& words, const Variables& variables) {
    const auto taken = read(words, variables);
    return taken.done ? "none" : taken.done.error().message;
  };
  const Arguments words{"--job", "--fabric", "f"};
  EXPECT_THAT(refusal(words, {}), HasSubstr("SLURM_JOB_ID is not set"));
  EXPECT_THAT(refusal(words, {{"SLURM_JOB_ID", "7"}}), HasSubstr("SLURM_JOB_NODELIST is not set"));
  EXPECT_THAT(refusal({"--job"}, kJob), HasSubstr("--job needs --fabric FABRIC.yaml"));
  EXPECT_THAT(refusal({"--job", "--lab", "x"}, kJob), HasSubstr("not for --lab"));
  EXPECT_THAT(refusal(words, {{"PBS_JOBID", "1"}}), HasSubstr("this is a job of OpenPBS: give --hosts"));
}

TEST(Timeout, IsATimeThatMakesSense) {
  const ScratchFile file(kFabric);
  for (const char* time : {"0s", "10ms", "soon", "-5s", "25h"}) {
    EXPECT_EQ(call(sweep_command, {file.path(), "--timeout", time}).status, 64) << time;
    EXPECT_EQ(call(simulate_command, {file.path(), "--timeout", time}).status, 64) << time;
    EXPECT_EQ(call(trace_command, {"host1", "host2", "--fabric", file.path(), "--timeout", time}).status, 64)
        << time;
  }
}

TEST(DryRun, SendsNothingAndFitsEightyColumns) {
  const ScratchFile file(kFabric);
  const auto outcome =
      call(sweep_command, {file.path(), "--dry-run", "--load", "full", "--launcher", "false {host}"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("2 NICs of 2 hosts would send"));
  EXPECT_THAT(outcome.out, HasSubstr("a running job would notice:"));
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

TEST(DryRun, IsRefusedOnInfiniband) {
  const ScratchFile file("fabric: a\nkind: infiniband\nclos: {leaves: 2, spines: 1, hosts_per_leaf: 1}\n");
  const auto outcome = call(sweep_command, {file.path(), "--dry-run"});
  EXPECT_EQ(outcome.status, 69);
  EXPECT_THAT(outcome.err, HasSubstr("to read them is to send"));
}

}  // namespace
}  // namespace weft::cli
