#include "tests/bench/counters/broken_cable.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace weft::bench::counters {
namespace {

constexpr int kLights = 2'000;
constexpr double kSpread = 0.6, kReading = 0.3;  // dB: lasers and ways of one part, what a module measures
constexpr double kErrorSpread = 0.5;             // decades
constexpr double kMaxDecades = 5;
constexpr double kBiasReading = 0.08, kCelsiusReading = 3;
constexpr double kToldTouched = 0.95, kTouched = 0.04, kTouchedDirty = 0.75;
constexpr double kBadBeside = 0.02, kBadShared = 0.6;
constexpr double kFewFlaps = 0.3, kManyFlaps = 2;  // times what is usual of a cause
constexpr int kMinBeside = 3, kMaxBeside = 7;

double uniform(SplitMix64& random) { return std::uniform_real_distribution(0.0, 1.0)(random); }
double between(double low, double high, SplitMix64& random) { return low + (high - low) * uniform(random); }
bool chance(double probability, SplitMix64& random) { return uniform(random) < probability; }
double normal(SplitMix64& random) { return std::normal_distribution(0.0, 1.0)(random); }

/// Each decibel below the margin costs .5 of a decade, up to five.
double decades(double lost, double noise, SplitMix64& random) {
  return std::min(kMaxDecades, 0.5 * std::max(0.0, lost + 0.5 * normal(random)) + noise);
}

/// A value that lies evenly in a range, or (by the rest of the probability) in another.
struct Ranges {
  double probability = 0;
  std::array<double, 2> first{}, second{};
};
Ranges bias_of(const BrokenPart& part, bool sender) {
  if (part.cause == RepairCause::weak_transmitter && sender) return {0.7, {0.1, 0.5}, {-0.3, 0.1}};
  if (part.cause == RepairCause::bad_module && part.at_sender == sender) return {0.3, {-0.5, 0.5}, {}};
  return {};
}
Ranges warmth_of(const BrokenPart& part, bool sender) {
  if (part.cause == RepairCause::bad_module && part.at_sender == sender) return {0.75, {5, 20}, {}};
  return {};
}
double draw(const Ranges& ranges, SplitMix64& random) {
  const auto& [low, high] = chance(ranges.probability, random) ? ranges.first : ranges.second;
  return between(low, high, random);
}

double flaps_of(RepairCause cause) {
  return cause == RepairCause::damaged_fibre ? 3 : cause == RepairCause::bad_module ? 1.5 : 0.3;
}
double bad_beside(const BrokenPart& part, bool sender) {
  return part.cause == RepairCause::shared_component && part.at_sender == sender ? kBadShared : kBadBeside;
}
double touched(const BrokenPart& part, bool sender) {
  return part.cause == RepairCause::dirty_connector && part.at_sender == sender ? kTouchedDirty : kTouched;
}

const BrokenPart& draw_part(SplitMix64& random) {
  double left = uniform(random);
  for (const BrokenPart& part : kBrokenParts)
    if ((left -= part.share) < 0) return part;
  return kBrokenParts.back();
}

double normal_density(double away, double deviation) {
  return std::exp(-away * away / (2 * deviation * deviation)) / (deviation * std::sqrt(2 * M_PI));
}

/// Of a value in a range that is measured with a normal error.
double in_range(double seen, const std::array<double, 2>& range, double deviation) {
  const auto below = [&](double bound) { return 0.5 * std::erfc((seen - bound) / (deviation * M_SQRT2)); };
  if (range[0] == range[1]) return normal_density(seen - range[0], deviation);
  return (below(range[1]) - below(range[0])) / (range[1] - range[0]);
}

double density(const std::optional<double>& seen, const Ranges& ranges, double deviation) {
  if (!seen) return 1;
  return ranges.probability * in_range(*seen, ranges.first, deviation) +
         (1 - ranges.probability) * in_range(*seen, ranges.second, deviation);
}

/// Of a share of ports whose number is not told.
double density_beside(const std::optional<double>& share, double probability) {
  if (!share) return 1;
  double sum = 0;
  for (int ports = kMinBeside; ports <= kMaxBeside; ++ports) {
    const double bad = std::round(*share * ports);
    if (std::abs(bad - *share * ports) > 1e-9) continue;
    const double ways =
        std::exp(std::lgamma(ports + 1) - std::lgamma(bad + 1) - std::lgamma(ports - bad + 1));
    sum += ways * std::pow(probability, bad) * std::pow(1 - probability, ports - bad);
  }
  return sum;
}

double density_flaps(double flaps, double often) {
  constexpr int kSteps = 40;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) {
    const double mean = often * (kFewFlaps + (kManyFlaps - kFewFlaps) * (i + 0.5) / kSteps);
    sum += std::exp(flaps * std::log(mean) - mean - std::lgamma(flaps + 1)) / kSteps;
  }
  return sum;
}

/// Of what a sender says it sent and a receiver says it got, by the dB that are missing.
double density_powers(const std::optional<double>& sent, const std::optional<double>& received, double weak,
                      double lost) {
  constexpr double kSent = kSpread * kSpread, kRead = kReading * kReading;
  const double own = std::sqrt(kSent + kRead);
  if (sent && !received) return normal_density(*sent + weak, own);
  if (!received) return 1;
  const double both = 2 * kSent + kRead;
  if (!sent) return normal_density(*received + weak + lost, std::sqrt(both));
  const double follows = kSent / (kSent + kRead) * (*sent + weak);  // of the laser's own share
  return normal_density(*sent + weak, own) *
         normal_density(*received + weak + lost - follows, std::sqrt(both - kSent * kSent / (kSent + kRead)));
}

