// WatchEvents: the events of incidents that a watcher knows: those of all watchers, as far as they were read,
// and its own that the bus has not taken yet. One thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "probes/run/watch_run.hpp"
#include "probes/watch/seams.hpp"
#include "topology/files/incident_json.hpp"

namespace weft::run {

class WatchEvents {
 public:
  /// All of it outlives this.
  WatchEvents(const Fabric& fabric, watch::EventLog& log, WatchListener& listener)
      : fabric_(fabric), log_(log), listener_(listener) {}

  /// Reads those of all watchers up to now; after each part of them `went_round` is called. False: they
  /// cannot be read.
  bool follow(const std::function<void()>& went_round);
  /// The last of each incident whose place the fabric has.
  std::vector<IncidentEvent> last() const;
  /// The highest number that an incident was given, as far as events and the listener tell.
  std::uint64_t last_incident() const;
  /// How many were read that are not this object's own.
  std::uint64_t of_others() const { return of_others_; }

  void add(const std::vector<IncidentEvent>& events);
  /// Of incidents that are not over and whose place the fabric no longer has: that they are over now.
  void end_what_is_gone(Nanoseconds wall);
  void drop_unwritten() { unwritten_.clear(); }
  enum class Written { as_far_as_it_goes, not_allowed, refused };
  /// In order; what the bus does not take now waits. It ends where `may_write` no longer holds (not_allowed)
  /// and where another watcher wrote meanwhile (refused).
  Written write(const std::function<bool()>& may_write);

 private:
  struct Own {
    files::EventReport report;
    std::optional<IncidentEvent> event;  // absent: the fabric no longer has its place
    std::uint64_t id() const { return report.incident.id.value(); }
  };
  void note(const watch::StoredEvent& stored);
  void tell(const Own& own, const watch::StoredEvent& stored, bool followed);
  Result<std::uint64_t> append(const watch::StoredEvent& event);

  const Fabric& fabric_;
  watch::EventLog& log_;
  WatchListener& listener_;
  std::uint64_t last_sequence_ = 0;
  std::uint64_t of_others_ = 0;
  std::map<std::uint64_t, std::uint64_t> sequences_;    // by incident, of its last event
  std::map<std::uint64_t, IncidentEvent> last_events_;  // by incident
  std::map<std::uint64_t, files::EventReport> gone_;  // by incident, of places that the fabric no longer has
  std::deque<Own> unwritten_;
};

}  // namespace weft::run
