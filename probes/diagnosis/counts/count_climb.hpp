// The climb of the search for what caused the losses: adds what gains, removes what others explain, swaps one
// for another, moves faults around switches and learns the background anew, until no move helps.
#pragma once

#include <functional>

#include "probes/diagnosis/counts/switch_moves.hpp"

namespace weft::diagnosis {

class CountClimb {
 public:
  /// `is_over`: see AssessOptions.
  CountClimb(const CountProblem& problem, const CountPriors& priors, const BackgroundPrior& background,
             const std::function<bool()>& is_over)
      : state_(problem, priors, background),
        moves_(state_),
        is_over_(is_over),
        row_taken_(problem.row_count(), 0) {}
  CountClimb(const CountClimb&) = delete;
  CountClimb& operator=(const CountClimb&) = delete;

  CountState& state() { return state_; }
  SwitchMoves& moves() { return moves_; }
  bool is_over() const { return is_over_ && is_over_(); }

  /// From where the state is, until nothing moves; worth: see CountState::objective.
  double from_here();
  /// From the likeliest hazards of all channels at once: where channels are bad by the half, what one loses
  /// hides what the next does.
  double from_likeliest();
  /// On with what is known of the background, without `forbidden`, which are out of the question for this
  /// search; where that ends less probable than `best`, from the likeliest hazards of all others.
  void without(std::span<const std::uint32_t> forbidden, double best);

 private:
  void climb();
  struct Candidate {
    double weight = 0;
    std::uint32_t hazard = 0;
  };
  bool add_best();
  std::vector<Candidate> gained_last() const;
  bool add_of(std::vector<Candidate> candidates);
  void swap_all();
  void add_likeliest();
  void settle(double least);

  CountState state_;
  SwitchMoves moves_;
  const std::function<bool()>& is_over_;
  std::vector<std::uint32_t> row_taken_;
  std::uint32_t pass_ = 0;
};

}  // namespace weft::diagnosis
