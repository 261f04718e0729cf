#include "probes/run/watch_run.hpp"

#include <deque>
#include <map>
#include <set>

#include "collectors/bus/watch_link.hpp"
#include "probes/run/engines.hpp"
#include "probes/run/path_mapping.hpp"
#include "probes/watch/assignment_json.hpp"
#include "probes/watch/watch_protocol.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/model/fabric.hpp"

namespace weft::run {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr auto kLeaseTime = seconds(3);
constexpr auto kRenewal = seconds(1);
constexpr auto kFetchWait = milliseconds(100);  // also how late a tick may be
constexpr std::size_t kWindowsAtOnce = 4096;
constexpr std::size_t kEventsAtOnce = 1024;
constexpr auto kStateInterval = seconds(1);
constexpr auto kMutesInterval = seconds(2);
constexpr auto kMappingRetry = seconds(5);
constexpr auto kMappingPause = seconds(10);  // before one that routes, incidents or late NICs ask for
/// Paths are mapped again by themselves, for routes move without a loss: a twentieth of the time at most.
constexpr auto kMappingInterval = seconds(60);
constexpr int kMappingShare = 20;
constexpr const char* kPlanKey = "plan";

Nanoseconds steady_now() { return Clock::now().time_since_epoch(); }
Nanoseconds wall_now() { return std::chrono::system_clock::now().time_since_epoch(); }

/// Something is due again and again; at once at first.
class Every {
 public:
  explicit Every(Nanoseconds interval) : interval_(interval) {}
  bool is_due(Nanoseconds now) {
    if (last_ && now - *last_ < interval_) return false;
    last_ = now;
    return true;
  }

 private:
  Nanoseconds interval_;
  std::optional<Nanoseconds> last_;
};

class WatchRun {
 public:
  WatchRun(const WatchPlace& place, const WatchOptions& options, WatchListener& listener, bus::WatchLink link)
      : place_(place), options_(options), listener_(listener), link_(std::move(link)) {}

  Result<void> run(const session::WatchAgents& tend, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (tend) {
        for (const auto& gone : tend()) {
          listener_.on_note(fmt::format("{}: {}", gone.host, gone.why));
          gone_.insert(gone.host);
        }
        if (gone_.size() >= place_.hosts.size()) return fail(ErrorKind::absent, "no agent is left");
      }
      renew_lease();
      if (active_) {
        lead();
      } else {
        follow();
        std::this_thread::sleep_for(kFetchWait);
      }
      tell_state();
      options_.went_round();
    }
    mapping_.reset();
    if (active_) static_cast<void>(link_.lease->release());
    return {};
  }

 private:
  /// What it holds counts by this process's own steady clock from before it was asked for.
  void renew_lease() {
    const auto now = steady_now();
    if (renewal_.is_due(now)) {
      const auto held = link_.lease->hold(holder_);
      if (held && *held) held_until_ = now + kLeaseTime;
      if (held && !*held) held_until_ = Nanoseconds(0);
    }
    const bool holds = steady_now() < held_until_;
    if (holds && !active_) take_over();
    if (!holds && active_) step_down("the lease is another watcher's, or the bus is away");
  }

  void take_over() {
    const auto known = last_sequence_;
    if (!follow()) return;  // the events are not all read: next time
    active_ = true;
    if (watcher_ && known == last_sequence_) return;  // nobody wrote meanwhile: it goes on
    pending_.clear();
    auto options = options_.watcher;
    options.secret = new_secret();
    watcher_.emplace(place_.fabric, options);
    std::vector<IncidentEvent> last;
    for (const auto& [id, event] : last_events_) last.push_back(event);
    watcher_->restore(last, steady_now());
    next_mapping_ = steady_now();
    listener_.on_note(fmt::format("watching {} as the active watcher", place_.fabric.name()));
  }

  void step_down(std::string_view why) {
    active_ = false;
    held_until_ = Nanoseconds(0);
    listener_.on_note(fmt::format("no longer the active watcher: {}", why));
  }

  /// Reads the events of all watchers up to now; false: they cannot be read.
  bool follow() {
    for (;;) {
      const auto read = link_.events->read_behind(last_sequence_, kEventsAtOnce);
      if (!read) return false;
      if (read->empty()) return true;
      for (const watch::StoredEvent& stored : *read) note_stored(stored);
      options_.went_round();  // a history of years takes its time
    }
  }

