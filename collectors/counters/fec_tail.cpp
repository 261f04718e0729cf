#include "collectors/counters/fec_tail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace weft::counters {
namespace {

constexpr std::size_t kMinFilled = 3;
constexpr std::size_t kTail = 5;  // bins that are fitted: those below are of what is common, not of the tail
constexpr std::size_t kBeyond = 60;  // bins above the last that are summed
constexpr double kMisfit = 0.1;      // relative: no tail is quite of the family
constexpr int kLevels = 100;
constexpr double kAround = 3;  // times: levels beside those of the bins
/// What begins below all that was counted, as bursts beside independent errors do: how likely that is, the
/// codewords that it may have in the bin above the highest, and its shares from bin to bin.
constexpr double kHidden = 0.4, kMinHidden = 1e-4;
constexpr double kMinShare = 0.1, kMaxShare = 0.6;
constexpr int kHiddenSteps = 12;

/// From bin k to the next: (q k + s) / (k + 1). q = 0: independent errors (Poisson with mean s); q towards 1:
/// bursts (Panjer's class of 1981).
struct Steps {
  double q = 0, s = 0;
  double at(std::size_t k) const { return (q * static_cast<double>(k) + s) / static_cast<double>(k + 1); }
};

struct Guess {
  double loss = 0;  // log10
  double weight = 0;
};

/// Those of independent errors and of bursts are as likely.
std::vector<std::pair<double, double>> steepnesses() {
  constexpr int kFew = 16, kMany = 32;
  std::vector<std::pair<double, double>> all{{0, 0.5 / kFew}};
  for (int i = 1; i < kFew; ++i)
    all.emplace_back(0.03 * std::pow(1e-4, 1 - static_cast<double>(i) / kFew), 0.5 / kFew);
  for (int i = 0; i < kMany; ++i) all.emplace_back(0.03 + 0.95 * (i + 0.5) / kMany, 0.5 / kMany);
  return all;
}

class Tail {
 public:
  Tail(std::span<const std::uint64_t> bins, std::size_t highest, std::size_t repairable)
      : bins_(bins), last_(repairable), first_(highest > kTail ? highest - kTail + 1 : 1) {}

  /// Levels that the steps between its bins speak for.
  std::pair<double, double> levels() const {
    double least = 1e30, most = 1e-9;
    for (std::size_t k = first_; k < last_; ++k) {
      if (!(count(k) > 0) || !(count(k + 1) > 0)) continue;
      const double level = static_cast<double>(k + 1) * count(k + 1) / count(k);
      least = std::min(least, level), most = std::max(most, level);
    }
    return {std::min(least, most) / kAround / static_cast<double>(kTail), most * kAround};
  }

  /// Its logarithm as weight: how well it fits the counts, and the codewords that it expects not repaired.
  Guess guess(const Steps& steps) const {
    std::vector<double> shape{1};  // from first_ on
    for (std::size_t k = first_; k < last_ + kBeyond; ++k) shape.push_back(shape.back() * steps.at(k));
    double sum = 0, of = 0;
    for (std::size_t k = first_; k <= last_; ++k)
      if (const double n = count(k); n > 0) {
        sum += (std::log(n) - std::log(shape[k - first_])) * sure(n);
        of += sure(n);
      }
    const double level = std::exp(sum / of);  // of the first bin
    Guess guess;
    for (std::size_t k = first_; k <= last_; ++k) {
      const double n = count(k), expected = level * shape[k - first_];
      const double away = n > 0 ? std::log(n / expected) : 0;
      guess.weight -= n > 0 ? away * away * sure(n) / 2 : expected;
    }
    double lost = 0;
    for (std::size_t k = last_ + 1; k < last_ + kBeyond; ++k) lost += shape[k - first_];
    guess.loss = std::log10(std::max(level * lost, 1e-300));
    return guess;
  }

 private:
  double count(std::size_t k) const { return k < bins_.size() ? static_cast<double>(bins_[k]) : 0; }
  static double sure(double n) { return 1 / (1 / n + kMisfit * kMisfit); }
  std::span<const std::uint64_t> bins_;
  std::size_t last_, first_;
};

/// `bins`: from the highest to the last that is repaired.
void add_hidden(std::size_t bins, double weight, std::vector<Guess>& guesses) {
  const double usual = std::ranges::max_element(guesses, {}, &Guess::weight)->loss;
  for (Guess& one : guesses) one.weight *= 1 - kHidden;
  for (int i = 0; i < kHiddenSteps; ++i)
    for (int j = 0; j < kHiddenSteps; ++j) {
      const double codewords = std::pow(kMinHidden, (i + 0.5) / kHiddenSteps);
      const double share = kMinShare + (kMaxShare - kMinShare) * (j + 0.5) / kHiddenSteps;
      const double lost = codewords * std::pow(share, static_cast<double>(bins)) / (1 - share);
      guesses.push_back(
          {std::log10(lost + std::pow(10, usual)), kHidden * weight / kHiddenSteps / kHiddenSteps});
    }
}

}  // namespace

std::optional<FecTail> fec_tail(std::span<const std::uint64_t> bins, std::size_t repairable) {
  bins = bins.first(std::min(bins.size(), repairable + 1));
  FecTail found;
  std::size_t filled = 0;
  double all = 0;
  for (std::size_t k = 0; k < bins.size(); ++k) {
    all += static_cast<double>(bins[k]);
    if (bins[k] == 0 || k == 0) continue;
    ++filled;
    found.highest = k;
  }
  if (filled < kMinFilled) return std::nullopt;
  const Tail tail(bins, found.highest, repairable);
  std::vector<Guess> guesses;
  const auto [least, most] = tail.levels();
  for (const auto& [q, prior] : steepnesses())
    for (int j = 0; j < kLevels; ++j) {
      guesses.push_back(tail.guess({q, least * std::pow(most / least, (j + 0.5) / kLevels)}));
      guesses.back().weight += std::log(prior);
    }
  const double best = std::ranges::max_element(guesses, {}, &Guess::weight)->weight;
  double sum = 0;
  for (Guess& one : guesses) sum += one.weight = std::exp(one.weight - best);
  add_hidden(repairable - found.highest, sum, guesses);
  sum = 0;
  for (const Guess& one : guesses) sum += one.weight;
  std::ranges::sort(guesses, {}, &Guess::loss);
  const auto quantile = [&](double share) {
    double left = share * sum;
    for (const Guess& one : guesses) {
      left -= one.weight;
      if (left <= 0) return one.loss - std::log10(all);
    }
    return guesses.back().loss - std::log10(all);
  };
  found.loss = quantile(0.5), found.low = quantile(0.05), found.high = std::min(0.0, quantile(0.95));
  std::size_t before = found.highest - 1;
  while (bins[before] == 0) --before;
  found.slope = std::log10(static_cast<double>(bins[found.highest]) / static_cast<double>(bins[before])) /
                static_cast<double>(found.highest - before);
  return found;
}

std::string tail_text(const FecTail& tail) {
  const auto power = [](double log) { return fmt::format("{:.0e}", std::pow(10, log)); };
  return fmt::format(
      "histogram up to bin {}, {:.1f} decades a bin: {} ({} to {}) of codewords are not repaired",
      tail.highest, tail.slope, power(tail.loss), power(tail.low), power(tail.high));
}

}  // namespace weft::counters
