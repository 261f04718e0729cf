// PathMapping: maps the paths of a watched fabric and plans standing probes over them, in a thread of its
// own: it waits for agents or switches and their answers, and a watcher does not. MappingTimes: when.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "probes/run/watch_run.hpp"

namespace weft::run {

/// Hosts whose agents said that they are there, by name.
using HeardHosts = std::set<std::string>;

/// By options.read_plan for the NICs of the hosts that were heard; without it by a run of the agents of the
/// place. Blocks. Errors: those of read_plan, absent (no host was heard); those of connect_nats and
/// coordinate.
Result<MappedPlan> map_paths(const WatchPlace& place, const WatchOptions& options, const HeardHosts& heard,
                             const std::stop_token& stop);

class PathMapping {
 public:
  using Map = std::function<Result<MappedPlan>(const std::stop_token&)>;
  /// Starts at once; what `map` refers to outlives it.
  explicit PathMapping(Map map)
      : map_(std::move(map)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  /// Absent while it runs; asked once more, nothing.
  std::optional<Result<MappedPlan>> take();

 private:
  void run(const std::stop_token& stop);

  const Map map_;
  std::optional<Result<MappedPlan>> made_;
  std::atomic<bool> is_over_ = false;
  std::jthread thread_;
};

/// When paths are mapped: where something asks for it after a pause, and by itself, for routes move without a
/// loss.
class MappingTimes {
 public:
  bool is_due(Nanoseconds now) const { return now >= next_; }
  void ask(Nanoseconds at) { next_ = at; }
  void begin(Nanoseconds now);
  void end(Nanoseconds now) { ended_ = now; }
  /// As one that began and ended now, and that is to be checked soon.
  void take_over(Nanoseconds now);
  void plan_next();
  void retry(Nanoseconds now);
  /// Routes or incidents ask for one.
  void ask_after_pause();
  /// NICs that came late ask for one.
  void ask_soon();
  /// The last, or the one that is under way.
  Nanoseconds began() const { return began_; }

 private:
  Nanoseconds next_ = Nanoseconds::max();
  Nanoseconds began_{};
  Nanoseconds ended_{};
};

}  // namespace weft::run