  void note_stored(const watch::StoredEvent& stored) {
    last_sequence_ = stored.sequence;
    sequences_[stored.incident] = stored.sequence;
    const auto report = files::parse_event(stored.text, "an event of the bus");
    const auto event = report ? files::event_of(place_.fabric, *report)
                              : Result<IncidentEvent>(tl::unexpected(report.error()));
    if (!event) return listener_.on_note(event.error().message);
    last_events_.insert_or_assign(stored.incident, *event);
    listener_.on_event(*event, stored, true);
  }

  void lead() {
    map_paths();
    hear_agents();
    read_mutes();
    take_windows();
    const auto began = Clock::now();
    const auto actions = watcher_->tick(steady_now(), wall_now());
    if (const auto took = Clock::now() - began; took > milliseconds(1)) look_took_ = took;
    for (const auto& [host, assignment] : actions.assignments)
      static_cast<void>(link_.feed->send_to(host, to_json_text(assignment)));
    // Who is missing in a plan that is being made says so again.
    if (actions.map_again && !mapping_)
      next_mapping_ = std::min(next_mapping_, last_mapping_ + kMappingPause);
    pending_.insert(pending_.end(), actions.events.begin(), actions.events.end());
    listener_.on_pass(*watcher_, steady_now());
    write_events();
  }

  void map_paths() {
    if (mapping_) {
      auto mapped = mapping_->take();
      if (!mapped) return;
      mapping_.reset();
      last_mapping_ = steady_now();
      if (!*mapped) {
        listener_.on_note(fmt::format("paths could not be mapped: {}", mapped->error().message));
        next_mapping_ = steady_now() + kMappingRetry;
      } else {
        adopt(std::move(**mapped));
      }
    } else if (steady_now() >= next_mapping_) {
      if (watcher_->plan() == nullptr) listener_.on_note("mapping paths");
      next_mapping_ = Nanoseconds::max();
      mapping_began_ = steady_now();
      mapping_.emplace(place_, options_);
    }
  }

  void adopt(MappedPlan mapped) {
    next_mapping_ = last_mapping_ +
                    std::max<Nanoseconds>(kMappingInterval, kMappingShare * (last_mapping_ - mapping_began_));
    const bool is_same = watcher_->plan() != nullptr && same_ways(*watcher_->plan(), mapped.plan);
    if (is_same || take_up(std::move(mapped))) watcher_->paths_known(mapping_began_);
  }

  /// False: its version could not be agreed upon.
  bool take_up(MappedPlan mapped) {
    const auto version = next_version();
    if (!version) {
      next_mapping_ = steady_now() + kMappingRetry;
      listener_.on_note(version.error().message);
      return false;
    }
    listener_.on_note(fmt::format(
        "plan {}: {} streams from {} NICs; {} channels are crossed by none, {} by few{}", version->value(),
        mapped.plan.rows, mapped.plan.nics.size(), mapped.plan.uncovered.size(), mapped.plan.thin.size(),
        mapped.left_out > 0 ? fmt::format("; {} NICs take no part", mapped.left_out) : ""));
    watcher_->learned(std::move(mapped.plan), *version, ends(), steady_now());
    return true;
  }

  /// Above all that any watcher of this fabric has given.
  Result<watch::PlanVersion> next_version() {
    WEFT_TRY(const auto stored, link_.values->get(kPlanKey));
    const auto next = static_cast<std::uint32_t>(std::strtoul(stored.text.c_str(), nullptr, 10) + 1);
    WEFT_TRY_VOID(link_.values->put(kPlanKey, stored.revision, std::to_string(next)));
    return watch::PlanVersion(next);
  }

  watch::StandingEnds ends() const {
    watch::StandingEnds all;
    for (const datapath::RunNic& nic : place_.nics) all[nic.nic].at = nic;
    for (const session::ExpectedHost& host : place_.hosts)
      for (const session::NicAssignment& nic : host.nics) all[nic.nic].interface = nic.interface;
    return all;
  }

  void hear_agents() {
    for (const watch::AgentWord& word : link_.feed->words()) {
      const auto speech = watch::read_speech(word.text);
      if (!speech) {
        watcher_->refuse(word.host);
      } else if (const auto* bye = std::get_if<watch::AgentBye>(&*speech)) {
        watcher_->bye(word.host, bye->planned, steady_now());
      } else if (const auto& hello = std::get<watch::AgentHello>(*speech); !watch::speaks(hello.protocol)) {
        note_stranger(word.host, hello);
      } else {
        watcher_->hello(word.host, hello.plan, hello.epoch, steady_now());
      }
    }
  }

