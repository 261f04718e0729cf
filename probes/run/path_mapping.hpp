// PathMapping: a run that maps the paths of a watched fabric and plans standing probes over them, in a thread
// of its own: it waits for agents and their answers, and a watcher does not.
#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include "probes/run/watch_run.hpp"

namespace weft::run {

/// A plan, with the NICs that it is for.
struct MappedPlan {
  watch::StandingPlan plan;
  std::size_t left_out = 0;  // NICs of the fabric that take no part
};

class PathMapping {
 public:
  /// Starts at once; both references outlive it.
  PathMapping(const WatchPlace& place, const WatchOptions& options)
      : place_(place), options_(options), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  /// Absent while it runs; asked once more, nothing.
  std::optional<Result<MappedPlan>> take();

 private:
  void run(const std::stop_token& stop);
  Result<MappedPlan> map(const std::stop_token& stop) const;

  const WatchPlace& place_;
  const WatchOptions& options_;
  std::optional<Result<MappedPlan>> made_;
  std::atomic<bool> is_over_ = false;
  std::jthread thread_;
};

}  // namespace weft::run