double density_light(const RepairSigns& seen, const DrawnLight& light) {
  return density_powers(seen.from.sent_db, seen.to.received_db, light.weak, light.there) *
         density_powers(seen.to.sent_db, seen.from.received_db, 0, light.back) *
         normal_density(*seen.to.errors - light.errors_there, kErrorSpread) *
         normal_density(*seen.from.errors - light.errors_back, kErrorSpread);
}

}  // namespace

DrawnLight draw_light(RepairCause cause, SplitMix64& random, double scale) {
  DrawnLight light;
  if (cause == RepairCause::dirty_connector) {
    light.there = std::exp(between(std::log(1.5), std::log(10), random));
    if (chance(0.4, random)) light.back = light.there * between(0.1, 0.8, random);
  }
  if (cause == RepairCause::damaged_fibre) {
    light.there = std::exp(between(std::log(2), std::log(12), random));
    if (chance(0.6, random)) light.back = light.there * between(0.4, 1.3, random);
  }
  if (cause == RepairCause::weak_transmitter) light.weak = between(1.5, 6, random);
  if (cause == RepairCause::bad_module || cause == RepairCause::shared_component) {
    light.noise_there = between(1, 5, random);
    if (chance(0.6, random)) light.noise_back = between(0.3, 3, random);
  }
  for (double* missing : {&light.there, &light.back, &light.weak}) *missing *= scale;
  light.errors_there = decades(light.weak + light.there, light.noise_there, random);
  light.errors_back = decades(light.back, light.noise_back, random);
  return light;
}

Stretch draw_stretch(SplitMix64& random) {
  Stretch stretch;
  for (double* factor : {&stretch.light, &stretch.spread, &stretch.errors, &stretch.flaps, &stretch.plugged})
    *factor = std::exp2(between(-1, 1, random));
  return stretch;
}

BrokenCable::BrokenCable(std::uint64_t seed, const Stretch& stretch) {
  SplitMix64 random(seed);
  truth = draw_part(random);
  const DrawnLight light = draw_light(truth.cause, random, stretch.light);
  const double spread = kSpread * stretch.spread;
  const double sent = spread * normal(random) - light.weak, sent_back = spread * normal(random);
  const double way = spread * normal(random) - light.there, way_back = spread * normal(random) - light.back;
  signs.to.errors = light.errors_there + kErrorSpread * stretch.errors * normal(random);
  signs.from.errors = light.errors_back + kErrorSpread * stretch.errors * normal(random);
  const double often = stretch.flaps * flaps_of(truth.cause);
  signs.flaps = std::poisson_distribution<int>(often * between(kFewFlaps, kManyFlaps, random))(random);
  for (const bool sender : {false, true}) {
    EndSigns& at = sender ? signs.from : signs.to;
    const int ports = kMinBeside + static_cast<int>((kMaxBeside - kMinBeside + 1) * uniform(random));
    int bad = 0;
    for (int i = 0; i < ports; ++i) bad += chance(bad_beside(truth, sender), random) ? 1 : 0;
    if (chance(0.9, random)) at.neighbours_bad = static_cast<double>(bad) / ports;
    if (chance(kToldTouched, random))
      at.touched = chance(std::min(0.9, stretch.plugged * touched(truth, sender)), random);
    if (chance(0.1, random)) continue;  // its module is not read
    at.sent_db = (sender ? sent : sent_back) + kReading * normal(random);
    at.received_db = (sender ? sent_back + way_back : sent + way) + kReading * normal(random);
    at.bias = draw(bias_of(truth, sender), random) + kBiasReading * normal(random);
    at.celsius = draw(warmth_of(truth, sender), random) + kCelsiusReading * normal(random);
  }
}

RepairOracle::RepairOracle() {
  SplitMix64 random(0x0eac1e);
  for (int cause = 0; cause < kRepairCauses; ++cause)
    for (int i = 0; i < kLights; ++i)
      lights_[static_cast<std::size_t>(cause)].push_back(draw_light(static_cast<RepairCause>(cause), random));
}

std::vector<RepairGuess> RepairOracle::guesses(const RepairSigns& signs) const {
  std::array<double, kRepairCauses> light{};
  for (std::size_t cause = 0; cause < light.size(); ++cause)
    for (const DrawnLight& one : lights_[cause]) light[cause] += density_light(signs, one) / kLights;
  std::vector<RepairGuess> guesses;
  double sum = 0;
  for (const BrokenPart& part : kBrokenParts) {
    double weight = part.share * light[static_cast<std::size_t>(part.cause)] *
                    density_flaps(*signs.flaps, flaps_of(part.cause));
    for (const bool sender : {false, true}) {
      const EndSigns& at = sender ? signs.from : signs.to;
      weight *= density(at.bias, bias_of(part, sender), kBiasReading) *
                density(at.celsius, warmth_of(part, sender), kCelsiusReading) *
                density_beside(at.neighbours_bad, bad_beside(part, sender));
      if (at.touched) weight *= *at.touched ? touched(part, sender) : 1 - touched(part, sender);
    }
    guesses.push_back({part.cause, part.at_sender, weight});
    sum += weight;
  }
  for (RepairGuess& guess : guesses) guess.probability = sum > 0 ? guess.probability / sum : 0;
  std::ranges::stable_sort(guesses, std::greater(), &RepairGuess::probability);
  return guesses;
}

}  // namespace weft::bench::counters
