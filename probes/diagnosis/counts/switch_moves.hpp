// Moves of the search that put several faults in the place of others at once: what channels into a switch
// lose may as well be lost by those out of it, by one cable beside them, or by the switch as a whole; and
// what several lose one by one, by a channel that all of it crosses.
#pragma once

#include <algorithm>

#include "probes/diagnosis/counts/count_state.hpp"

namespace weft::diagnosis {

/// Beyond so many faults one is not swapped for another, and it is not asked what could stand in for them.
inline constexpr std::size_t kMaxSwapped = 64;

/// Faults that may be replaced by others: those explain the same. Suspects, ascending; never empty.
struct Exchange {
  std::vector<std::uint32_t> removed, added;
  double less_likely = 0;  // nats, than what was found
  bool operator==(const Exchange&) const = default;
};

/// How good a state of the search is.
struct Worth {
  double probable = 0;  // see CountState::objective
  double fits = 0;      // see CountState::likelihood
};
inline Worth worth_of(CountState& state) {
  const double probable = state.objective();
  return {probable, state.likelihood()};
}
/// Not told apart from `best` by the data and by what is believed before them.
bool is_as_good(const Worth& other, const Worth& best);

class SwitchMoves {
 public:
  explicit SwitchMoves(CountState& state) : state_(state) {}

  /// All of `from` are faulty, and more than one.
  struct Shift {
    const std::vector<std::uint32_t>* from;
    const std::vector<std::uint32_t>* to;
    bool from_has(std::uint32_t s) const { return std::ranges::find(*from, s) != from->end(); }
  };
  using Shifts = std::vector<Shift>;

  /// Whether any improved the state.
  bool shift_all();

  /// A switch is named when it explains better than its cables one by one: than any two to one tier of its
  /// neighbours, whose faults look like one of its own to all that passes through, and than more of them if
  /// these, for all that more faults are less likely, are the more probable, or fit better with a cable left
  /// out: a switch that harms, harms all that crosses it. Where such cables fit as well and are much less
  /// likely, which it is stays open; so it does where nothing passes: a switch that swallows what comes in
  /// swallows what would tell. The switches that cables took the place of; what is open joins `open`.
  std::vector<std::uint32_t> prefer_cables(std::vector<Exchange>& open);

  /// What the channels into a switch from one tier lose and what those out of it to one tier lose can be told
  /// apart only by traffic that ends there, or goes another way: the same loss moved from all of the ones to
  /// all of the others may fit as well.
  std::vector<Exchange> equal_shifts();

 private:
  using Kept = CountState::Kept;
  struct Instead {
    double fits = 0;  // nats, more than with the switch
    std::vector<std::uint32_t> cables;
  };
  std::optional<Exchange> equal_shift(const Shifts& shifts, const Worth& before);
  void note_instead(std::uint32_t itself, std::vector<Instead> instead, std::vector<Exchange>& open) const;
  std::vector<std::vector<std::uint32_t>> cables_for(const CountPriors::Around& around) const;
  bool pass_nothing(std::span<const std::uint32_t> hazards) const;
  void join_in_series(const CountPriors::Around::Side& side);
  std::vector<std::uint32_t> rows_by(std::uint32_t fault) const;
  bool merge_covered();
  bool may_shift(const Shift& one) const;
  void shift(const Shifts& shifts);
  bool try_shift(const Shifts& shifts);
  void drop_remnants();
  bool try_merge(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& into);
  bool merge_into_cables(const CountPriors::Around& around);

  CountState& state_;
};

}  // namespace weft::diagnosis