  /// It gets no work: it would not understand it, or this watcher not what it tells.
  void note_stranger(const std::string& host, const watch::AgentHello& hello) {
    if (!strangers_.insert(host).second) return;
    listener_.on_note(
        fmt::format("{}: its weft {} speaks protocol {}, this watcher {} and the one before: upgrade {}",
                    host, hello.version, hello.protocol, watch::kWatchProtocol,
                    hello.protocol > watch::kWatchProtocol ? "the watcher" : "the agent"));
  }

  void read_mutes() {
    if (!mutes_.is_due(steady_now())) return;
    const auto stored = link_.values->get(kMutesKey);
    if (!stored || stored->revision == mutes_revision_) return;
    mutes_revision_ = stored->revision;
    const auto read = files::parse_mutes(place_.fabric, stored->text, "the list of mutes");
    if (!read) return listener_.on_note(read.error().message);
    for (const std::string& name : read->unknown)
      listener_.on_note(fmt::format("a mute names {}, which the fabric does not have", name));
    watcher_->mute(read->mutes);
  }

  void take_windows() {
    const auto received = link_.feed->fetch(kWindowsAtOnce, kFetchWait);
    if (!received)
      return std::this_thread::sleep_for(kFetchWait);  // the bus is away: it comes back by itself
    for (const watch::ReceivedWindow& one : *received) {
      const auto window = watch::decode_window(one.bytes);
      if (window) {
        watcher_->take(one.host, *window, steady_now());
      } else {
        watcher_->refuse(one.host);
      }
    }
  }

  /// In order; what the bus does not take now waits.
  void write_events() {
    while (!pending_.empty()) {
      // A process that was stopped meanwhile has lost its lease: whoever has it now writes.
      if (steady_now() >= held_until_) return step_down("its lease ran out");
      const IncidentEvent& event = pending_.front();
      const auto id = event.incident.id.value();
      watch::StoredEvent stored{id, 0, files::event_line(files::report_of(place_.fabric, event))};
      const auto written = link_.events->append(id, sequences_[id], stored.text);
      if (!written && written.error().kind == ErrorKind::conflict) {
        watcher_.reset();
        return step_down("another watcher wrote events meanwhile");
      }
      if (!written) return;
      stored.sequence = sequences_[id] = *written;
      last_sequence_ = std::max(last_sequence_, *written);
      last_events_.insert_or_assign(id, event);
      listener_.on_event(event, stored, false);
      pending_.pop_front();
    }
  }

  /// Of the active watcher; and once more when it is so no longer.
  void tell_state() {
    if (!watcher_ || !(active_ || was_active_) || !state_.is_due(steady_now())) return;
    was_active_ = active_;
    listener_.on_state(watcher_->state(wall_now(), active_, look_took_));
  }

  const WatchPlace& place_;
  const WatchOptions& options_;
  WatchListener& listener_;
  bus::WatchLink link_;
  const std::string holder_ = fmt::format("{}:{:x}", options_.name, new_run_secrets().run.value());
  bool active_ = false;
  bool was_active_ = false;  // when its state was told last
  Nanoseconds held_until_{};
  Nanoseconds next_mapping_ = Nanoseconds::max();
  Nanoseconds mapping_began_{};
  Nanoseconds last_mapping_{};
  Nanoseconds look_took_{};
  Every renewal_{kRenewal};
  Every state_{kStateInterval};
  Every mutes_{kMutesInterval};
  std::uint64_t mutes_revision_ = 0;
  std::uint64_t last_sequence_ = 0;                     // of the events known
  std::map<std::uint64_t, std::uint64_t> sequences_;    // by incident, of its last event
  std::map<std::uint64_t, IncidentEvent> last_events_;  // by incident
  std::set<std::string> strangers_;                     // agents of another protocol, that were told of
  std::set<std::string> gone_;                          // agents that this process started
  std::deque<IncidentEvent> pending_;                   // not written yet
  std::optional<watch::Watcher> watcher_;
  std::optional<PathMapping> mapping_;
};

}  // namespace

Result<void> run_watch(const WatchPlace& place, const WatchOptions& options, WatchListener& listener,
                       const session::WatchAgents& tend, std::stop_token stop) {
  WEFT_TRY(auto link, bus::connect_watch_link(
                          place.bus, place.fabric.name(),
                          {.name = options.name, .lease_time = kLeaseTime, .limits = options.streams}));
  listener.on_shared(link.values);
  return WatchRun(place, options, listener, std::move(link)).run(tend, stop);
}

}  // namespace weft::run
