// LatestState: what a watcher tells once a second, kept for the page's threads. Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

#include "collectors/web/page_source.hpp"

namespace weft::web {

class LatestState final : public LiveSource {
 public:
  using PathsOver = std::function<Result<std::vector<CrossingPath>>(LinkId link, std::size_t most)>;

  /// `paths` is called by the page's threads; without it no path is known.
  explicit LatestState(std::shared_ptr<const Fabric> fabric, PathsOver paths = nullptr)
      : view_{std::move(fabric), nullptr}, paths_(std::move(paths)) {}

  void set(watch::WatchState state) {
    auto latest = std::make_shared<const watch::WatchState>(std::move(state));
    const std::scoped_lock lock(mutex_);
    view_.state = std::move(latest);
  }

  LiveView view() const override {
    const std::scoped_lock lock(mutex_);
    return view_;
  }
  Result<std::vector<CrossingPath>> paths_over(LinkId link, std::size_t most) const override {
    if (!paths_) return std::vector<CrossingPath>();
    return paths_(link, most);
  }

 private:
  mutable std::mutex mutex_;
  LiveView view_;
  PathsOver paths_;
};

}  // namespace weft::web
