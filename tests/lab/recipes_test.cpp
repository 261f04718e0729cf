// The recipes of docs/recipes as a site would run them, but for their scheduler (cluster_slurm_test has
// that).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <chrono>
#include <ctime>
#include <fstream>

#include "tests/places.hpp"
#include "topology/os/child_process.hpp"
#include "topology/os/scratch_directory.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds kLimit{30};
const std::string kRecipes = WEFT_SOURCE_DIR "/docs/recipes";

Result<std::string> run(const Words& words) { return os::run_program(words, "", kLimit); }

/// The recipes of Slurm with their verdicts in a directory of ours.
class Recipes {
 public:
  Recipes() : directory_(os::ScratchDirectory::make().value()) {
    std::filesystem::copy(kRecipes + "/slurm", here("recipes"));
    std::filesystem::create_directories(here("verdicts"));
    std::ofstream(here("recipes/verdict.sh"), std::ios::app) << "WEFT_VERDICTS=" << here("verdicts") << "\n";
  }
  std::string here(const std::string& name) const { return directory_.path() / name; }
  void write(const std::string& host, const std::string& text) const {
    std::ofstream(here("verdicts/" + host)) << text << "\n";
  }
  /// What it ends with.
  std::string status_of(const std::string& script, const std::string& host) const {
    const auto said = run(
        {"sh", "-c", "SLURMD_NODENAME=$1 sh $2 2>/dev/null; echo $?", "sh", host, here("recipes/" + script)});
    return said ? *said : said.error().message;
  }

 private:
  os::ScratchDirectory directory_;
};

std::string now() { return std::to_string(std::time(nullptr)); }

TEST(Recipes, APrologEndsBadlyForAFailedHostAlone) {
  const Recipes recipes;
  recipes.write("gpu1", "failed " + now() + " its cable");
  recipes.write("gpu2", "degraded " + now() + " its cable");
  recipes.write("gpu3", "failed 1000000000 of another year");
  recipes.write("gpu4", "failed yesterday");
  recipes.write("gpu5", "");
  for (const char* script : {"prolog.sh", "epilog.sh"}) {
    EXPECT_EQ(recipes.status_of(script, "gpu1"), "1\n");
    for (const char* host : {"gpu2", "gpu3", "gpu4", "gpu5", "absent", "../gpu1"})
      EXPECT_EQ(recipes.status_of(script, host), "0\n") << host;
  }
}

TEST(Recipes, NoneWaitsLongerThanItsLimit) {
  const Recipes recipes;
  ASSERT_EQ(mkfifo(recipes.here("verdicts/gpu1").c_str(), 0600), 0);
  for (const char* script : {"prolog.sh", "epilog.sh", "health_check.sh"}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(recipes.status_of(script, "gpu1"), "0\n");
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << script;
  }
}

TEST(Recipes, EachHostGetsTheWorstThatNamesIt) {
  if (!run({"sh", "-c", "command -v jq"})) GTEST_SKIP() << "jq is not installed";
  const Recipes recipes;
  std::ofstream(recipes.here("fabric.yaml"))
      << "fabric: a\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 3}\n";
  std::ofstream(recipes.here("diagnosis.json")) << R"({"schema":"weft.diagnosis/1","fabric":"a","hosts":[
    {"host":"host1","verdict":"degraded","evidence":["slow"]},
    {"host":"host1","verdict":"failed","evidence":["its agent\nfell silent"]}],
    "links":[{"link":"host2--leaf1","a":{"node":"host2"},"b":{"node":"leaf1"},"verdict":"degraded","cause":"loss"},
             {"link":"leaf1--spine1","a":{"node":"leaf1"},"b":{"node":"spine1"},"verdict":"failed","cause":"down"}],
    "groups":[{"nodes":["leaf2"],"channels":[],"cause":"down"}],
    "coverage":{"not_tested":[{"host":"host3","why":"no route"}]}})";
  const auto published =
      run({"env", std::string("WEFT=") + WEFT_BINARY_DIR "/weft", recipes.here("recipes/publish_verdicts.sh"),
           recipes.here("diagnosis.json"), recipes.here("fabric.yaml"), recipes.here("verdicts")});
  ASSERT_TRUE(published) << published.error().message;
  const auto said = [&](const char* host) {
    std::ifstream file(recipes.here(std::string("verdicts/") + host));
    std::string line;
    std::getline(file, line);
    return line;
  };
  EXPECT_THAT(said("host1"),
              testing::AllOf(testing::StartsWith("failed "), HasSubstr("its agent fell silent")));
  EXPECT_THAT(said("host2"), testing::StartsWith("degraded ")) << "what is between switches is nobody's";
  EXPECT_THAT(said("host3"), testing::StartsWith("unknown "));
  EXPECT_THAT(said("host4"), testing::StartsWith("failed ")) << "its leaf is down as a whole";
  EXPECT_EQ(recipes.status_of("prolog.sh", "host1"), "1\n");
  EXPECT_EQ(recipes.status_of("prolog.sh", "host2"), "0\n");
}

TEST(Recipes, AHostWhoseCableMayBeAtFaultIsNotHealthy) {
  if (!run({"sh", "-c", "command -v jq"})) GTEST_SKIP() << "jq is not installed";
  const Recipes recipes;
  std::ofstream(recipes.here("fabric.yaml"))
      << "fabric: a\nkind: roce\nclos: {leaves: 2, spines: 2, hosts_per_leaf: 3}\n";
  std::ofstream(recipes.here("diagnosis.json"))
      << R"({"schema":"weft.diagnosis/1","fabric":"a","hosts":[],"links":[],"groups":[],
    "ambiguous":[["host2->leaf1","leaf1->spine1"]],
    "coverage":{"missing":["leaf1->host3"],"thin":["host4/p1->leaf2/p1","leaf2->spine1"]}})";
  const auto published =
      run({"env", std::string("WEFT=") + WEFT_BINARY_DIR "/weft", recipes.here("recipes/publish_verdicts.sh"),
           recipes.here("diagnosis.json"), recipes.here("fabric.yaml"), recipes.here("verdicts")});
  ASSERT_TRUE(published) << published.error().message;
  for (const char* host : {"host2", "host3", "host4"})
    EXPECT_TRUE(run({"grep", "-q", "^unknown ", recipes.here(std::string("verdicts/") + host)})) << host;
  EXPECT_TRUE(run({"grep", "-q", "^healthy ", recipes.here("verdicts/host5")}));
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
