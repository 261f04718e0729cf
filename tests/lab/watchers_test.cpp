// Several watchers as a cluster runs them: processes with credentials at a server with TLS and nkeys,
// standing agents on real packets; the active one is killed, frozen, asked to go.
#include <httplib.h>
#include <sys/mount.h>

#include "collectors/store/watch_store.hpp"
#include "tests/support/standing_cluster.hpp"
#include "topology/os/network_namespace.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr auto kTakeover = 5s;

/// The first of two is active with a plan, the second stands by.
void begin(StandingCluster::Watcher& first) {
  ASSERT_TRUE(comes_true_within(60s, [&] { return first.count("plan 1:") == 1; })) << first.notes();
  std::this_thread::sleep_for(6s);  // the first seconds of a plan say nothing
}

/// Until `next` holds the lease, with a plan by which agents work.
Nanoseconds takes_over(const StandingCluster::Watcher& next) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(comes_true_within(30s, [&] { return next.is_active() && next.count("plan ") > 0; }))
      << next.notes();
  return std::chrono::steady_clock::now() - began;
}

/// What the page answers.
std::string page(const StandingCluster& cluster, const std::string& path) {
  const auto visit = os::NamespaceVisit::enter(cluster.opened().management_namespace());
  httplib::Client client("127.0.0.1", 8420);
  const auto answer = client.Get(path);
  return answer ? answer->body : "no answer";
}

TEST(Watchers, TheStandbyGoesOnWithAnOpenIncidentWhenTheActiveIsKilled) {
  StandingCluster cluster;
  auto first = cluster.watcher(1);
  begin(first);
  auto second = cluster.watcher(2);
  cluster.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  ASSERT_TRUE(first.told("opened", 20s)) << first.notes();
  first.command().signal(SIGKILL);
  const auto took = takes_over(second);
  EXPECT_LE(took, kTakeover);
  RecordProperty("takeover_ms", static_cast<int>(took / 1ms));
  EXPECT_EQ(second.count("mapping paths"), 0) << "it has the plan of the first";
  first.command().wait(5s);
  ASSERT_EQ(cluster.weft({"lab", "heal", "--name", cluster.lab}).status, 0);
  EXPECT_TRUE(second.told("closed", 90s)) << second.notes();
  const auto story = StandingCluster::story_of({&first, &second});
  ASSERT_THAT(story, SizeIs(1)) << "no incident is doubled";
  std::uint64_t number = 0;
  for (const Json& event : story.begin()->second) EXPECT_EQ(event["number"], number++) << "no event is lost";
  EXPECT_EQ(story.begin()->second.back()["channels"], Json({"leaf1->spine1"}));
  second.command().signal(SIGTERM);
  EXPECT_EQ(second.command().wait(10s).status, 0);
}

TEST(Watchers, OneThatWasFrozenPastItsLeaseWritesNothingAndSaysSoOnce) {
  StandingCluster cluster;
  auto first = cluster.watcher(1);
  begin(first);
  auto second = cluster.watcher(2, {"--page", "127.0.0.1:8420"});
  ASSERT_TRUE(comes_true_within(10s, [&] { return second.count("standing by") == 1; })) << second.notes();
  EXPECT_THAT(page(cluster, "/metrics"), HasSubstr("weft_watch_active{fabric=\"small\"} 0"))
      << "else nobody is told when the active one is gone for good";
  first.command().signal(SIGSTOP);
  takes_over(second);
  cluster.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  ASSERT_TRUE(second.told("opened", 30s)) << second.notes();
  first.command().signal(SIGCONT);
  ASSERT_TRUE(comes_true_within(10s, [&] { return !first.is_active(); })) << first.notes();
  std::this_thread::sleep_for(5s);
  EXPECT_THAT(first.events(), IsEmpty());
  EXPECT_EQ(first.count("no longer the active watcher"), 1) << first.notes();
  EXPECT_THAT(StandingCluster::story_of({&first, &second}), SizeIs(1));
  // Asked to go, the active one gives the lease up at once.
  second.command().signal(SIGTERM);
  EXPECT_EQ(second.command().wait(10s).status, 0);
  EXPECT_TRUE(comes_true_within(2500ms, [&] { return first.is_active(); })) << first.notes();
}

