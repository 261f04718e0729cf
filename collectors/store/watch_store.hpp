// WatchStore: what a watcher keeps, in one SQLite file for each fabric and watcher. Events, incidents and
// offences are a projection of the event stream and can be made anew from it; hosts, plans and the history of
// channels are of this watcher alone. One thread; no call takes longer than about a second.
// Call order: open, apply() what the stream has behind last_sequence(), then note() and apply() as things
// come.
#pragma once

#include <string>
#include <vector>

#include "collectors/store/channel_recorder.hpp"
#include "collectors/store/event_projection.hpp"

namespace weft::store {

class WatchStore {
 public:
  /// For the watcher, which alone writes. Makes the file, or migrates an older one. Errors: conflict (it is
  /// of another fabric, or of a newer weft), invalid_input (damaged), absent (the disk is full), permission.
  /// `fabric` must outlive it.
  static Result<WatchStore> open(const std::filesystem::path& path, const Fabric& fabric);

  Result<std::uint64_t> last_sequence() { return store::last_sequence(database_); }
  Result<std::uint64_t> last_incident() { return store::last_incident(database_); }
  /// An event that is in it already changes nothing. What cannot be written now waits and is written before
  /// the next, also where that is none; above ten thousand none is taken any more: the next watcher reads
  /// them from the stream.
  Result<Applied> apply(std::span<const watch::StoredEvent> events);

  /// Each second or so: keeps what is to be kept of it, every ten seconds; sums up and forgets by itself.
  /// False: nothing was due.
  Result<bool> note(const watch::WatchState& state);

  Database& database() { return database_; }

 private:
  WatchStore(Database database, const Fabric& fabric, std::int64_t layout)
      : database_(std::move(database)), fabric_(&fabric), layout_(layout) {}
  Result<void> keep_hosts(const watch::WatchState& state);

  Database database_;
  const Fabric* fabric_;
  std::int64_t layout_;
  ChannelRecorder recorder_;
  std::vector<watch::StoredEvent> waiting_;  // in order
  bool is_behind_ = false;                   // some were not taken
  std::vector<watch::AgentState> agents_;    // as they are kept
};

/// The file of a watcher that may be running, to read alone.
struct OpenedStore {
  Database database;
  std::string fabric;
};
Result<OpenedStore> open_to_read(const std::filesystem::path& path);

/// The fabric that was watched last, as a fabric file with every node and link. Empty: an older weft wrote
/// it.
Result<std::string> kept_fabric_file(Database& database);

/// A copy of a watcher's database while it runs. `to` must not be there.
Result<void> back_up(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace weft::store
