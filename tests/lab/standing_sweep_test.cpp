// Sweeps and traces by agents that stand: real packets, a server with TLS and nkeys, and a watcher beside.
#include "tests/support/standing_cluster.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StandingSweep : public ::testing::Test {
 protected:
  std::vector<std::string> words(std::vector<std::string> first, const char* credential) const {
    first.insert(first.end(), {"--fabric", cluster_.live_file(), "--credential",
                               fmt::format("{}/{}", cluster_.bus(), credential), "-o", "json"});
    return first;
  }
  std::vector<std::string> sweep_words(const char* credential = "operators/operator.json") const {
    return words({"sweep", "--budget", "2s", "--answer-rate", "10000"}, credential);
  }
  Answer sweep(const char* credential = "operators/operator.json") const {
    return cluster_.on_head(sweep_words(credential));
  }
  /// Agents are there some seconds after they were started.
  Answer first_healthy_sweep() const {
    Answer swept;
    comes_true_within(60s, [&] {
      swept = sweep();
      return swept.status == 0;
    });
    return swept;
  }
  static Json document(const Answer& answer) { return Json::parse(answer.output, nullptr, false); }

  StandingCluster cluster_;
};

TEST_F(StandingSweep, NamesTheLossyCableBesideAWatcherByEitherCredentialAndStartsNobody) {
  auto watch = cluster_.watcher(1);
  ASSERT_TRUE(comes_true_within(60s, [&] { return watch.count("plan 1:") == 1; })) << watch.notes();
  const auto healthy = first_healthy_sweep();
  EXPECT_EQ(healthy.status, 0) << healthy.output << healthy.errors;
  auto some_hosts = sweep_words();
  some_hosts.insert(some_hosts.end(), {"--hosts", "host[1-4]"});
  const auto some = cluster_.on_head(some_hosts);
  EXPECT_EQ(some.status, 0) << some.output << some.errors;
  const auto traced =
      cluster_.on_head(words({"trace", "host1", "host3", "--labels", "16"}, "operators/operator.json"));
  EXPECT_EQ(traced.status, 0) << traced.errors;
  expect_matches_schema(traced.output, "pathmap");
  EXPECT_THAT(traced.output, HasSubstr("leaf1->spine"));
  EXPECT_THAT(watch.events(), IsEmpty()) << "neither is a fault";
  cluster_.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  for (const char* credential : {"operators/operator.json", "watchers/watcher2.json"}) {
    const auto lossy = sweep(credential);
    EXPECT_EQ(lossy.status, 2) << lossy.output << lossy.errors;
    const auto told = document(lossy);
    ASSERT_EQ(told["links"].size(), 1u) << lossy.output;
    EXPECT_EQ(told["links"][0]["link"], "leaf1--spine1");
    EXPECT_EQ(told["links"][0]["from"], "leaf1");
  }
  EXPECT_TRUE(watch.told("opened", 30s)) << watch.notes();
}

TEST_F(StandingSweep, AHostWhoseAgentIsGoneIsNotTestedAndNotBlamed) {
  EXPECT_EQ(first_healthy_sweep().status, 0);
  ASSERT_TRUE(send_signal(child_with_word(cluster_.agents().at("host2").pid(), "--standing"), SIGTERM));
  cluster_.agents().at("host2").wait(10s);
  const auto swept = sweep();
  EXPECT_EQ(swept.status, 3) << swept.output << swept.errors;
  EXPECT_THAT(swept.output, HasSubstr("its agent did not come"));
  for (const auto& host : document(swept)["hosts"]) EXPECT_NE(host["verdict"], "failed") << host;
}

TEST_F(StandingSweep, TwoAtOnceAreNeverAWrongVerdictAndBothEnd) {
  EXPECT_EQ(first_healthy_sweep().status, 0);
  auto first = cluster_.start_on_head(sweep_words());
  auto second = cluster_.start_on_head(sweep_words("watchers/watcher.json"));
  for (auto* one : {&first, &second}) {
    const auto answer = one->wait(60s);
    EXPECT_THAT(answer.status, AnyOf(0, 3, 69)) << answer.output << answer.errors;
    if (answer.status == 69) {
      EXPECT_THAT(answer.errors, AnyOf(HasSubstr("serves another run"), HasSubstr("did not come")));
    }
  }
}

TEST_F(StandingSweep, OneThatIsInterruptedOrKilledLeavesTheAgentsToTheNext) {
  EXPECT_EQ(first_healthy_sweep().status, 0);
  for (const int signal : {SIGINT, SIGKILL}) {
    auto words = sweep_words();
    words[2] = "40s";
    words.insert(words.end(), {"--progress", "plain"});
    auto running = cluster_.start_on_head(words);
    EXPECT_TRUE(comes_true_within(25s, [&] {
      return running.errors_so_far().find("probing") != std::string::npos;
    })) << running.errors_so_far();
    running.signal(signal);
    running.wait(10s);
    Answer next;
    // An agent of a run whose coordinator is silent ends it after ten seconds.
    EXPECT_TRUE(comes_true_within(40s,
                                  [&] {
                                    next = sweep();
                                    return next.status == 0;
                                  }))
        << signal << next.output << next.errors;
  }
}

}  // namespace
}  // namespace weft
