// `weft nccl env`, `tune` and `slow`: what a job must set, and what is read of times and profiles.
#include "cli/nccl.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/exit_status.hpp"
#include "tests/places.hpp"
#include "tests/support/command.hpp"
#include "tests/support/schema.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Outcome env(Arguments words) {
  words.insert(words.end(), {"--library", "/usr/lib/weft/libweft-nccl.so"});
  return call(nccl_env_command, words);
}

TEST(NcclEnv, IsReadByAShell) {
  EXPECT_EQ(env({"--dir", "/run/job"}).out,
            "export WEFT_NCCL_DIR=/run/job\n"
            "export LD_PRELOAD=/usr/lib/weft/libweft-nccl.so${LD_PRELOAD:+:$LD_PRELOAD}\n");
  EXPECT_EQ(env({"--dir", "/run/job", "--by", "plugin"}).out,
            "export WEFT_NCCL_DIR=/run/job\nexport NCCL_ENV_PLUGIN=/usr/lib/weft/libweft-nccl.so\n");
}

TEST(NcclEnv, IsOneWordOfSruns) {
  EXPECT_EQ(env({"--dir", "/run/job", "--for", "slurm"}).out,
            "--export=ALL,WEFT_NCCL_DIR=/run/job,LD_PRELOAD=/usr/lib/weft/libweft-nccl.so\n");
}

TEST(NcclEnv, IsPartOfAPod) {
  const auto said = env({"--dir", "/run/job", "--for", "kubernetes", "--by", "plugin"});
  EXPECT_THAT(said.out,
              HasSubstr("  - name: NCCL_ENV_PLUGIN\n    value: \"/usr/lib/weft/libweft-nccl.so\"\n"));
  EXPECT_THAT(said.out, HasSubstr("      path: \"/run/job\"\n      type: DirectoryOrCreate\n"));
}

TEST(NcclEnv, RefusesWhatAShellWouldReadOtherwise) {
  for (const char* path : {"relative", "/run/$(id)", "/run/a b", "/run/a,b", "/run/\"x", ""}) {
    const auto said = env({"--dir", path});
    EXPECT_EQ(said.status, kExitUsage) << path;
    EXPECT_EQ(said.out, "");
  }
  EXPECT_EQ(env({"--for", "fish"}).status, kExitUsage);
  EXPECT_EQ(env({"--by", "magic"}).status, kExitUsage);
}

