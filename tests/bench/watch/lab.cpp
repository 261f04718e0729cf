// `weft watch` over a lab of 16 hosts, with packets: how long until a drawn fault opens an incident, and an
// hour without any.
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "tests/bench/watch/pieces.hpp"
#include "tests/support/lab_user.hpp"
#include "topology/base/check.hpp"
#include "topology/base/statistics.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kDraws = 100;
constexpr auto kTimeOfKind = 20min;  // the draws that fit
constexpr auto kMaxDraw = 60s;
constexpr const char* kFabric =
    "fabric: watched\nkind: roce\nclos: {leaves: 4, spines: 4, hosts_per_leaf: 4, link: 400G}\n"
    "lab: {link_rate: 50M}\n";

class WatchedLab {
 public:
  explicit WatchedLab(std::chrono::seconds limit) {
    WEFT_CHECK(user.up().status == 0);
    watch_.emplace(user.start({"watch", "--lab=" + user.lab, "--events", events_file(), "--metrics-file",
                               user.directory() / "weft.prom", "--close-after", "5s", "--for",
                               fmt::format("{}s", limit.count())}));
    for (int i = 0; i < 600 && !is_healthy(); ++i) std::this_thread::sleep_for(100ms);
    WEFT_CHECK(is_healthy());
  }

  bool is_healthy() const {
    std::ifstream file(user.directory() / "weft.prom");
    for (std::string line; std::getline(file, line);)
      if (line.find("verdict=\"healthy\"} 1") != std::string::npos) return true;
    return false;
  }
  /// New ones since the last call.
  std::vector<Json> events() {
    std::ifstream file(events_file());
    file.seekg(read_);
    std::vector<Json> all;
    for (std::string line; std::getline(file, line) && !file.eof();) {
      read_ = file.tellg();
      all.push_back(Json::parse(line));
    }
    return all;
  }
  Answer end() {
    watch_->signal(SIGINT);
    return watch_->wait(20s);
  }
  RunningCommand& watch() { return *watch_; }

  const LabUser user{kFabric};

 private:
  std::string events_file() const { return user.directory() / "events.jsonl"; }

  std::optional<RunningCommand> watch_;
  std::streamoff read_ = 0;
};

struct Kind {
  std::string figure;
  std::vector<std::string> settings;
  std::string cause;
  std::string target;
};

/// What was opened, by its channels; and which incidents are not closed.
struct Heard {
  std::vector<Json> opened;
  std::map<std::uint64_t, Json> latest;  // what was said of each incident
  std::map<std::uint64_t, std::vector<std::string>> open;

  void take(const std::vector<Json>& events) {
    for (const Json& event : events) {
      const auto id = event["incident"].get<std::uint64_t>();
      if (event["change"] == "opened") opened.push_back(event);
      latest[id] = event;
      if (event["change"] == "closed" || event["change"] == "dismissed")
        open.erase(id);
      else
        open[id] = event.value("channels", std::vector<std::string>());
    }
  }
  bool names(const std::string& channel) const {
    return std::ranges::any_of(open,
                               [&](const auto& one) { return std::ranges::count(one.second, channel) > 0; });
  }
};

struct Draws {
  std::vector<double> seconds;
  std::size_t right = 0;  // that channel and cause, and nothing else opened
};

