// Gathering: whom to ask next, and whom to give up, where each of many hosts is asked once and takes as long
// as it likes. So many are asked at once; one that takes long makes room for another, so that all that hang
// cost their limit together, not one after the other. A state machine: the time comes in. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "topology/base/units.hpp"

namespace weft::run {

struct GatherLimits {
  /// A host that has not answered by then is given up.
  Nanoseconds each = std::chrono::seconds(20);
  /// Until then a host counts as one of those asked at once: six times the median of a login.
  Nanoseconds patience = std::chrono::seconds(3);
  std::size_t at_once = 128;
  /// Under way in all: each has three file descriptors, of the usual 1024.
  std::size_t at_most = 256;
};

class Gathering {
 public:
  Gathering(std::size_t hosts, const GatherLimits& limits) : hosts_(hosts), limits_(limits) {}

  /// The host to ask now; absent: enough are under way, or all were asked.
  std::optional<std::size_t> next(Nanoseconds now);
  void ended(std::size_t host);
  /// Those whose time is over; they have ended by that.
  std::vector<std::size_t> overdue(Nanoseconds now);
  /// When next() or overdue() may have something new though nobody ended.
  Nanoseconds wakes_at(Nanoseconds now) const;
  bool done() const { return asked_ == hosts_ && under_way_.empty(); }
  std::size_t done_count() const { return asked_ - under_way_.size(); }

 private:
  struct Asked {
    std::size_t host;
    Nanoseconds since;
  };
  std::size_t hosts_;
  GatherLimits limits_;
  std::size_t asked_ = 0;
  std::vector<Asked> under_way_;  // in the order in which they were asked
};

}  // namespace weft::run
