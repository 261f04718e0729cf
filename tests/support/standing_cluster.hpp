// StandingCluster: a lab as a cluster that is watched for good: a nats-server as `weft bus init` configures
// it (TLS, nkeys), a standing agent on each host, and watchers with credentials of their own, each a process.
#pragma once

#include <gmock/gmock.h>
#include <signal.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "tests/support/schema.hpp"
#include "tests/support/test_cluster.hpp"

namespace weft {

/// What is awaited, looked at 50 times a second.
template <class Condition>
bool comes_true_within(Nanoseconds limit, Condition condition) {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

class StandingCluster : public TestCluster {
 public:
  using Json = nlohmann::json;

  /// Large enough that losses of a channel name it alone.
  StandingCluster()
      : TestCluster("ipv4", "fabric: small\nclos: {leaves: 3, spines: 2, hosts_per_leaf: 2, link: 50M}\n") {
    const auto made = weft({"bus", "init", bus(), "--fabric", live_file(), "--listen",
                            head_address() + ":4222", "--watchers", "2", "--operators", "1"});
    EXPECT_EQ(made.status, 0) << made.errors;
    start_server();
    for (const NodeId host : opened().fabric().hosts()) start_agent(host);
  }

  /// One of them, by number, with what it wrote.
  class Watcher {
   public:
    Watcher(const StandingCluster& cluster, int number, const std::vector<std::string>& more)
        : events_file_(cluster.files / fmt::format("events{}.jsonl", number)),
          running_(cluster.start_on_head(words(cluster, number, more))) {}
    RunningCommand& command() { return running_; }
    std::string notes() const { return running_.errors_so_far(); }
    int count(std::string_view text) const {
      const auto all = notes();
      int found = 0;
      for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1)) ++found;
      return found;
    }
    bool is_active() const {
      const auto all = notes();
      const auto last = all.rfind("as the active watcher"), lost = all.rfind("no longer the active watcher");
      return last != std::string::npos && (lost == std::string::npos || lost < last);
    }
    std::vector<Json> events() const {
      std::vector<Json> all;
      std::ifstream file(events_file_);
      for (std::string line; std::getline(file, line) && !file.eof();) {
        expect_matches_schema(line, "event");
        all.push_back(Json::parse(line));
      }
      return all;
    }
    bool told(std::string_view change, Nanoseconds limit) const {
      return comes_true_within(limit, [&] {
        return std::ranges::any_of(events(), [&](const Json& event) { return event["change"] == change; });
      });
    }

   private:
    std::vector<std::string> words(const StandingCluster& cluster, int number,
                                   const std::vector<std::string>& more) const {
      std::vector<std::string> words{
          "watch",
          "--fabric",
          cluster.live_file(),
          "--credential",
          fmt::format("{}/watchers/{}.json", cluster.bus(), number == 1 ? "watcher" : "watcher2"),
          "--state",
          cluster.files / fmt::format("state{}", number),
          "--events",
          events_file_,
          "--close-after",
          "4s"};
      words.insert(words.end(), more.begin(), more.end());
      return words;
    }

    std::string events_file_;
    RunningCommand running_;
  };
  /// 1 or 2.
  Watcher watcher(int number, const std::vector<std::string>& more = {}) const {
    return {*this, number, more};
  }

