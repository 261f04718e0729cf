#include <algorithm>
#include <map>

#include "probes/diagnosis/repair/repair_causes.hpp"
#include "tests/bench/counters/broken_cable.hpp"
#include "tests/bench/counters/pieces.hpp"

namespace weft::bench::counters {
namespace {

constexpr int kFaults = 20'000;

/// The comparator: what a runbook says, in the order in which it asks.
RepairCause by_thresholds(const RepairSigns& signs) {
  if (signs.from.neighbours_bad.value_or(0) > 0.3 || signs.to.neighbours_bad.value_or(0) > 0.3)
    return RepairCause::shared_component;
  if (signs.from.sent_db.value_or(0) < -2) return RepairCause::weak_transmitter;
  if (signs.to.received_db.value_or(0) >= -2) return RepairCause::bad_module;
  return signs.from.received_db.value_or(0) < -2 ? RepairCause::damaged_fibre : RepairCause::dirty_connector;
}

RepairCause likeliest_cause(const std::vector<RepairGuess>& guesses) {
  std::map<RepairCause, double> causes;
  for (const RepairGuess& guess : guesses) causes[guess.cause] += guess.probability;
  return std::ranges::max_element(causes, {}, [](const auto& one) { return one.second; })->first;
}
std::optional<bool> likelier_end(const std::vector<RepairGuess>& guesses, RepairCause cause) {
  return std::ranges::find(guesses, cause, &RepairGuess::cause)->at_sender;
}

/// How often guesses are right.
struct Score {
  double cause = 0, at_end = 0, end = 0, sure = 0, sure_right = 0;

  /// Whether the cause is right.
  bool add(const std::vector<RepairGuess>& guesses, const BrokenPart& truth) {
    const bool cause_is_right = likeliest_cause(guesses) == truth.cause;
    cause += cause_is_right;
    if (cause_is_right && truth.at_sender) {
      ++at_end;
      end += likelier_end(guesses, truth.cause) == truth.at_sender;
    }
    add_sure(guesses.front(), truth);
    return cause_is_right;
  }

 private:
  void add_sure(const RepairGuess& first, const BrokenPart& truth) {
    if (first.probability <= 0.9) return;
    ++sure;
    sure_right += first.cause == truth.cause && first.at_sender == truth.at_sender;
  }
};

}  // namespace

void measure_repair(Figures& figures) {
  const RepairOracle oracle;
  Score ours, best, stretched;
  double tree = 0, commonest = 0, end_of_same = 0;
  SplitMix64 random(1);
  for (std::uint64_t seed = 1; seed <= kFaults; ++seed) {
    const BrokenCable fault(seed);
    const auto known = oracle.guesses(fault.signs);
    best.add(known, fault.truth);
    if (ours.add(diagnosis::repair_causes(fault.signs), fault.truth) && fault.truth.at_sender)
      end_of_same += likelier_end(known, fault.truth.cause) == fault.truth.at_sender;
    const BrokenCable other(seed, draw_stretch(random));
    stretched.add(diagnosis::repair_causes(other.signs), other.truth);
    tree += by_thresholds(fault.signs) == fault.truth.cause;
    commonest += fault.truth.cause == RepairCause::dirty_connector;
  }
  figures.add("cause_right", ours.cause / kFaults, "at least 0.82");
  figures.add("end_right", ours.end / ours.at_end, "at least 0.95");
  figures.add("sure_right", ours.sure_right / ours.sure, "at least 0.97");
  figures.add("sure_share", ours.sure / kFaults);
  figures.add("cause_oracle", best.cause / kFaults);
  figures.add("end_oracle", end_of_same / ours.at_end);  // of the faults of end_right
  figures.add("sure_share_oracle", best.sure / kFaults);
  figures.add("sure_right_oracle", best.sure_right / best.sure);
  figures.add("cause_stretched", stretched.cause / kFaults);
  figures.add("end_stretched", stretched.end / stretched.at_end);
  figures.add("sure_right_stretched", stretched.sure_right / stretched.sure);
  figures.add("cause_tree", tree / kFaults);
  figures.add("cause_commonest", commonest / kFaults);
}

}  // namespace weft::bench::counters
