#include "probes/diagnosis/repair/repair_causes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::diagnosis {
namespace {

/// What a sign is expected to be.
struct Expected {
  double mean = 0, deviation = 1;
};
/// Signs of one end.
struct ExpectedEnd {
  Expected sent{0, 0.8};   // dB against peers: lasers of one part differ by that much
  Expected lost{0, 0.9};   // dB on the way to it, beyond that of peers
  Expected bias{0, 0.12};  // natural logarithm
  Expected celsius{0, 4};
  Expected errors{0.2, 0.8};        // decades
  Expected neighbours{0.03, 0.08};  // share
  double touched = 0.05;            // probability
};
struct Signature {
  RepairCause cause = RepairCause::dirty_connector;
  std::optional<bool> at_sender = std::nullopt;
  double prior = 0;
  ExpectedEnd from, to;
  Expected flaps{0.3, 1.0};  // natural logarithm of 1 + changes a day
};

constexpr double kOdd = 0.03;            // a sign says nothing of the cause
constexpr double kOddRange = 8.0;        // then it lies within so many deviations, evenly
constexpr double kUsualRange = 2;        // deviations: a healthy cable is within them
constexpr double kCameFromTouch = 0.65;  // connectors that are dirty where they were plugged lately

/// What receives errors of the faulty direction.
constexpr Expected kManyErrors{2.5, 1.4};

Signature dirt(bool at_sender) {
  Signature one{RepairCause::dirty_connector, at_sender, 0.19, {}, {}, {}};
  one.to.lost = {-3.5, 2.2};
  one.from.lost = {-0.9, 1.6};  // the fibre of the other direction ends in the same connector
  one.to.errors = kManyErrors;
  one.from.errors = {0.7, 1.1};
  (at_sender ? one.from : one.to).touched = kCameFromTouch;
  return one;
}

Signature fibre() {
  Signature one{RepairCause::damaged_fibre, std::nullopt, 0.17, {}, {}, {}};
  one.to.lost = {-4.5, 2.8};
  one.from.lost = {-2.8, 2.5};
  one.to.errors = kManyErrors;
  one.from.errors = {1.5, 1.4};
  one.flaps = {1.2, 1.0};
  return one;
}

Signature weak_laser() {
  Signature one{RepairCause::weak_transmitter, true, 0.2, {}, {}, {}};
  one.from.sent = {-3.0, 1.4};
  one.from.bias = {0.22, 0.22};  // what a laser does not give is asked for by more current
  one.to.errors = kManyErrors;
  return one;
}

Signature module(bool at_sender) {
  Signature one{RepairCause::bad_module, at_sender, 0.125, {}, {}, {}};
  one.to.errors = kManyErrors;
  one.from.errors = {1.0, 1.2};
  one.flaps = {0.8, 1.0};
  ExpectedEnd& end = at_sender ? one.from : one.to;
  end.celsius = {9, 7};
  end.bias = {0.05, 0.25};
  return one;
}

Signature shared(bool at_sender) {
  Signature one{RepairCause::shared_component, at_sender, 0.095, {}, {}, {}};
  one.to.errors = kManyErrors;
  one.from.errors = {0.9, 1.2};
  one.flaps = {0.6, 1.0};
  ExpectedEnd& end = at_sender ? one.from : one.to;
  end.neighbours = {0.6, 0.25};
  end.celsius = {3, 5};
  return one;
}

const std::vector<Signature>& signatures() {
  static const std::vector<Signature> kAll{dirt(true),   dirt(false),   fibre(),      weak_laser(),
                                           module(true), module(false), shared(true), shared(false)};
  return kAll;
}

double log_density(double value, Expected expected) {
  const double away = (value - expected.mean) / expected.deviation;
  const double usual = std::exp(-away * away / 2) / std::sqrt(2 * M_PI);
  return std::log(((1 - kOdd) * usual + kOdd / (2 * kOddRange)) / expected.deviation);
}

double weigh(const std::optional<double>& seen, Expected expected) {
  return seen && std::isfinite(*seen) ? log_density(*seen, expected) : 0;
}

double weigh_touch(const std::optional<bool>& touched, double expected) {
  return touched ? std::log(*touched ? expected : 1 - expected) : 0;
}

/// What is received is what was sent, less what was lost: where the other end says what it sent, the rest is
/// known, else the two together.
double weigh_way(const EndSigns& sender, const EndSigns& receiver, const ExpectedEnd& sends,
                 const ExpectedEnd& receives) {
  double weight = weigh(sender.sent_db, sends.sent);
  if (!receiver.received_db) return weight;
  if (sender.sent_db) return weight + weigh(*receiver.received_db - *sender.sent_db, receives.lost);
  return weigh(receiver.received_db, {sends.sent.mean + receives.lost.mean,
                                      std::hypot(sends.sent.deviation, receives.lost.deviation)});
}

double weigh_end(const EndSigns& seen, const ExpectedEnd& expected) {
  return weigh(seen.bias, expected.bias) + weigh(seen.celsius, expected.celsius) +
         weigh(seen.errors, expected.errors) + weigh(seen.neighbours_bad, expected.neighbours) +
         weigh_touch(seen.touched, expected.touched);
}

double weigh(const RepairSigns& seen, const Signature& one) {
  double weight = std::log(one.prior) + weigh_end(seen.from, one.from) + weigh_end(seen.to, one.to);
  weight += weigh_way(seen.from, seen.to, one.from, one.to) + weigh_way(seen.to, seen.from, one.to, one.from);
  if (seen.flaps && *seen.flaps >= 0) weight += weigh(std::log1p(*seen.flaps), one.flaps);
  return weight;
}

bool is_below(const std::optional<double>& seen, Expected usual) {
  return seen && *seen < usual.mean - kUsualRange * usual.deviation;
}
bool is_above(const std::optional<double>& seen, Expected usual) {
  return seen && *seen > usual.mean + kUsualRange * usual.deviation;
}

bool departs(const EndSigns& end) {
  const ExpectedEnd usual;
  return is_below(end.sent_db, usual.sent) ||
         is_below(end.received_db, {0, std::hypot(usual.sent.deviation, usual.lost.deviation)}) ||
         is_below(end.bias, usual.bias) || is_above(end.bias, usual.bias) ||
         is_above(end.celsius, usual.celsius) || is_above(end.errors, usual.errors) ||
         is_above(end.neighbours_bad, usual.neighbours) || end.touched.value_or(false);
}

bool is_module(RepairCause cause) {
  return cause == RepairCause::weak_transmitter || cause == RepairCause::bad_module;
}

/// Of a cable that is one part: what would be a module is the cable.
std::vector<RepairGuess> of_one_part(const std::vector<RepairGuess>& guesses) {
  std::vector<RepairGuess> left{{RepairCause::damaged_fibre, std::nullopt, 0}};
  for (const RepairGuess& guess : guesses) {
    if (guess.cause == RepairCause::damaged_fibre || is_module(guess.cause))
      left.front().probability += guess.probability;
    else if (guess.cause != RepairCause::dirty_connector)
      left.push_back(guess);
  }
  return left;
}

}  // namespace

