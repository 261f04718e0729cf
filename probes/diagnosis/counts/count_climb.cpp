#include "probes/diagnosis/counts/count_climb.hpp"

#include <algorithm>
#include <map>

#include "probes/diagnosis/counts/likeliest_hazards.hpp"

namespace weft::diagnosis {
namespace {

constexpr int kMaxRounds = 8;
constexpr int kMaxMoves = 400;
constexpr int kMaxVisits = 3;         // of the same faults: beyond, what is added is removed again and again
constexpr int kLongFit = 30;          // sweeps: of channels in series one takes all, by and by
constexpr double kOutOfReach = 30.0;  // nats: swaps win no more

}  // namespace

double CountClimb::from_here() {
  for (int round = 0; round < kMaxRounds && !(round > 0 && is_over()); ++round) {
    const auto before = state_.faulty();
    if (round > 0) state_.learn();
    state_.start_round();
    climb();
    if (round > 0 && before == state_.faulty()) break;
    swap_all();
    if (moves_.shift_all()) climb();
  }
  return state_.objective();
}

double CountClimb::from_likeliest() {
  state_.start_round();
  add_likeliest();
  return from_here();
}

void CountClimb::without(std::span<const std::uint32_t> forbidden, double best) {
  const bool singly = state_.lose_singly(state_.faults());
  state_.forbid(forbidden);
  settle(best - kOutOfReach);
  if (singly && state_.objective() < best) {
    for (const auto& [fault, hazard] : state_.keep()) state_.remove(fault);
    add_likeliest();
    settle(best - kOutOfReach);
  }
  state_.forbid({});
}

void CountClimb::settle(double least) {
  climb();
  for (bool removed = true; removed;) {
    state_.refit(kLongFit);
    removed = state_.remove_refuted();
  }
  if (state_.objective() < least) return;
  swap_all();
  if (moves_.shift_all()) climb();
}

void CountClimb::add_likeliest() {
  LikeliestHazards likeliest(state_.problem(), state_.forbidden(), false);
  likeliest.settle();
  const auto& hazards = likeliest.hazards();
  const double least = 10 * state_.model().learned().mean;
  for (std::uint32_t s = 0; s < hazards.size(); ++s)
    if (hazards[s] > least) state_.add(s, hazards[s]);
}

void CountClimb::climb() {
  std::map<std::vector<bool>, int> visits;
  for (int move = 0; move < kMaxMoves && !is_over(); ++move) {
    const bool added = add_best();
    state_.refit(2);
    state_.gather_crowds();
    const bool removed = state_.remove_refuted();
    if (removed) state_.gather_crowds();
    if (!added && !removed) return;
    if (removed && ++visits[state_.faulty()] > kMaxVisits) return;
  }
}

/// Adds, best first, every suspect with a gain that shares no lossy row with one added in this pass. What is
/// added makes the rest gain less rather than more: first those that last gained are looked at again, and all
/// only where none of them does.
bool CountClimb::add_best() {
  if (add_of(gained_last())) return true;
  for (std::uint32_t i = 0; i < state_.hazards(); ++i)
    if (!state_.is_faulty(i)) state_.refreshed(i);
  return add_of(gained_last());
}

std::vector<CountClimb::Candidate> CountClimb::gained_last() const {
  std::vector<Candidate> found;
  for (std::uint32_t i = 0; i < state_.hazards(); ++i)
    if (const auto& score = state_.last_score(i); !state_.is_faulty(i) && score.gain > 0)
      found.push_back({score.weight, i});
  return found;
}

bool CountClimb::add_of(std::vector<Candidate> candidates) {
  const auto is_worse = [](const Candidate& one, const Candidate& other) {
    return one.weight < other.weight || (one.weight == other.weight && one.hazard > other.hazard);
  };
  std::ranges::make_heap(candidates, is_worse);
  ++pass_;
  bool added = false;
  while (!candidates.empty()) {
    std::ranges::pop_heap(candidates, is_worse);
    Candidate& best = candidates.back();
    const auto rows = state_.problem().rows_of(state_.model().suspect_of(best.hazard));
    const auto taken = [this](const CountProblem::Cell& cell) { return row_taken_[cell.index] == pass_; };
    const bool clash = std::ranges::any_of(rows, taken);
    if (!clash) {
      const auto& score = state_.refreshed(best.hazard);
      const bool is_less = score.weight < best.weight;
      best.weight = score.weight;
      if (score.gain <= 0) {
        candidates.pop_back();
        continue;
      }
      if (is_less) {
        std::ranges::push_heap(candidates, is_worse);
        continue;
      }
      state_.add(best.hazard), added = true;
    }
    for (const auto& cell : rows) row_taken_[cell.index] = pass_;
    candidates.pop_back();
  }
  return added;
}

void CountClimb::swap_all() {
  double worth = state_.objective();
  for (int move = 0; move < 16 && !is_over(); ++move) {
    bool swapped = false;
    const auto faults = state_.faults();
    if (faults.size() > kMaxSwapped) return;
    const auto kept = state_.keep();
    for (const std::uint32_t fault : faults) {
      const std::uint32_t best = state_.stand_ins(fault).front().hazard;
      if (best == fault) continue;
      state_.remove(fault);
      state_.add(best);
      swapped = true;
    }
    if (!swapped) return;
    climb();
    const double now = state_.objective();
    if (now <= worth) {
      state_.restore(kept);
      return;
    }
    worth = now;
  }
}

}  // namespace weft::diagnosis
