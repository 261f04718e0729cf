// ChannelRecorder: what a watcher says each second, as buckets of ten seconds to keep. Pure.
#pragma once

#include <optional>

#include "collectors/store/channel_history.hpp"
#include "probes/watch/watch_state.hpp"

namespace weft::store {

class ChannelRecorder {
 public:
  /// The bucket that ended since the last call. Counts begin with the second call; what was counted between
  /// two calls is of the bucket of the later one. A bucket in which the clock was set back ends there.
  std::optional<HistoryBucket> take(const watch::WatchState& state);

 private:
  std::optional<Seconds> begin_;
  std::vector<ChannelSample> sums_;
  std::vector<ChannelSample> before_;  // in all, at the last call
};

}  // namespace weft::store
