// StartWindow: how many agents are being started at a time. A login costs this machine some 10 ms of
// computing and its host's name servers a question: a few at a time come sooner than thousands at once, which
// time out for want of a processor. Pure.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "topology/base/units.hpp"

namespace weft::run {

class StartWindow {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// At most `most` are on their way; one that has been for longer than `patience` hangs and counts no more.
  explicit StartWindow(std::size_t most = 128, Nanoseconds patience = std::chrono::seconds(5))
      : most_(most), patience_(patience) {}

  void note_start(const std::string& host, TimePoint now) { on_their_way_[host] = now; }
  /// How many more may be started, after those that `is_awaited` no longer have come or failed.
  std::size_t room(TimePoint now, const std::function<bool(const std::string&)>& is_awaited);

 private:
  std::size_t most_;
  Nanoseconds patience_;
  std::map<std::string, TimePoint> on_their_way_;
};

}  // namespace weft::run
