// AdditiveFit: maximum likelihood of non-negative amounts that add up along rows. Row r says something of the
// sum of the amounts it crosses by a concave log-likelihood; so the whole is convex: passes over single
// amounts and Newton steps find its top. Knows nothing of the product's own engine: the benchmarks judge that
// engine by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace weft::bench {

struct FitRow {
  std::vector<std::pair<std::uint32_t, double>> terms;  // amount, how many times it counts; each amount once
  // Either counts: `lost` of `sent`, each packet lost with 1 - exp(-(least + sum)) ...
  double sent = 0;
  double lost = 0;
  double least = 0;
  // ... or, where sent is 0, a measured value: the sum, with a Gaussian error of this standard deviation.
  double value = 0;
  double error = 1;
};

/// Log-likelihood of a row and its derivatives by the sum of its amounts.
struct Slope {
  double value = 0;
  double first = 0;
  double second = 0;
};

class AdditiveFit {
 public:
  /// Amounts are 0 to `most`.
  AdditiveFit(std::vector<FitRow> rows, std::size_t amounts, double most);

  /// The best log-likelihood in which only the `open` amounts are above zero; counts without the binomial
  /// coefficients, measures without the normalisation. `at` (of all amounts): where to begin; it holds the
  /// best amounts afterwards.
  double best(const std::vector<bool>& open, std::vector<double>& at) const;

  /// Rough amounts to begin with: what the cleanest row over each allows.
  std::vector<double> rough() const;
  const std::vector<FitRow>& rows() const { return rows_; }

 private:
  double likelihood(const std::vector<double>& amounts) const;
  std::vector<double> gradient(const std::vector<double>& at, std::vector<Slope>& slopes) const;
  std::vector<double> step(const std::vector<std::uint32_t>& free, const std::vector<double>& gradient,
                           const std::vector<Slope>& slopes) const;
  void pass(const std::vector<bool>& open, std::vector<double>& at) const;
  double newton(const std::vector<bool>& open, std::vector<double>& at) const;

  std::vector<FitRow> rows_;
  std::size_t amounts_;
  double most_;
  std::vector<std::vector<std::pair<std::uint32_t, double>>> over_;  // by amount: rows that cross it
};

}  // namespace weft::bench