  /// Where watchers keep their state and events.
  std::filesystem::path files = directory();
  std::string bus() const { return directory() / "bus"; }
  os::ChildProcess& server() { return *server_; }
  void start_server() {
    server_.reset();
    os::ChildSpec spec{.argv = {"/usr/sbin/nats-server", "-c", bus() + "/server/nats-server.conf"}};
    spec.output = os::ToNothing{};
    spec.errors = os::ToFile{directory() / "nats.log"};
    spec.network_namespace = opened().management_namespace();
    auto started = os::ChildProcess::start(spec);
    ASSERT_TRUE(started) << started.error().message;
    server_.emplace(std::move(*started));
  }
  void start_agent(NodeId host) {
    const auto name = opened().fabric().name_of(host);
    std::vector<std::string> words{"lab",
                                   "exec",
                                   name,
                                   "--name",
                                   lab,
                                   "--",
                                   program(),
                                   "agent",
                                   "--standing",
                                   "--credential",
                                   fmt::format("{}/hosts/{}.json", bus(), name)};
    for (const lab::LabNic& nic : opened().nics_of(host))
      words.insert(words.end(), {"--nic", to_string(nic.address)});
    agents_.erase(name);
    agents_.emplace(name, start(words));
  }
  std::map<std::string, RunningCommand>& agents() { return agents_; }
  /// All events of these watchers, by incident and number: each once.
  static std::map<std::uint64_t, std::vector<Json>> story_of(const std::vector<const Watcher*>& watchers) {
    std::map<std::pair<std::uint64_t, std::uint64_t>, Json> all;
    for (const Watcher* watcher : watchers)
      for (const Json& event : watcher->events()) {
        const std::pair key(event["incident"].get<std::uint64_t>(), event["number"].get<std::uint64_t>());
        EXPECT_TRUE(all.emplace(key, event).second) << "told twice: " << event;
      }
    std::map<std::uint64_t, std::vector<Json>> story;
    for (const auto& [key, event] : all) story[key.first].push_back(event);
    return story;
  }

 private:
  std::optional<os::ChildProcess> server_;
  std::map<std::string, RunningCommand> agents_;
};

/// Kills the active one of two watchers again and again while an incident is open, each time when some time
/// of up to three seconds is over, and starts it anew.
struct Takeovers {
  std::vector<Nanoseconds> took;  // from the kill until the other one holds the lease with a plan
  std::size_t incidents = 0;      // of the database of the last one
  std::optional<nlohmann::json> opened = std::nullopt;  // the incident
};
inline Takeovers kill_at_random(StandingCluster& cluster, int kills, unsigned seed) {
  using namespace std::chrono_literals;
  using Watcher = StandingCluster::Watcher;
  Takeovers all;
  std::map<int, std::unique_ptr<Watcher>> watchers;
  const auto start = [&](int number) {
    watchers[number] = std::make_unique<Watcher>(cluster.watcher(number));
  };
  start(1);
  EXPECT_TRUE(comes_true_within(60s, [&] { return watchers[1]->count("plan 1:") == 1; }));
  start(2);
  std::this_thread::sleep_for(6s);
  cluster.fault("leaf1--spine1", {"--loss", "20", "--from", "leaf1"});
  EXPECT_TRUE(watchers[1]->told("opened", 30s)) << watchers[1]->notes();
  std::mt19937 random(seed);
  int active = 1;
  for (int kill = 0; kill < kills; ++kill) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::uniform_int_distribution(0, 3000)(random)));
    const int next = 3 - active;
    const int plans = watchers[next]->count("plan ");
    const auto killed = std::chrono::steady_clock::now();
    watchers[active]->command().signal(SIGKILL);
    watchers[active]->command().wait(5s);
    const bool went_on = comes_true_within(
        20s, [&] { return watchers[next]->is_active() && watchers[next]->count("plan ") > plans; });
    all.took.push_back(std::chrono::steady_clock::now() - killed);
    EXPECT_TRUE(went_on) << watchers[next]->notes();
    start(active);
    EXPECT_TRUE(comes_true_within(20s, [&] { return watchers[active]->count("standing by") == 1; }))
        << watchers[active]->notes();
    active = next;
  }
  EXPECT_EQ(cluster.weft({"lab", "heal", "--name", cluster.lab}).status, 0);
  EXPECT_TRUE(watchers[active]->told("closed", 120s)) << watchers[active]->notes();
  for (const auto& event : watchers[active]->events()) all.opened = event;
  static_cast<void>(StandingCluster::story_of({watchers[1].get(), watchers[2].get()}));
  for (auto& [number, watcher] : watchers) watcher->command().signal(SIGTERM);
  for (auto& [number, watcher] : watchers) EXPECT_EQ(watcher->command().wait(10s).status, 0);
  const auto report = cluster.weft({"report", "--db", cluster.files / fmt::format("state{}/watch.db", active),
                                    "-o", "json", "--suspicions"});
  EXPECT_EQ(report.status, 0) << report.errors;
  if (report.status == 0) all.incidents = nlohmann::json::parse(report.output)["incidents"].size();
  return all;
}

}  // namespace weft