TEST(Watchers, KilledAtTenRandomMomentsLoseAndDoubleNothing) {
  StandingCluster cluster;
  const auto takeovers = kill_at_random(cluster, 10, 7);
  EXPECT_THAT(takeovers.took, ::testing::Each(::testing::Le(Nanoseconds(kTakeover))));
  EXPECT_EQ(takeovers.incidents, 1u);
}

TEST(Watchers, AServerKilledUnderLoadAndStartedLaterLosesAndDoublesNoIncident) {
  StandingCluster cluster;
  auto watch = cluster.watcher(1);
  begin(watch);
  cluster.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  ASSERT_TRUE(watch.told("opened", 20s)) << watch.notes();
  ASSERT_TRUE(cluster.server().send_signal(SIGKILL));
  std::this_thread::sleep_for(5s);  // longer than the lease
  cluster.start_server();
  ASSERT_TRUE(comes_true_within(20s, [&] { return watch.count("as the active watcher") == 2; }))
      << watch.notes();
  ASSERT_EQ(cluster.weft({"lab", "heal", "--name", cluster.lab}).status, 0);
  EXPECT_TRUE(watch.told("closed", 90s)) << watch.notes();
  const auto story = StandingCluster::story_of({&watch});
  ASSERT_THAT(story, SizeIs(1));
  std::uint64_t number = 0;
  for (const Json& event : story.begin()->second) EXPECT_EQ(event["number"], number++);
}

TEST(Watchers, HalfTheAgentsToldToStopAreNoFault) {
  StandingCluster cluster;
  auto watch = cluster.watcher(1, {"--page", "127.0.0.1:8420"});
  begin(watch);
  for (const char* host : {"host2", "host3"})
    ASSERT_TRUE(send_signal(child_with_word(cluster.agents().at(host).pid(), "--standing"), SIGTERM));
  std::this_thread::sleep_for(15s);
  EXPECT_THAT(watch.events(), IsEmpty()) << "maintenance";
  EXPECT_THAT(page(cluster, "/metrics"),
              HasSubstr("weft_agents{fabric=\"small\",presence=\"gone_planned\"} 2"));
}

TEST(Watchers, WhileItsDiskIsFullOneGoesOnAndNothingIsLostOrDoubled) {
  StandingCluster cluster;
  cluster.files = cluster.directory() / "disk";
  std::filesystem::create_directory(cluster.files);
  if (mount("tmpfs", cluster.files.c_str(), "tmpfs", 0, "size=3m") != 0) GTEST_SKIP() << "mount needs root";
  const std::shared_ptr<void> mounted(nullptr, [&](void*) { umount2(cluster.files.c_str(), MNT_DETACH); });
  auto watch = cluster.watcher(1);
  begin(watch);
  {
    std::ofstream ballast(cluster.files / "ballast", std::ios::binary);
    for (int i = 0; i < 4096 && ballast; ++i) ballast << std::string(1024, 'x') << std::flush;
  }
  cluster.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  ASSERT_TRUE(comes_true_within(30s, [&] { return watch.count("--events: ") == 1; })) << watch.notes();
  std::this_thread::sleep_for(15s);  // past a write of history
  EXPECT_EQ(watch.count("--events: "), 1) << watch.notes();
  EXPECT_LE(watch.count("--state: events: "), 1) << watch.notes();
  EXPECT_LE(watch.count("--state: history: "), 1) << watch.notes();
  std::filesystem::remove(cluster.files / "ballast");
  ASSERT_TRUE(watch.told("opened", 10s)) << watch.notes();
  ASSERT_EQ(cluster.weft({"lab", "heal", "--name", cluster.lab}).status, 0);
  EXPECT_TRUE(watch.told("closed", 90s)) << watch.notes();
  watch.command().signal(SIGTERM);
  EXPECT_EQ(watch.command().wait(10s).status, 0);
  const auto story = StandingCluster::story_of({&watch});
  ASSERT_THAT(story, SizeIs(1));
  std::uint64_t number = 0;
  for (const Json& event : story.begin()->second) EXPECT_EQ(event["number"], number++) << "none is lost";
  auto kept = store::open_to_read(cluster.files / "state1/watch.db");
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->database.number("SELECT count(*) FROM events WHERE incident=1").value(),
            static_cast<std::int64_t>(number));
}

