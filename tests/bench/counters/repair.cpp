#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <random>

#include "probes/diagnosis/repair/repair_causes.hpp"
#include "tests/bench/counters/pieces.hpp"
#include "topology/base/splitmix.hpp"

namespace weft::bench::counters {
namespace {

constexpr int kFaults = 20'000;

struct Truth {
  RepairCause cause = RepairCause::dirty_connector;
  std::optional<bool> at_sender = std::nullopt;
};

/// A cable of optical modules whose one direction loses packets, from what light does on its way: powers and
/// errors follow from the attenuation, not from what the estimator expects. Its constants are its own.
class DrawnFault {
 public:
  explicit DrawnFault(std::uint64_t seed) : random_(seed) {
    const double which = uniform();
    truth.cause = which < 0.38   ? RepairCause::dirty_connector
                  : which < 0.53 ? RepairCause::damaged_fibre
                  : which < 0.73 ? RepairCause::weak_transmitter
                  : which < 0.90 ? RepairCause::bad_module
                                 : RepairCause::shared_component;
    if (truth.cause == RepairCause::weak_transmitter) truth.at_sender = true;
    if (truth.cause != RepairCause::weak_transmitter && truth.cause != RepairCause::damaged_fibre)
      truth.at_sender = chance(0.5);
    draw_light();
    draw_modules();
    draw_surroundings();
    measure();
  }

  Truth truth;
  RepairSigns signs;

 private:
  double uniform() { return std::uniform_real_distribution(0.0, 1.0)(random_); }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  bool chance(double probability) { return uniform() < probability; }
  double normal() { return std::normal_distribution(0.0, 1.0)(random_); }
  bool is(RepairCause cause) const { return truth.cause == cause; }
  EndSigns& end(bool sender) { return sender ? signs.from : signs.to; }

  void draw_light() {
    if (is(RepairCause::dirty_connector)) {
      there_ = std::exp(between(std::log(1.5), std::log(10)));
      if (chance(0.4)) back_ = there_ * between(0.1, 0.8);
    }
    if (is(RepairCause::damaged_fibre)) {
      there_ = std::exp(between(std::log(2), std::log(12)));
      if (chance(0.6)) back_ = there_ * between(0.4, 1.3);
    }
    if (is(RepairCause::weak_transmitter)) {
      weak_ = between(1.5, 6);
      bias_[1] = chance(0.7) ? between(0.1, 0.5) : between(-0.3, 0.1);
    }
  }

  void draw_modules() {
    if (!is(RepairCause::bad_module) && !is(RepairCause::shared_component)) return;
    noise_there_ = between(1, 5);
    if (chance(0.6)) noise_back_ = between(0.3, 3);
    if (is(RepairCause::shared_component)) return;
    hot_[*truth.at_sender] = chance(0.75) ? between(5, 20) : 0;
    if (chance(0.3)) bias_[*truth.at_sender] = between(-0.5, 0.5);
  }

  void draw_surroundings() {
    for (const bool sender : {false, true}) {
      const bool shares = is(RepairCause::shared_component) && *truth.at_sender == sender;
      const int ports = 3 + static_cast<int>(5 * uniform());
      int bad = 0;
      for (int i = 0; i < ports; ++i) bad += chance(shares ? 0.6 : 0.02) ? 1 : 0;
      if (chance(0.9)) end(sender).neighbours_bad = static_cast<double>(bad) / ports;
      const bool came_from_it = is(RepairCause::dirty_connector) && *truth.at_sender == sender;
      if (chance(0.95)) end(sender).touched = chance(came_from_it ? 0.75 : 0.04);
    }
    const double often = is(RepairCause::damaged_fibre) ? 3 : is(RepairCause::bad_module) ? 1.5 : 0.3;
    signs.flaps = std::poisson_distribution<int>(often * between(0.3, 2))(random_);
  }

  /// Each decibel below the margin costs .5 of a decade, up to five.
  double decades(double lost, double noise) {
    return std::min(5.0, 0.5 * std::max(0.0, lost + 0.5 * normal()) + noise) + 0.5 * normal();
  }

  void measure() {
    const double sent = 0.6 * normal() - weak_, sent_back = 0.6 * normal();
    const double way = 0.6 * normal() - there_, way_back = 0.6 * normal() - back_;
    signs.to.errors = decades(weak_ + there_, noise_there_);
    signs.from.errors = decades(back_, noise_back_);
    for (const bool sender : {false, true}) {
      if (chance(0.1)) continue;  // its module is not read
      EndSigns& at = end(sender);
      at.sent_db = (sender ? sent : sent_back) + 0.3 * normal();
      at.received_db = (sender ? sent_back + way_back : sent + way) + 0.3 * normal();
      at.bias = bias_[sender] + 0.08 * normal();
      at.celsius = hot_[sender] + 3 * normal();
    }
  }

  SplitMix64 random_;
  double there_ = 0, back_ = 0, weak_ = 0;  // dB that are missing
  double noise_there_ = 0, noise_back_ = 0;
  std::array<double, 2> bias_{}, hot_{};  // of the receiver, of the sender
};

/// The comparator: what a runbook says, in the order in which it asks.
Truth by_thresholds(const RepairSigns& signs) {
  for (const bool sender : {true, false})
    if ((sender ? signs.from : signs.to).neighbours_bad.value_or(0) > 0.3)
      return {RepairCause::shared_component, sender};
  if (signs.from.sent_db.value_or(0) < -2) return {RepairCause::weak_transmitter, true};
  if (signs.to.received_db.value_or(0) < -2) {
    if (signs.from.received_db.value_or(0) < -2) return {RepairCause::damaged_fibre, std::nullopt};
    return {RepairCause::dirty_connector, signs.from.touched.value_or(false)};
  }
  return {RepairCause::bad_module, signs.from.celsius.value_or(0) > 5};
}

}  // namespace

void measure_repair(Figures& figures) {
  double right = 0, tree = 0, commonest = 0, sure = 0, sure_right = 0, at_end = 0, end_right = 0;
  for (std::uint64_t seed = 1; seed <= kFaults; ++seed) {
    const DrawnFault fault(seed);
    const auto guesses = diagnosis::repair_causes(fault.signs);
    std::map<RepairCause, double> causes;
    for (const RepairGuess& guess : guesses) causes[guess.cause] += guess.probability;
    const auto likeliest = std::ranges::max_element(causes, {}, [](const auto& one) { return one.second; });
    const bool cause_is_right = likeliest->first == fault.truth.cause;
    right += cause_is_right;
    const auto first = std::ranges::find(guesses, likeliest->first, &RepairGuess::cause)
                           ->at_sender;  // the likelier end of it
    if (cause_is_right && fault.truth.at_sender) {
      ++at_end;
      end_right += first == fault.truth.at_sender;
    }
    const bool all_right =
        guesses.front().cause == fault.truth.cause && guesses.front().at_sender == fault.truth.at_sender;
    if (guesses.front().probability > 0.9) {
      ++sure;
      sure_right += all_right;
    }
    tree += by_thresholds(fault.signs).cause == fault.truth.cause;
    commonest += fault.truth.cause == RepairCause::dirty_connector;
  }
  figures.add("cause_right", right / kFaults, "at least 0.82");
  figures.add("end_right", end_right / at_end, "at least 0.95");
  figures.add("sure_right", sure_right / sure, "at least 0.97");
  figures.add("sure_share", sure / kFaults);
  figures.add("cause_tree", tree / kFaults);
  figures.add("cause_commonest", commonest / kFaults);
}

}  // namespace weft::bench::counters
