// The recipes of docs/recipes as a site would run them, but for their scheduler (cluster_slurm_test has
// that).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "tests/places.hpp"
#include "topology/base/utc.hpp"
#include "topology/os/run_program.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft {
namespace {

using Words = std::vector<std::string>;

constexpr std::chrono::seconds kLimit{30};
const std::string kRecipes = WEFT_SOURCE_DIR "/docs/recipes";

Result<std::string> run(const Words& words) { return os::run_program(words, "", kLimit); }

/// The recipes of Slurm with their file in a directory of ours.
class Recipes {
 public:
  Recipes() : directory_(os::ScratchDirectory::make().value()) {
    std::filesystem::copy(kRecipes + "/slurm", here("recipes"));
    std::ofstream(here("recipes/verdict.sh"), std::ios::app)
        << "WEFT_GATE=" << here("gate") << "\nWEFT=" << WEFT_BINARY_DIR "/weft\n";
  }
  std::string here(const std::string& name) const { return directory_.path() / name; }
  void write(const std::string& lines, std::string_view when) const {
    std::ofstream(here("gate")) << "weft.gate/1 f " << when << "\n"
                                << lines << "end " << std::ranges::count(lines, '\n') << "\n";
  }
  /// What it ends with, and before that what it says.
  std::string status_of(const std::string& script, const std::string& host) const {
    const auto said = run(
        {"sh", "-c", "SLURMD_NODENAME=$1 sh $2 2>/dev/null; echo $?", "sh", host, here("recipes/" + script)});
    return said ? *said : said.error().message;
  }

 private:
  os::ScratchDirectory directory_;
};

std::string now() {
  return to_string(std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()));
}

TEST(Recipes, APrologEndsBadlyForAFailedHostAlone) {
  const Recipes recipes;
  const std::string lines = "gpu1 failed its cable\ngpu2 degraded its cable\ngpu3 healthy\ngpu4 sick\n";
  for (const char* script : {"prolog.sh", "epilog.sh"}) {
    recipes.write(lines, now());
    EXPECT_EQ(recipes.status_of(script, "gpu1"), "1\n");
    for (const char* host : {"gpu2", "gpu3", "gpu4", "absent", "../gpu1", "-x", "end"})
      EXPECT_EQ(recipes.status_of(script, host), "0\n") << host;
    recipes.write(lines, "2024-01-01T00:00:00Z");
    EXPECT_EQ(recipes.status_of(script, "gpu1"), "0\n") << "of another year";
    std::filesystem::remove(recipes.here("gate"));
    EXPECT_EQ(recipes.status_of(script, "gpu1"), "0\n") << "no file";
  }
}

TEST(Recipes, AHostWhoseWeftDoesNotRunTakesJobs) {
  const Recipes recipes;
  recipes.write("gpu1 failed its cable\n", now());
  std::ofstream(recipes.here("recipes/verdict.sh"), std::ios::app) << "WEFT=/absent/weft\n";
  for (const char* script : {"prolog.sh", "epilog.sh", "health_check.sh"})
    EXPECT_EQ(recipes.status_of(script, "gpu1"), "0\n") << script;
}

TEST(Recipes, NoneWaitsLongerThanItsLimit) {
  const Recipes recipes;
  ASSERT_EQ(mkfifo(recipes.here("gate").c_str(), 0600), 0);
  for (const char* script : {"prolog.sh", "epilog.sh", "health_check.sh"}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(recipes.status_of(script, "gpu1"), "0\n");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << script;
  }
}

TEST(Recipes, AreScriptsWithoutTheUsualMistakes) {
  if (!run({"sh", "-c", "command -v shellcheck"})) GTEST_SKIP() << "shellcheck is not installed";
  const auto checked =
      run({"sh", "-c", "cd \"$1\" && shellcheck -x *.sh *.sbatch", "sh", kRecipes + "/slurm"});
  EXPECT_TRUE(checked) << checked.error().message;
}

TEST(Recipes, TheKubernetesJobHasTheHostsNetworkAndNoMoreRightsThanItNeeds) {
  int seen = 0;
  for (const YAML::Node& object : YAML::LoadAllFromFile(kRecipes + "/kubernetes/sweep.yaml")) {
    const auto kind = object["kind"].as<std::string>();
    if (kind != "DaemonSet" && kind != "Job") continue;
    ++seen;
    const auto pod = object["spec"]["template"]["spec"];
    EXPECT_TRUE(pod["hostNetwork"].as<bool>()) << kind;
    const auto rights = pod["containers"][0]["securityContext"]["capabilities"];
    EXPECT_EQ(rights["drop"][0].as<std::string>(), "ALL") << kind;
    if (kind == "DaemonSet") {
      EXPECT_EQ(rights["add"].as<Words>(), (Words{"NET_RAW", "IPC_LOCK"}));
    } else {
      EXPECT_FALSE(rights["add"].IsDefined()) << "it sends nothing itself";
      EXPECT_EQ(object["spec"]["backoffLimit"].as<int>(), 0);
    }
  }
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace weft
