// Watcher: puts plan, sums, looks and incidents together. Values in, decisions out: it knows no clock, bus or
// file, and whoever drives it calls take() for each window, tick() some times a second, and does what tick()
// says. Pure; not thread-safe. `now` is of a steady clock, `wall` of the wall clock (for people). The fabric
// must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "probes/watch/channel_sums.hpp"
#include "probes/watch/incident_book.hpp"
#include "probes/watch/look.hpp"
#include "probes/watch/path_sums.hpp"
#include "probes/watch/route_doubt.hpp"
#include "probes/watch/streams_over.hpp"
#include "probes/watch/watch_state.hpp"
#include "topology/model/tolerance.hpp"

namespace weft::watch {

struct WatcherOptions {
  Tolerance tolerance;
  BookOptions book;
  packet::Secret secret{};  // drawn for each watcher: the keys of all probes follow from it
  Nanoseconds key_time = std::chrono::hours(1);
  /// By which traced hops are known; null: routes are not checked between mappings. Outlives the watcher.
  const AddressBook* addresses = nullptr;
};

/// How long a look looks back, and how often.
struct Scale {
  Nanoseconds span;
  Nanoseconds every;
};
const std::vector<Scale>& scales();

struct WatchActions {
  std::vector<std::pair<std::string, Assignment>> assignments;  // by host name
  std::vector<IncidentEvent> events;                            // to append, in order
  bool map_again = false;                          // routes may have changed, or NICs came that no plan has
  std::optional<MovedRoute> moved = std::nullopt;  // the first that was seen since paths were mapped
  bool ignores_traces = false;                     // from now on, for an hour (RouteDoubt::gave_up)
};

class Watcher {
 public:
  Watcher(const Fabric& fabric, WatcherOptions options);

  /// The last event of each incident that is not over, as an earlier watcher wrote them. New incidents are
  /// numbered above `last_id`.
  void restore(std::span<const IncidentEvent> last, std::uint64_t last_id, Nanoseconds now);
  void mute(Mutes mutes) { book_.mute(std::move(mutes)); }

  /// A plan, from now on. `version` is above all before. Windows of the plan before it count for a while:
  /// what was probed under it was probed. `ends`: of all its NICs.
  void learned(StandingPlan plan, PlanVersion version, StandingEnds ends, Nanoseconds now);

  /// Paths were mapped, from `since` on, and are those of the plan.
  void paths_known(Nanoseconds since);
  /// Null: there is none yet.
  const StandingPlan* plan() const { return era_ ? &era_->plan : nullptr; }

  /// An agent said that it is there, with the plan and the epoch that it has: it is told what to probe where
  /// these are not those of now.
  void hello(std::string_view host, PlanVersion plan, RunId epoch, Nanoseconds now);
  /// What it said of its spool.
  void note_spool(std::string_view host, std::uint64_t waiting, std::uint64_t dropped);
  /// Its NICs go by these queue pairs now: whoever probes them, or is probed by them, is told.
  void pairs_are(const std::map<PortId, packet::UdPair>& pairs);
  /// It said that it goes. Planned: nothing is at fault.
  void bye(std::string_view host, bool planned, Nanoseconds now);

  /// A window that `host` alone can have sent.
  Taken take(std::string_view host, const Window& window, Nanoseconds arrival);
  /// A window of it that could not be read.
  void refuse(std::string_view host);

  WatchActions tick(Nanoseconds now, Nanoseconds wall);
  /// `look_took`: how long the last tick that looked took, as its driver measured.
  WatchState state(Nanoseconds wall, bool active, Nanoseconds look_took) const;
  /// Of the last minute; empty while there is no plan.
  std::vector<StreamOver> streams_over(LinkId link, Nanoseconds now, std::size_t most) const;

 private:
  struct Agent {
    AgentState told;
    bool wants_assignment = false;
    bool wants_keys = false;                                // it has the assignment
    std::optional<Nanoseconds> heard = std::nullopt;        // arrival of its last window
    std::optional<Nanoseconds> sent_until = std::nullopt;   // latest end of what it told
    std::optional<Nanoseconds> unreachable = std::nullopt;  // when a look last found it so
    std::optional<std::uint64_t> boot = std::nullopt;       // of its last window
    std::optional<Nanoseconds> gone = std::nullopt;  // when it was last, as it had said, or between two lives
    std::optional<Nanoseconds> restarted = std::nullopt;  // when its last life began, where it had one before
    bool returns = false;                                 // it is back from there, and told nothing yet
  };
  /// A plan with what was seen under it.
  struct Era {
    StandingPlan plan;
    PlanVersion version;
    StandingEnds ends;
    Nanoseconds since{};
    PathSums sums;
    Looker looker;
    RouteChecks routes;
    std::optional<Nanoseconds> doubted_since = std::nullopt;  // routes may be others than the plan's
    Nanoseconds trusted_from{};  // when a mapping found them to be the plan's: a look goes back no further
    std::vector<Nanoseconds> looked;  // by scale
    std::vector<bool> unexplained;    // by scale: its last look found losses that nothing explains
    Era(const Fabric& fabric, const WatcherOptions& options, StandingPlan its, PlanVersion number,
        StandingEnds where, Nanoseconds now);
  };

  Agent* agent_of(std::string_view host);
  std::vector<HostNews> news(Nanoseconds now) const;
  void count_seconds(Nanoseconds now, Nanoseconds wall);
  std::vector<Nanoseconds> told_until() const;
  void look(Era& era, Nanoseconds now, Nanoseconds wall);
  std::vector<ChannelId> told_of(Nanoseconds from, bool unreachable_too) const;
  std::optional<Nanoseconds> most_back_since(Nanoseconds from) const;
  void assign(WatchActions& actions, Nanoseconds now);
  void check_routes(NodeId host, const Window& window, Nanoseconds until);
  /// Too much of what crossed its cables is excused by its stalls.
  bool is_hidden(NodeId host) const;
  bool is_doubtful(const Era& era, const LookFinding& finding, Nanoseconds now) const;
  void note_presence(Nanoseconds now);
  bool is_unexplained() const;
  Verdict verdict_of(const WatchState& state) const;

  const Fabric* fabric_;
  WatcherOptions options_;
  std::vector<Agent> agents_;  // by node
  std::unique_ptr<Era> era_;
  std::unique_ptr<Era> before_;  // while windows of it still come
  ChannelSums channels_;
  IncidentBook book_;
  KeyEpochs keys_;
  std::optional<Nanoseconds> counted_until_;
  std::optional<Nanoseconds> most_quiet_since_;    // agents; absent: most are heard
  Nanoseconds bus_away_ = -std::chrono::hours(1);  // when it last was
  RouteDoubt routes_;
  bool are_paths_known_ = false;     // the plan is of a mapping of this watcher's
  std::optional<Nanoseconds> held_;  // when a finding was last held back for a doubt
  bool was_held_ = false;            // lately
  std::uint64_t windows_ = 0, path_windows_ = 0, version_ = 0;
  bool map_again_ = false;
  bool is_restless_ = false;  // an agent began a new life lately
};

}  // namespace weft::watch