bool departs_from_usual(const RepairSigns& signs) {
  const auto flaps = signs.flaps ? std::optional(std::log1p(std::max(0.0, *signs.flaps))) : std::nullopt;
  return departs(signs.from) || departs(signs.to) || is_above(flaps, Signature{}.flaps);
}

std::vector<RepairGuess> repair_causes(const RepairSigns& signs) {
  std::vector<RepairGuess> guesses;
  for (const Signature& one : signatures()) guesses.push_back({one.cause, one.at_sender, weigh(signs, one)});
  const double most = std::ranges::max(guesses, {}, &RepairGuess::probability).probability;
  for (RepairGuess& guess : guesses) guess.probability = std::exp(guess.probability - most);
  if (signs.one_part) guesses = of_one_part(guesses);
  double sum = 0;
  for (const RepairGuess& guess : guesses) sum += guess.probability;
  for (RepairGuess& guess : guesses) guess.probability /= sum;
  std::ranges::stable_sort(guesses, std::greater(), &RepairGuess::probability);
  return guesses;
}

std::vector<RepairAction> repair_actions(const std::vector<RepairGuess>& guesses) {
  std::vector<RepairAction> actions;
  for (const RepairGuess& guess : guesses) {
    const auto same = std::ranges::find_if(actions, [&](const RepairAction& action) {
      return action.at_sender == guess.at_sender &&
             (action.cause == guess.cause || (is_module(action.cause) && is_module(guess.cause)));
    });
    if (same == actions.end())
      actions.push_back({guess.cause, guess.at_sender, guess.probability});
    else
      same->probability += guess.probability;
  }
  std::ranges::stable_sort(actions, std::greater(), &RepairAction::probability);
  return actions;
}

}  // namespace weft::diagnosis