TEST(NcclEnv, CarriesTheTunersTableAndAsksForAProfile) {
  const auto scratch = os::ScratchDirectory::make().value();
  const auto path = (scratch.path() / "tuner").string();
  std::ofstream(scratch.path() / "fabric.yaml")
      << "fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n";
  const auto made =
      call(nccl_tune_command, {(scratch.path() / "fabric.yaml").string(), "--hosts", "4", "--epoch", "9"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out, testing::StartsWith("weft-tuner/1:9:all_reduce/4/4/"));
  std::ofstream(path) << made.out;
  const auto said = env({"--dir", "/run/job", "--tuner", path, "--profile", "16"});
  EXPECT_THAT(said.out, HasSubstr("export NCCL_TUNER_PLUGIN=/usr/lib/weft/libweft-nccl.so\n"));
  EXPECT_THAT(said.out, HasSubstr("export WEFT_NCCL_TUNER=" + made.out));
  EXPECT_THAT(said.out, HasSubstr("export NCCL_PROFILER_PLUGIN=/usr/lib/weft/libweft-nccl.so\n"));
  EXPECT_THAT(said.out, HasSubstr("export WEFT_NCCL_PROFILE=16\n"));
}

/// What nccl-tests prints of four ranks; all figures are invented.
std::string printed(std::string_view program, std::vector<std::pair<int, double>> times) {
  std::string text = fmt::format("./build/{} -b 512 -e 4M\n", program);
  for (int rank = 0; rank < 4; ++rank)
    text += fmt::format("#  Rank  {0} Group  0 Pid  {0} on host{0} device  0 [0x07] NVIDIA\n", rank);
  text +=
      "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw "
      "  "
      "busbw #wrong\n";
  for (const auto& [bytes, time] : times)
    text += fmt::format("  {} {} float sum -1 {} 0.1 0.1 0 1.00 0.1 0.1 0\n", bytes, bytes / 4, time);
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 1.5\n#\n";
}

TEST(NcclTune, TakesWhatNcclTestsFoundQuickestForAnyCollective) {
  const auto scratch = os::ScratchDirectory::make().value();
  const auto file = [&](const char* name, const std::string& text) {
    std::ofstream(scratch.path() / name) << text;
    return (scratch.path() / name).string();
  };
  const auto fabric = file("fabric.yaml", "fabric: a\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 2}\n");
  const auto tune = [&](std::vector<std::string> timed) {
    Arguments words{fabric, "--hosts", "4", "--epoch", "9"};
    for (const std::string& choice : timed) words.insert(words.end(), {"--timed", choice});
    return call(nccl_tune_command, words);
  };
  const auto slow = file("slow", printed("all_gather_perf", {{512, 30}, {4096, 30}, {8192, 60}}));
  const auto quick = file("quick", printed("all_gather_perf", {{512, 10}, {4096, 50}}));
  const auto reduced = file("reduced", printed("all_reduce_perf", {{512, 2}}));
  const auto slower = file("slower", printed("all_reduce_perf", {{512, 3}}));
  const auto made = tune({"pat/simple=" + slow, "ring/ll128/8=" + quick});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_THAT(made.out,
              testing::StartsWith("weft-tuner/1:9:all_gather/4/4/2304/ring/ll128/8:all_gather/4/4/8192/pat/"
                                  "simple/0:all_reduce/4/4/"));
  // Where an all-reduce was timed nothing of the model is left.
  EXPECT_THAT(tune({"nvls/simple=" + reduced, "ring/ll=" + slower}).out,
              testing::MatchesRegex("weft-tuner/1:9:all_reduce/4/4/512/nvls/simple/0:[0-9a-f]+\n"));
  EXPECT_THAT(tune({"nvls/simple=" + reduced}).err, HasSubstr("alone"));
  EXPECT_THAT(tune({"ring/ll=" + reduced, "ring/simple=" + reduced, "ring/ll=" + slower}).err,
              HasSubstr("timed twice"));
  for (const char* choice : {"", "ring", "ring/ll", "ring/ll=", "star/ll=a", "ring/l=a", "ring/ll/65=a",
                             "ring/ll/=a", "ring/ll/1/2=a", "/=a", "=a"})
    EXPECT_EQ(tune({choice}).status, kExitUsage) << choice;
  const auto two = call(nccl_tune_command, {fabric, "--hosts", "2", "--timed", "ring/ll=" + reduced});
  EXPECT_THAT(two.err, HasSubstr("not of 2 ranks"));
}

TEST(NcclEnv, RefusesATableThatRanksWouldRefuse) {
  const auto scratch = os::ScratchDirectory::make().value();
  const auto path = (scratch.path() / "tuner").string();
  std::ofstream(path) << "weft-tuner/1:9:all_reduce/4/4/1/ring/ll/0:0\n";
  EXPECT_EQ(env({"--tuner", path}).status, kExitUsage);
  EXPECT_EQ(env({"--tuner", "/no/such"}).status, kExitUsage);
  EXPECT_EQ(env({"--profile", "0"}).status, kExitUsage);
  EXPECT_EQ(call(nccl_tune_command, {}).status, kExitUsage);
  EXPECT_EQ(call(nccl_tune_command, {"/no/such", "--hosts", "2"}).status, kExitUsage);
}

Outcome slow(Arguments words) { return call(nccl_slow_command, words); }

TEST(NcclSlow, ReadsTheProfilesOfADirectory) {
  const auto said = slow({WEFT_SOURCE_DIR "/tests/data/nccl_profile"});
  EXPECT_THAT(said.out, HasSubstr("1 ranks told of "));
  const auto document = slow({WEFT_SOURCE_DIR "/tests/data/nccl_profile", "-o", "json"});
  expect_matches_schema(document.out, "nccl_slow");
}

/// A step that waited when the file was full, and ended in the next one.
TEST(NcclSlow, ReadsTheOlderFileOfAProcessWithTheNewer) {
  const auto scratch = os::ScratchDirectory::make().value();
  const std::string communicator =
      R"({"schema":"weft.nccl_profile/1","pid":1,"communicator":"ab","name":"","place":0,"rank":0,"ranks":2,"nodes":2,"every":1})"
      "\n";
  const std::string of = R"(:1,"place":0,"at_ns":9,"peer":1,"channel":0,"sends":true)";
  std::ofstream(scratch.path() / "a.profile.old.jsonl")
      << communicator
      << R"({"collective":1,"place":0,"at_ns":1,"function":"AllReduce","sequence":0,"count":1,"type":"ncclFloat32","channels":1,"algorithm":"RING","protocol":"LL"})"
      << "\n{\"waiting\"" << of << R"(,"for":"gpu","since_ns":2500000000})"
      << "\n";
  EXPECT_EQ(slow({scratch.path().string()}).status, kExitFailed);
  std::ofstream(scratch.path() / "a.profile.jsonl")
      << communicator << "{\"operation\"" << of
      << R"(,"steps":1,"bytes":4,"took_ns":2600000000,"gpu_ns":2500000000})"
      << "\n";
  const auto both = slow({scratch.path().string()});
  EXPECT_EQ(both.status, kExitHealthy) << both.out;
  EXPECT_EQ(both.out.find("cannot be read"), std::string::npos) << both.out;
}

TEST(NcclSlow, SaysWhatIsNotThere) {
  const auto scratch = os::ScratchDirectory::make().value();
  EXPECT_EQ(slow({"/no/such"}).status, kExitUsage);
  EXPECT_EQ(slow({"/dev/zero"}).status, kExitUsage);
  EXPECT_THAT(slow({scratch.path().string()}).err, HasSubstr("no profiles"));
  std::ofstream(scratch.path() / "1.profile.jsonl") << "no profile\n";
  EXPECT_THAT(slow({scratch.path().string()}).err, HasSubstr("no profile of NCCL"));
}

}  // namespace
}  // namespace weft::cli
