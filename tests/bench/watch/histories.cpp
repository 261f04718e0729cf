// Drawn histories: shapes, one or two faults that may flap, and a watcher that is stopped or a server that is
// away for a while; the incidents are held against what was drawn.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "tests/bench/watch/pieces.hpp"
#include "tests/support/standing_fleet.hpp"
#include "topology/model/clos.hpp"

namespace weft::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kLength = 300;  // seconds of a history

enum class Trouble { none, watcher_stopped, server_away };

class History {
 public:
  explicit History(std::uint64_t seed)
      : random_(seed * 7919), fabric_(draw_fabric()), run_(fabric_, {.seed = seed, .background = 1e-6}) {
    faults_in_all_ = random_() % 4 == 0 ? 2 : 1;
    for (int i = 0; i < faults_in_all_; ++i) draw_fault();
    trouble_ = static_cast<Trouble>(random_() % 3);
    from_ = as_time(between(15, 110)), until_ = from_ + as_time(between(2, 40));
    for (int second = 0; second < kLength; ++second) go_on();
  }

  /// What is wrong with the incidents; empty: nothing.
  std::set<std::string> wrong() const {
    std::set<std::string> all;
    std::set<IncidentId> opened;
    std::map<IncidentId, int> changed;
    for (const IncidentEvent& event : events_) {
      judge(event, all);
      if (event.change == IncidentChange::opened) opened.insert(event.incident.id);
      if (event.change == IncidentChange::changed && ++changed[event.incident.id] == 5)
        all.insert("changed five times");
    }
    if (static_cast<int>(opened.size()) > faults_in_all_) all.insert("more incidents than faults");
    if (opened.empty()) all.insert("missed");
    if (healthy_) all.insert("healthy while it is bad");
    for (const Incident& incident : run_.state().incidents)
      if (!flaps_ || incident.state != IncidentState::recovering) all.insert("not over");
    return all;
  }

 private:
  double between(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }
  static Nanoseconds as_time(double in_seconds) {
    return Nanoseconds(static_cast<std::int64_t>(in_seconds * 1e9));
  }

  Fabric draw_fabric() {
    static const std::vector<ClosSpec> shapes{
        {.leaves = 2, .spines = 2, .hosts_per_leaf = 2}, {.leaves = 2, .spines = 4, .hosts_per_leaf = 2},
        {.leaves = 3, .spines = 2, .hosts_per_leaf = 2}, {.leaves = 4, .spines = 4, .hosts_per_leaf = 4},
        {.leaves = 2, .spines = 8, .hosts_per_leaf = 4}, {.leaves = 4, .spines = 2, .hosts_per_leaf = 1},
        {.leaves = 6, .spines = 3, .hosts_per_leaf = 2}};
    return *make_clos(shapes[random_() % shapes.size()]);
  }

  /// Of a cable or of all of a spine's, one way or both.
  void draw_fault() {
    const Nanoseconds from = as_time(between(12, 20)), until = from + as_time(between(20, 90));
    FaultSpec fault;
    fault.link = LinkId(static_cast<std::uint32_t>(random_() % fabric_.link_count()));
    if (random_() % 2 == 0)
      fault.down = true;
    else
      fault.loss = Fraction(std::exp(between(std::log(0.01), std::log(0.5))));
    std::vector<LinkId> links{fault.link};
    if (random_() % 8 == 0) {
      links.clear();
      for (const ChannelId channel : fabric_.channels_from(*fabric_.find_node("spine1")))
        links.push_back(Fabric::link_of(channel));
    } else {
      if (random_() % 2 == 0)
        fault.channel = random_() % 2 == 0 ? Fabric::a_to_b(fault.link) : Fabric::b_to_a(fault.link);
      if (random_() % 6 == 0) fault.on = fault.off = seconds(3 + random_() % 17), flaps_ = true;
    }
    for (const LinkId link : links) {
      fault.link = link;
      faults_.push_back({fault, from, until});
      run_.fleet().put(faults_.back());
    }
  }

