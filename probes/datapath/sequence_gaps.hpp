// SequenceGaps: which of a stream's sequence numbers, from 0 to the highest that came, did not come. Memory
// is bounded: a stream with more gaps than a row keeps is given up. Pure.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "topology/findings/loss_runs.hpp"

namespace weft {

class SequenceGaps {
 public:
  /// Each number once.
  void insert(std::uint32_t sequence) {
    if (too_many_) return;
    if (sequence >= next_) {
      if (sequence > next_)
        gaps_.push_back({static_cast<std::uint32_t>(next_), static_cast<std::uint32_t>(sequence - next_)});
      next_ = std::uint64_t{sequence} + 1;
    } else {
      fill(sequence);
    }
    if (gaps_.size() <= kMaxLossRuns) return;
    too_many_ = true;
    gaps_ = {};
  }

  /// Absent: there were too many.
  std::optional<std::vector<LossRun>> runs() const { return too_many_ ? std::nullopt : std::optional(gaps_); }

 private:
  /// A packet that younger ones overtook.
  void fill(std::uint32_t sequence) {
    for (auto gap = gaps_.begin(); gap != gaps_.end(); ++gap) {
      if (sequence < gap->first || sequence - gap->first >= gap->count) continue;
      const LossRun before{gap->first, sequence - gap->first};
      const LossRun behind{sequence + 1, gap->count - before.count - 1};
      gap = gaps_.erase(gap);
      if (behind.count > 0) gap = gaps_.insert(gap, behind);
      if (before.count > 0) gaps_.insert(gap, before);
      return;
    }
  }

  std::vector<LossRun> gaps_;  // ascending
  std::uint64_t next_ = 0;     // one beyond the highest that came
  bool too_many_ = false;
};

}  // namespace weft
