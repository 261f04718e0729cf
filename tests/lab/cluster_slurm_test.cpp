// Agents started by a real Slurm: its controller on the management network of a lab, one slurmd in the
// namespace of each host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <nlohmann/json.hpp>

#include "balancer/export/gate.hpp"
#include "tests/places.hpp"
#include "tests/support/schema.hpp"
#include "tests/support/slurm_cluster.hpp"
#include "tests/support/text_of.hpp"
#include "topology/files/file_text.hpp"
#include "topology/model/fabric.hpp"

namespace weft {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds kLimit{60};

TEST(ClusterBySlurm, IsSweptWithoutAndWithinAnAllocation) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  const SlurmCluster cluster;
  ASSERT_TRUE(cluster.is_ready());
  const auto alone = cluster.on_head(cluster.sweep_words("srun"), cluster.environment());
  EXPECT_EQ(alone.status, 0) << alone.errors << alone.output;
  auto words = cluster.sweep_words("srun");
  words.erase(words.begin() + 3, words.begin() + 5);  // --hosts and its list
  auto command = cluster.start_after({"nsenter", cluster.on_head_network(), "salloc", "--quiet", "-N4", "sh",
                                      "-c", "exec \"$0\" \"$@\" --hosts \"$SLURM_JOB_NODELIST\""},
                                     words, cluster.environment());
  const auto inside = command.wait(kLimit);
  EXPECT_EQ(inside.status, 0) << inside.errors << inside.output;
  for (const auto& answer : {alone, inside}) {
    expect_matches_schema(answer.output, "diagnosis");
    EXPECT_EQ(Json::parse(answer.output, nullptr, false)["coverage"]["probed"], 16) << answer.output;
  }
}

TEST(ClusterBySlurm, ANodeWhoseSlurmdIsGoneIsNotTestedAndNoJobIsLeft) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  SlurmCluster cluster;
  ASSERT_TRUE(cluster.is_ready());
  cluster.kill_slurmd_of("host3");
  auto words = cluster.sweep_words("srun");
  words.insert(words.end(), {"--gather", "5s"});
  const auto answer = cluster.on_head(words, cluster.environment());
  EXPECT_EQ(answer.status, 3) << answer.errors;
  const auto document = Json::parse(answer.output, nullptr, false);
  EXPECT_TRUE(document["hosts"].empty()) << answer.output;
  ASSERT_EQ(document["coverage"]["not_tested"].size(), 1u) << answer.output;
  EXPECT_EQ(document["coverage"]["not_tested"][0]["host"], "host3");
  EXPECT_TRUE(document["links"].empty()) << answer.output;
  Answer left;
  for (int look = 0; look < 50; ++look) {
    left = cluster.slurm({"squeue", "-h", "-w", "host[1-2,4]"});
    if (left.output.empty()) break;
    usleep(200'000);
  }
  EXPECT_EQ(left.output, "");
}

/// Hosts whose prolog, epilog and health check are those of docs/recipes/slurm, with their file here.
class GuardedCluster {
 public:
  GuardedCluster() : slurm_([this](const auto& here) { return install(here); }) {}
  SlurmCluster& slurm() { return slurm_; }

