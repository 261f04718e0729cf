#include "tests/bench/verdicts/additive_fit.hpp"

#include <algorithm>
#include <cmath>

#include "topology/base/cholesky.hpp"

namespace weft::bench {
namespace {

constexpr int kMaxSteps = 200;
constexpr int kMaxHalvings = 40;
constexpr double kSettled = 1e-3;  // nats that a round gains
constexpr int kStepsOfOne = 20;
constexpr std::uint32_t kNone = ~0U;
constexpr double kDamping =
    1e-9;  // of the curvature: amounts that only occur together have no top of their own

double sum_of(const FitRow& row, const std::vector<double>& amounts) {
  double sum = row.least;
  for (const auto& [amount, times] : row.terms) sum += times * amounts[amount];
  return sum;
}

Slope slope_of(const FitRow& row, double sum) {
  if (row.sent == 0) {
    const double off = (row.value - sum) / row.error;
    return {-0.5 * off * off, off / row.error, -1 / (row.error * row.error)};
  }
  Slope slope{-(row.sent - row.lost) * sum, -(row.sent - row.lost), 0};
  if (row.lost > 0) {
    const double grown = std::expm1(sum);
    slope.value += row.lost * std::log(-std::expm1(-sum));
    slope.first += row.lost / grown;
    slope.second -= row.lost / grown * (1 + 1 / grown);
  }
  return slope;
}

}  // namespace

AdditiveFit::AdditiveFit(std::vector<FitRow> rows, std::size_t amounts, double most)
    : rows_(std::move(rows)), amounts_(amounts), most_(most), over_(amounts) {
  for (std::uint32_t r = 0; r < rows_.size(); ++r)
    for (const auto& [amount, times] : rows_[r].terms) over_[amount].emplace_back(r, times);
}

double AdditiveFit::likelihood(const std::vector<double>& amounts) const {
  double all = 0;
  for (const FitRow& row : rows_) all += slope_of(row, sum_of(row, amounts)).value;
  return all;
}

std::vector<double> AdditiveFit::rough() const {
  std::vector<double> amounts(amounts_, most_);
  for (const FitRow& row : rows_) {
    const double seen = row.sent == 0          ? row.value
                        : row.lost >= row.sent ? std::log(2 * row.sent)
                                               : -std::log1p(-row.lost / row.sent);
    const double each = std::max(seen, 0.0) / static_cast<double>(std::max<std::size_t>(row.terms.size(), 1));
    for (const auto& [amount, times] : row.terms) amounts[amount] = std::min(amounts[amount], each / times);
  }
  for (double& amount : amounts)
    if (amount == most_) amount = 0;  // no row crosses it
  return amounts;
}

/// The gradient at `at`; of each row its slope.
std::vector<double> AdditiveFit::gradient(const std::vector<double>& at, std::vector<Slope>& slopes) const {
  std::vector<double> gradient(amounts_, 0.0);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    slopes[r] = slope_of(rows_[r], sum_of(rows_[r], at));
    for (const auto& [amount, times] : rows_[r].terms) gradient[amount] += times * slopes[r].first;
  }
  return gradient;
}

/// Newton's step over the `free` amounts.
std::vector<double> AdditiveFit::step(const std::vector<std::uint32_t>& free,
                                      const std::vector<double>& gradient,
                                      const std::vector<Slope>& slopes) const {
  const std::size_t n = free.size();
  std::vector<std::uint32_t> place(amounts_, kNone);
  for (std::uint32_t i = 0; i < n; ++i) place[free[i]] = i;
  std::vector<double> curvature(n * n, 0.0);
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (const auto& [a, times_a] : rows_[r].terms)
      for (const auto& [b, times_b] : rows_[r].terms)
        if (place[a] != kNone && place[b] != kNone)
          curvature[place[a] * n + place[b]] -= times_a * times_b * slopes[r].second;
  std::vector<double> right;
  for (std::size_t i = 0; i < n; ++i) {
    curvature[i * n + i] += kDamping * curvature[i * n + i] + kDamping;
    right.push_back(gradient[free[i]]);
  }
  factorise(curvature, right.size());
  solve_factorised(curvature, right);
  return right;
}

/// One amount after the other to about its best, the others as they are: never worse, and it brings amounts
/// off a bound, and back to it, which Newton's step over all of them does badly.
void AdditiveFit::pass(const std::vector<bool>& open, std::vector<double>& at) const {
  std::vector<double> sums;
  for (const FitRow& row : rows_) sums.push_back(sum_of(row, at));
  for (std::uint32_t j = 0; j < amounts_; ++j) {
    if (!open[j] || over_[j].empty()) continue;
    for (int i = 0; i < kStepsOfOne; ++i) {
      Slope whole;
      for (const auto& [r, times] : over_[j]) {
        const Slope slope = slope_of(rows_[r], sums[r]);
        whole.value += slope.value;
        whole.first += times * slope.first;
        whole.second += times * times * slope.second;
      }
      const double aim = whole.second < 0  ? at[j] - whole.first / whole.second
                         : whole.first > 0 ? most_
                                           : 0.0;
      double move = std::clamp(aim, 0.0, most_) - at[j];
      double gain = -1;
      for (int halving = 0; halving < kMaxHalvings && move != 0; ++halving, move /= 2) {
        gain = -whole.value;
        for (const auto& [r, times] : over_[j]) gain += slope_of(rows_[r], sums[r] + times * move).value;
        if (gain >= 0) break;
      }
      if (!(gain > 0)) break;
      at[j] += move;
      for (const auto& [r, times] : over_[j]) sums[r] += times * move;
      if (gain < kSettled / 10) break;
    }
  }
}

/// Newton's step over all amounts that are off their bounds, as far as it gains.
double AdditiveFit::newton(const std::vector<bool>& open, std::vector<double>& at) const {
  std::vector<Slope> slopes(rows_.size());
  const auto up = gradient(at, slopes);
  std::vector<std::uint32_t> free;
  for (std::uint32_t j = 0; j < amounts_; ++j)
    if (open[j] && !(at[j] <= 0 && up[j] <= 0) && !(at[j] >= most_ && up[j] >= 0)) free.push_back(j);
  if (free.empty()) return 0;
  const auto move = step(free, up, slopes);
  const double now = likelihood(at);
  double part = 1;
  for (int halving = 0; halving < kMaxHalvings; ++halving, part /= 2) {
    auto next = at;
    for (std::size_t i = 0; i < free.size(); ++i)
      next[free[i]] = std::clamp(at[free[i]] + part * move[i], 0.0, most_);
    const double gain = likelihood(next) - now;
    if (!(gain > 0)) continue;
    at = std::move(next);
    return gain;
  }
  return 0;
}

double AdditiveFit::best(const std::vector<bool>& open, std::vector<double>& at) const {
  for (std::size_t j = 0; j < amounts_; ++j) at[j] = open[j] ? std::clamp(at[j], 0.0, most_) : 0.0;
  double now = likelihood(at);
  for (int i = 0; i < kMaxSteps; ++i) {
    pass(open, at);
    newton(open, at);
    const double reached = likelihood(at);
    const bool settled = reached - now < kSettled;
    now = reached;
    if (settled) break;
  }
  return now;
}

}  // namespace weft::bench
