#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "collectors/counters/fec_tail.hpp"
#include "tests/bench/counters/pieces.hpp"
#include "topology/base/splitmix.hpp"

namespace weft::bench::counters {
namespace {

constexpr int kHistograms = 1'000;     // of each kind
constexpr std::size_t kSymbols = 200;  // of a codeword that can be wrong: more never are
constexpr double kMinCodewords = 1e6, kMaxCodewords = 78e6 * 3600;  // codewords: to an hour at 400 Gb/s
constexpr double kMinLoss = 1e-25;                                  // what is less never comes

using Shares = std::vector<double>;  // of codewords, by their wrong symbols

Shares independent(double mean) {
  Shares shares{std::exp(-mean)};
  for (std::size_t k = 1; k < kSymbols; ++k) shares.push_back(shares.back() * mean / static_cast<double>(k));
  return shares;
}

/// Bursts come alone; each goes on from symbol to symbol with that chance (Panjer's recursion of the compound
/// sum, 1981).
Shares bursty(double mean, double goes_on) {
  Shares shares{std::exp(-mean)};
  for (std::size_t k = 1; k < kSymbols; ++k) {
    double sum = 0, length = 1 - goes_on;  // of a burst of j symbols
    for (std::size_t j = 1; j <= k; ++j, length *= goes_on)
      sum += static_cast<double>(j) * length * shares[k - j];
    shares.push_back(sum * mean / static_cast<double>(k));
  }
  return shares;
}

class DrawnHistograms {
 public:
  explicit DrawnHistograms(std::uint64_t seed) : random_(seed) {}
  /// 0 independent, 1 bursty, 2: of some codewords the errors are bursts, of the others they are independent.
  Shares shares(int kind) {
    if (kind == 0) return independent(log_between(1e-3, 3));
    if (kind == 1) return bursty(log_between(1e-6, 0.3), between(0.05, 0.6));
    const double some = log_between(1e-6, 1e-2);
    Shares mixed = independent(log_between(1e-3, 1));
    const Shares rare = bursty(between(0.5, 2), between(0.1, 0.6));
    for (std::size_t k = 0; k < mixed.size(); ++k) mixed[k] = (1 - some) * mixed[k] + some * rare[k];
    return mixed;
  }
  std::vector<std::uint64_t> counted(const Shares& shares) {
    std::vector<std::uint64_t> bins;
    const double codewords = log_between(kMinCodewords, kMaxCodewords);
    for (std::size_t k = 0; k <= weft::counters::kRepairable; ++k) {
      const double mean = codewords * shares[k];
      bins.push_back(mean > 1e6 ? static_cast<std::uint64_t>(mean + std::sqrt(mean) * normal_(random_))
                                : std::poisson_distribution<std::uint64_t>(std::max(mean, 1e-9))(random_));
    }
    return bins;
  }

 private:
  double between(double low, double high) { return std::uniform_real_distribution(low, high)(random_); }
  double log_between(double low, double high) { return std::exp(between(std::log(low), std::log(high))); }
  SplitMix64 random_;
  std::normal_distribution<double> normal_;
};

}  // namespace

void measure_tails(Figures& figures) {
  DrawnHistograms draw(7);
  double all = 0, held = 0, width = 0, refused = 0, wrongly = 0;
  for (int kind = 0; kind < 3; ++kind) {
    double of_kind = 0, held_of_kind = 0;
    for (int i = 0; i < kHistograms; ++i) {
      const Shares shares = draw.shares(kind);
      double loss = 0;
      for (std::size_t k = weft::counters::kRepairable + 1; k < shares.size(); ++k) loss += shares[k];
      const auto bins = draw.counted(shares);
      const auto filled = std::count_if(bins.begin() + 1, bins.end(), [](auto n) { return n > 0; });
      const auto tail = weft::counters::fec_tail(bins);
      refused += !tail;
      wrongly += tail.has_value() != (filled >= 3);
      if (!tail || loss < kMinLoss) continue;
      ++of_kind;
      held_of_kind += tail->low <= std::log10(loss) && std::log10(loss) <= tail->high;
      width += tail->high - tail->low;
    }
    constexpr std::array kNames{"tail_independent", "tail_bursty", "tail_mixed"};
    figures.add(kNames[static_cast<std::size_t>(kind)], held_of_kind / of_kind);
    all += of_kind;
    held += held_of_kind;
  }
  figures.add("tail_forecast", held / all, "0.85 to 0.95");
  figures.add("tail_decades", width / all);  // of the ranges
  figures.add("tail_refused", refused / (3.0 * kHistograms));
  figures.add("tail_refused_wrongly", wrongly, "0");
}

}  // namespace weft::bench::counters
