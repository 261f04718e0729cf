// WatchLoop: a watcher at work, turn by turn: the pure Watcher with a bus, clocks and what maps paths. It is
// the active one of several while it holds the lease; else it follows the events of the active one, and takes
// over with its incidents and its plan. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "collectors/bus/watch_link.hpp"
#include "probes/run/path_mapping.hpp"
#include "probes/run/shared_plan.hpp"
#include "probes/run/watch_events.hpp"
#include "probes/watch/agent_engines.hpp"
#include "probes/watch/assignment_json.hpp"

namespace weft::run {

inline constexpr Nanoseconds kLeaseTime = std::chrono::seconds(3);

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

/// What it stands on; a test has its own.
struct WatchParts {
  bus::WatchLink link;
  std::function<Result<MappedPlan>(const HeardHosts&, const std::stop_token&)> map;
  std::function<Nanoseconds()> steady;  // never goes back
  std::function<Nanoseconds()> wall;    // what people are told
  /// For windows to come, in one turn; also how late a tick may be.
  Nanoseconds wait = std::chrono::milliseconds(100);
};

class WatchLoop {
 public:
  /// Place, options and listener outlive it.
  WatchLoop(const WatchPlace& place, const WatchOptions& options, WatchListener& listener, WatchParts parts);
  ~WatchLoop();

  /// One turn; waits for parts.wait at most, and for answers of the bus.
  void turn();
  /// Gives up the lease: the next watcher need not wait until it runs out.
  void end();

 private:
  Nanoseconds now() const { return parts_.steady(); }
  void renew_lease();
  void take_over();
  void begin_anew();
  void adopt_shared();
  void step_down(std::string_view why);
  bool follow() { return events_.follow(options_.went_round); }
  void lead();
  void map_paths();
  bool awaits_agents() const;
  void adopt(MappedPlan mapped);
  bool take_up(MappedPlan mapped);
  Result<watch::PlanVersion> next_version();
  watch::StandingEnds ends() const;
  void hear_agents();
  void hear_counters();
  void note_engine(const std::string& host, const watch::AgentHello& hello);
  void note_stranger(const std::string& host, const watch::AgentHello& hello);
  void read_mutes();
  void take_windows();
  void write_events();
  void report_state();

  const WatchPlace& place_;
  const WatchOptions& options_;
  WatchListener& listener_;
  WatchParts parts_;
  SharedPlan shared_;
  watch::AgentEngines engines_;
  const std::string holder_;
  bool active_ = false;
  bool was_active_ = false;  // when its state was told last
  bool stands_by_ = false;   // from its start on, and said so
  Nanoseconds held_until_{};
  Nanoseconds look_took_{};
  Every renewal_, poll_, state_, mutes_;
  std::uint64_t mutes_revision_ = 0;
  watch::PlanVersion version_;  // of the last plan of this watcher
  WatchEvents events_;
  std::uint64_t led_until_ = 0;  // of the events of others, when it was active last
  HeardHosts heard_;
  struct Troubles {
    std::vector<std::string> told;  // as its agent said last
    std::optional<Nanoseconds> reported_at = std::nullopt;
  };
  std::map<std::string, Troubles> troubles_;  // by host
  Nanoseconds gathers_until_{};               // where the plan is of the hosts that were heard
  std::set<std::string> strangers_;           // agents of another protocol, that were told of
  std::optional<watch::Watcher> watcher_;
  MappingTimes mapping_times_;
  std::optional<PathMapping> mapping_;  // last: its thread uses what stands above
};

}  // namespace weft::run