/// What is posted to it; it listens in the lab's management network.
class Receiver {
 public:
  explicit Receiver(const StandingCluster& cluster) {
    const auto visit = os::NamespaceVisit::enter(cluster.opened().management_namespace());
    EXPECT_TRUE(visit);
    server_.Post("/hook", [this](const httplib::Request& request, httplib::Response&) {
      const std::lock_guard lock(mutex_);
      posted_.push_back(Json::parse(request.body));
    });
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
  }
  ~Receiver() { server_.stop(); }
  std::string url() const { return fmt::format("http://127.0.0.1:{}/hook", port_); }
  std::vector<Json> posted() const {
    const std::lock_guard lock(mutex_);
    return posted_;
  }

 private:
  httplib::Server server_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<Json> posted_;
  std::jthread thread_;
};

TEST(Watchers, AFaultIsOneIncidentInEventsMetricsWebhookAndPageAMutedOneAlertsNobodyAndASweepRunsBeside) {
  StandingCluster cluster;
  const Receiver receiver(cluster);
  auto watch = cluster.watcher(1, {"--webhook", receiver.url(), "--page", "127.0.0.1:8420"});
  begin(watch);
  auto sweep = cluster.sweep_words(cluster.launcher());
  sweep[4] = "host[1-6]";
  const auto swept = cluster.on_head(sweep);
  EXPECT_EQ(swept.status, 0) << swept.output << swept.errors;
  EXPECT_THAT(watch.events(), IsEmpty()) << "the sweep is no fault";

  const Answer muted =
      cluster.on_head({"mute", "add", "leaf2--spine2", "--for", "1h", "--reason", "new optics", "--fabric",
                       cluster.live_file(), "--credential", cluster.bus() + "/watchers/watcher2.json"});
  ASSERT_EQ(muted.status, 0) << muted.errors;
  std::this_thread::sleep_for(3s);
  cluster.fault("leaf2--spine2", {"--loss", "20", "--from", "leaf2"});
  ASSERT_TRUE(watch.told("opened", 20s)) << watch.notes();
  EXPECT_EQ(watch.events().back()["muted_by"], "new optics");
  std::this_thread::sleep_for(2s);
  EXPECT_THAT(receiver.posted(), IsEmpty());
  EXPECT_THAT(page(cluster, "/metrics"), HasSubstr("muted=\"yes\""));
  EXPECT_THAT(page(cluster, "/metrics"), HasSubstr("weft_webhook_waiting_events{fabric=\"small\"} 0"));
  EXPECT_THAT(page(cluster, "/metrics"), Not(HasSubstr("verdict=\"failed\",muted=\"no\"")));
  ASSERT_EQ(cluster.weft({"lab", "heal", "--name", cluster.lab}).status, 0);
  ASSERT_TRUE(watch.told("closed", 90s)) << watch.notes();
  const auto before = watch.events().size();

  cluster.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  ASSERT_TRUE(comes_true_within(20s, [&] { return !receiver.posted().empty(); })) << watch.notes();
  const Json told = receiver.posted().front();
  EXPECT_EQ(told["change"], "opened");
  EXPECT_EQ(told["channels"], Json({"leaf1->spine1"}));
  EXPECT_EQ(told["cause"], "loss");
  EXPECT_GT(told["confidence"], 0.9);
  EXPECT_TRUE(comes_true_within(5s, [&] {
    return page(cluster, "/metrics").find("place=\"leaf1->spine1\",cause=\"loss\"") != std::string::npos ||
           page(cluster, "/metrics").find("cause=\"loss\",place=\"leaf1->spine1\"") != std::string::npos;
  })) << page(cluster, "/metrics");
  EXPECT_THAT(page(cluster, "/api/v1/fabrics/small/incidents?from=0&to=4000000000000"),
              HasSubstr("leaf1--spine1 (from leaf1)"));
  ASSERT_EQ(cluster.weft({"lab", "heal", "--name", cluster.lab}).status, 0);
  EXPECT_TRUE(comes_true_within(90s, [&] { return receiver.posted().back()["change"] == "closed"; }));
  // What a busy machine delays may be suspected for a while, too.
  const auto story = StandingCluster::story_of({&watch});
  const auto has_opened = [](const auto& incident) {
    return std::ranges::count(incident.second, "opened", [](const Json& event) { return event["change"]; }) >
           0;
  };
  EXPECT_EQ(std::ranges::count_if(story, has_opened), 2) << "the muted one, and this";
  EXPECT_GT(watch.events().size(), before);
  watch.command().signal(SIGTERM);
  EXPECT_EQ(watch.command().wait(10s).status, 0);
}

}  // namespace
}  // namespace weft
