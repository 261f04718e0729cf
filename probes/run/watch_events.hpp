// WatchEvents: the events of incidents that a watcher knows: those of all watchers, as far as they were read,
// and its own that the bus has not taken yet. One thread.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "probes/run/watch_run.hpp"
#include "probes/watch/seams.hpp"

namespace weft::run {

class WatchEvents {
 public:
  /// All of it outlives this.
  WatchEvents(const Fabric& fabric, watch::EventLog& log, WatchListener& listener)
      : fabric_(fabric), log_(log), listener_(listener) {}

  /// Reads those of all watchers up to now; after each part of them `went_round` is called. False: they
  /// cannot be read.
  bool follow(const std::function<void()>& went_round);
  /// The last of each incident.
  std::vector<IncidentEvent> last() const;
  /// Of the events known, in the stream.
  std::uint64_t last_sequence() const { return last_sequence_; }

  void add(const std::vector<IncidentEvent>& events) {
    unwritten_.insert(unwritten_.end(), events.begin(), events.end());
  }
  void drop_unwritten() { unwritten_.clear(); }
  enum class Written { as_far_as_it_goes, not_allowed, refused };
  /// In order; what the bus does not take now waits. It ends where `may_write` no longer holds (not_allowed)
  /// and where another watcher wrote meanwhile (refused).
  Written write(const std::function<bool()>& may_write);

 private:
  void note(const watch::StoredEvent& stored);

  const Fabric& fabric_;
  watch::EventLog& log_;
  WatchListener& listener_;
  std::uint64_t last_sequence_ = 0;
  std::map<std::uint64_t, std::uint64_t> sequences_;    // by incident, of its last event
  std::map<std::uint64_t, IncidentEvent> last_events_;  // by incident
  std::deque<IncidentEvent> unwritten_;
};

}  // namespace weft::run