/// One fault, until its incident opens, and three seconds more for what else might: the incident is right if
/// it is so then, for a cable that goes down is first seen to lose what it lost of that second. Then it is
/// healed.
void draw(WatchedLab& lab, const Fabric& fabric, const Kind& kind, std::mt19937_64& random, Heard& heard,
          Draws& draws) {
  ChannelId channel(0);
  do channel = ChannelId(static_cast<std::uint32_t>(random() % fabric.channel_count()));
  while (heard.names(fabric.name_of(channel)));
  const LinkId link = Fabric::link_of(channel);
  const bool both_ways = kind.cause == "down";  // a cable goes down in both directions
  auto settings = kind.settings;
  if (!both_ways)
    settings.insert(settings.end(), {"--from", std::string(fabric.name_of(fabric.source_node(channel)))});
  const auto began = Clock::now();
  lab.user.fault(fabric.name_of(link), settings);
  const std::size_t before = heard.opened.size();
  std::optional<double> took;
  for (auto until = began + kMaxDraw; Clock::now() < until; std::this_thread::sleep_for(50ms)) {
    heard.take(lab.events());
    if (!took && heard.opened.size() > before) {
      took = std::chrono::duration<double>(Clock::now() - began).count();
      until = Clock::now() + 3s;
    }
  }
  const bool one = heard.opened.size() == before + 1;
  const Json said = one ? heard.latest[heard.opened.back()["incident"].get<std::uint64_t>()] : Json::object();
  WEFT_CHECK(lab.user.weft({"lab", "heal", "--name", lab.user.lab}).status == 0);
  const auto channels = said.value("channels", std::vector<std::string>());
  // Of a dead cable one direction or both: where its ends hash anew, packets go on in one of them alone.
  std::set<std::string> expected{fabric.name_of(channel)};
  if (both_ways) expected = {fabric.name_of(Fabric::a_to_b(link)), fabric.name_of(Fabric::b_to_a(link))};
  const bool is_named = !channels.empty() && std::ranges::all_of(channels, [&](const std::string& each) {
    return expected.contains(each);
  });
  const bool right = one && is_named && said["cause"] == kind.cause;
  draws.right += right ? 1 : 0;
  draws.seconds.push_back(took.value_or(std::chrono::duration<double>(kMaxDraw).count()));
  if (!right)
    for (std::size_t i = before; i < heard.opened.size(); ++i)
      fmt::print("  {} {}: {}\n", fabric.name_of(channel), kind.cause, heard.opened[i].dump());
  if (!right && heard.opened.size() == before)
    fmt::print("  {} {}: nothing\n", fabric.name_of(channel), kind.cause);
}

void measure_kind(const Kind& kind, Figures& figures) {
  const Fabric fabric = *make_clos({.leaves = 4, .spines = 4, .hosts_per_leaf = 4});
  WatchedLab lab(std::chrono::duration_cast<std::chrono::seconds>(kTimeOfKind) + 5min);
  std::mt19937_64 random(kind.figure.size());
  Heard heard;
  Draws draws;
  for (const auto until = Clock::now() + kTimeOfKind;
       draws.seconds.size() < kDraws && Clock::now() < until;) {
    draw(lab, fabric, kind, random, heard, draws);
    // What came of the last one is over before the next begins.
    for (int i = 0; i < 60 && !heard.open.empty(); ++i) {
      std::this_thread::sleep_for(500ms);
      heard.take(lab.events());
    }
  }
  WEFT_CHECK(lab.end().status == 0);
  figures.add("lab_" + kind.figure, quantile(draws.seconds, 0.95), kind.target);
  figures.add("lab_" + kind.figure + "_median", median(draws.seconds));
  figures.add("lab_" + kind.figure + "_draws", static_cast<double>(draws.seconds.size()));
  figures.add("lab_" + kind.figure + "_right", static_cast<double>(draws.right));
}

}  // namespace

void measure_lab_down(Figures& figures) {
  measure_kind({"detect_down_s", {"--down"}, "down", "at most 3"}, figures);
}
void measure_lab_loss1(Figures& figures) {
  measure_kind({"detect_loss1_s", {"--loss", "1"}, "loss", "at most 5"}, figures);
}
void measure_lab_loss01(Figures& figures) {
  measure_kind({"detect_loss01_s", {"--loss", "0.1"}, "loss", "at most 30"}, figures);
}

void count_false_incidents_lab(Figures& figures) {
  constexpr auto kHour = 1h;
  WatchedLab lab(std::chrono::duration_cast<std::chrono::seconds>(kHour) + 5min);
  std::this_thread::sleep_for(kHour);
  std::size_t opened = 0;
  for (const Json& event : lab.events()) {
    fmt::print("  {}\n", event.dump());
    opened += event["change"] == "opened" ? 1 : 0;
  }
  const bool healthy = lab.is_healthy();
  WEFT_CHECK(lab.end().status == 0);
  figures.add("false_incidents_lab", static_cast<double>(opened), "0");
  figures.add("healthy_after_the_hour", healthy ? 1 : 0, "1");
}

}  // namespace weft::bench