  Nanoseconds arrival_of(const SentWindow& sent) {
    if (trouble_ != Trouble::server_away) return sent.arrival;
    auto back = back_.find(sent.host);
    if (back == back_.end()) {
      if (sent.arrival < from_ || sent.arrival >= until_) return sent.arrival;
      back = back_.emplace(sent.host, until_ + as_time(between(0.05, 3))).first;
    }
    return std::max(sent.arrival, back->second);
  }

  void go_on() {
    const Nanoseconds start = run_.now();
    for (SentWindow& sent : run_.fleet().second()) {
      sent.arrival = arrival_of(sent);
      held_.push_back(std::move(sent));
    }
    std::ranges::stable_sort(held_, {}, &SentWindow::arrival);
    for (int quarter = 1; quarter <= 4; ++quarter) {
      const Nanoseconds now = start + milliseconds(250) * quarter;
      if (trouble_ == Trouble::watcher_stopped && now >= from_ && now < until_) continue;
      const auto due = std::ranges::upper_bound(held_, now, {}, &SentWindow::arrival);
      for (auto sent = held_.begin(); sent != due; ++sent)
        (void)run_.watcher().take(fabric_.name_of(sent->host), sent->window,
                                  std::max(sent->arrival, now - milliseconds(250)));
      held_.erase(held_.begin(), due);
      const auto actions = run_.watcher().tick(now, now);
      events_.insert(events_.end(), actions.events.begin(), actions.events.end());
    }
    look_at_verdict();
  }

  /// Ten seconds show a loss of 1 %: from then on nobody may be told that all is well.
  void look_at_verdict() {
    const auto is_bad = [&](const FleetFault& fault) {
      return run_.now() > fault.from + seconds(10) && run_.now() < fault.until;
    };
    if (std::ranges::any_of(faults_, is_bad) && run_.state().verdict == Verdict::healthy) healthy_ = true;
  }

  void judge(const IncidentEvent& event, std::set<std::string>& all) const {
    const Incident& incident = event.incident;
    bool is_true = false, is_bad_now = false;
    for (const ChannelId channel : watch::channels_at(fabric_, incident.place))
      for (const FleetFault& fault : faults_) {
        if (fault.fault.link != Fabric::link_of(channel)) continue;
        is_true = true;
        is_bad_now |= event.at >= fault.from && event.at < fault.until;
      }
    if (incident.opened && !is_true) all.insert("false incident");
    if (incident.opened && incident.cause != Cause::loss && incident.cause != Cause::down)
      all.insert("wrong cause");
    if (incident.opened && !incident.place.nodes.empty() && faults_.size() <= 2)
      all.insert("a cable told as a node");
    if (flaps_) return;
    if (is_bad_now && event.change == IncidentChange::recovering) all.insert("recovers while it is bad");
    if (event.change == IncidentChange::came_back) all.insert("comes back");
  }

  std::mt19937_64 random_;
  Fabric fabric_;
  FleetRun run_;
  std::vector<FleetFault> faults_;  // of each link
  int faults_in_all_ = 0;
  bool flaps_ = false;
  bool healthy_ = false;  // was said while it was bad
  Trouble trouble_ = Trouble::none;
  Nanoseconds from_{}, until_{};  // of the trouble
  std::map<NodeId, Nanoseconds> back_;
  std::vector<SentWindow> held_;
  std::vector<IncidentEvent> events_;
};

}  // namespace

void measure_incident_histories(Figures& figures) {
  constexpr int kHistories = 300;
  std::map<std::string, int> wrong;
  int right = 0;
  for (int seed = 1; seed <= kHistories; ++seed) {
    const auto found = History(static_cast<std::uint64_t>(seed)).wrong();
    right += found.empty() ? 1 : 0;
    for (const std::string& one : found) ++wrong[one];
    if (!found.empty()) fmt::print("  seed {}: {}\n", seed, fmt::join(found, ", "));
  }
  for (const auto& [what, count] : wrong) fmt::print("  {}: {}\n", what, count);
  figures.add("incident_histories_right", 100.0 * right / kHistories);
}

}  // namespace weft::bench