  void set_verdict(const std::string& host, const std::string& verdict) {
    said_[host] = verdict;
    exports::Gate gate{.fabric = "lab", .told_at = {}, .hosts = {}};
    gate.told_at = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    for (const auto& [name, word] : said_) gate.hosts.push_back({name, *parse_verdict(word), "a cable"});
    ASSERT_TRUE(files::write_text_file(gate_, gate_text(gate)));
  }
  /// "STATE REASON", once it holds `part`, or after a while.
  std::string state_of(const std::string& host, const std::string& part) const {
    std::string said;
    for (int look = 0; look < 50 && said.find(part) == std::string::npos; ++look) {
      if (look > 0) usleep(200'000);
      said = slurm_.slurm({"sinfo", "-h", "-N", "-n", host, "-o", "%T %E"}).output;
    }
    return said;
  }
  /// Whether a job runs there.
  bool runs_on(const char* host) const {
    return slurm_.slurm({"timeout", "5", "srun", "--quiet", "-w", host, "true"}).status == 0;
  }

 private:
  std::string install(const std::filesystem::path& here) {
    gate_ = here / "gate";
    for (const char* host : {"host1", "host2", "host3", "host4"}) set_verdict(host, "healthy");
    const auto recipes = here / "recipes";
    std::filesystem::copy(WEFT_SOURCE_DIR "/docs/recipes/slurm", recipes);
    // What a site sets: where its file is, and here where its slurm.conf is.
    std::ofstream(recipes / "verdict.sh", std::ios::app)
        << fmt::format("WEFT_GATE={}\nWEFT={}/weft\nexport SLURM_CONF={}/slurm.conf\n", gate_.string(),
                       WEFT_BINARY_DIR, here.string());
    return fmt::format(
        "Prolog={0}/prolog.sh\nEpilog={0}/epilog.sh\nPrologFlags=Alloc\nHealthCheckProgram={0}/"
        "health_check.sh\n"
        "HealthCheckInterval=1\n",
        recipes.string());
  }
  std::filesystem::path gate_;
  std::map<std::string, std::string> said_;  // verdict by host
  SlurmCluster slurm_;
};

TEST(SlurmRecipes, DrainAFailedHostWithItsWordsAndLiftNothingOfOthers) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  GuardedCluster cluster;
  ASSERT_TRUE(cluster.slurm().is_ready());
  for (const char* verdict : {"degraded", "unknown"}) {
    cluster.set_verdict("host4", verdict);
    EXPECT_TRUE(cluster.runs_on("host4")) << verdict << " is reported, and the job runs";
  }
  ASSERT_EQ(
      cluster.slurm().slurm({"scontrol", "update", "NodeName=host2", "State=DRAIN", "Reason=disk"}).status,
      0);
  cluster.set_verdict("host2", "failed");
  cluster.set_verdict("host3", "failed");
  EXPECT_THAT(cluster.state_of("host3", "drained"), HasSubstr("drained weft: a cable"));
  EXPECT_FALSE(cluster.runs_on("host3"));
  cluster.set_verdict("host2", "healthy");
  cluster.set_verdict("host3", "healthy");
  EXPECT_THAT(cluster.state_of("host3", "idle"), HasSubstr("idle"));
  EXPECT_THAT(cluster.state_of("host2", "disk"), HasSubstr("drained disk"));
}

TEST(SlurmRecipes, TakeTheHostsOfAJobAndEndWithTheVerdict) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  const SlurmCluster cluster;
  ASSERT_TRUE(cluster.is_ready());
  auto words = cluster.sweep_words("srun");
  words.erase(words.begin() + 3, words.begin() + 7);  // --hosts and --launcher with theirs
  words.insert(words.begin() + 1, {"--job", "--timeout", "50s"});
  auto command = cluster.start_after({"nsenter", cluster.on_head_network(), "salloc", "--quiet", "-N3"},
                                     words, cluster.environment());
  const auto inside = command.wait(kLimit);
  EXPECT_EQ(inside.status, 0) << inside.errors << inside.output;
  const auto document = Json::parse(inside.output, nullptr, false);
  EXPECT_EQ(document["coverage"]["complete"], true) << inside.output;
  EXPECT_GT(document["coverage"]["out_of_scope"], 0) << "the scope is that of the job's three hosts";
  EXPECT_EQ(document["engine"]["name"], "raw") << inside.output;
}

/// The coordinator is the batch script on the first node, and its agents come by srun from there.
TEST(SlurmRecipes, AcceptARackByABatchJobThatEndsWithTheVerdict) {
  if (const auto why = why_no_slurm_here(); !why.empty()) GTEST_SKIP() << why;
  const SlurmCluster cluster;
  ASSERT_TRUE(cluster.is_ready());
  cluster.fault("leaf1--spine2", {"--down"});
  auto environment = cluster.environment();
  const auto first = cluster.opened().fabric().find_node("host1").value();
  environment.insert(environment.end(),
                     {"WEFT=" + cluster.program(), "WEFT_ANSWER_RATE=10000",
                      "WEFT_LISTEN=" + to_string(cluster.opened().management_address(first))});
  Words words{"nsenter", cluster.on_head_network(), "env"};
  words.insert(words.end(), environment.begin(), environment.end());
  for (const auto& word :
       {std::string("sbatch"), std::string("--wait"), std::string("--nodes=4"),
        "--chdir=" + cluster.directory().string(), std::string("--output=said"),
        std::string(WEFT_SOURCE_DIR "/docs/recipes/slurm/acceptance.sbatch"), cluster.live_file()})
    words.push_back(word);
  auto job = os::ChildProcess::start({.argv = words, .output = os::ToNothing{}, .errors = os::ToNothing{}});
  ASSERT_TRUE(job) << job.error().message;
  const auto ended = job->wait_for(std::chrono::seconds(120));
  const std::string text = text_of(cluster.directory() / "said");
  ASSERT_TRUE(ended && *ended) << text;
  EXPECT_EQ((*ended)->code, 2) << text;
  EXPECT_THAT(text, HasSubstr("leaf1--spine2"));
  EXPECT_TRUE(std::filesystem::exists(cluster.directory() / "acceptance-1.json")) << text;
}

}  // namespace
}  // namespace weft
