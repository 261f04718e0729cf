#include "probes/diagnosis/count_model.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

constexpr std::uint32_t kDirectLosses = 8;  // up to here powers are multiplied out
constexpr double kLargestChoose = 1e60;     // and binomial coefficients kept as numbers
constexpr double kFoldAbove = 1e120;

/// Hazard of a packet of which `share` of the paths crosses a suspect of this hazard.
double spread(double share, double hazard) {
  return share >= 1.0 ? hazard : -std::log1p(share * std::expm1(-hazard));
}

/// Of stray bursts that lose k packets: heavy-tailed, every size possible; sums to 1.
double stray(std::uint32_t k) { return 1.0 / (static_cast<double>(k) * (k + 1.0)); }

double power(double base, std::uint32_t exponent) {
  double result = base;
  for (std::uint32_t i = 1; i < exponent; ++i) result *= base;
  return result;
}

double log_add(double a, double b) {
  const double high = std::max(a, b);
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

/// Losses per packet of the paths over a channel, pooled over the channels that show no more than `usual`
/// leads one to expect (three standard deviations and three packets of grace).
double pooled_loss(const CountProblem& problem, double usual) {
  double lost = 0.5;
  double sent = 1;
  for (const Suspect& suspect : problem.suspects) {
    if (!suspect.is_channel()) continue;
    const double expected = usual * static_cast<double>(suspect.sent);
    if (static_cast<double>(suspect.lost) > expected + 3 * std::sqrt(expected) + 3) continue;
    lost += static_cast<double>(suspect.lost);
    sent += static_cast<double>(suspect.sent);
  }
  return lost / sent;
}

/// What a channel loses: first from the better half of the channels, for most faults harm the other half;
/// then from all that fit in with these.
double first_background(const CountProblem& problem) {
  std::vector<double> rates;
  double crossings = 0;
  for (std::uint32_t s = 0; s < problem.suspects.size(); ++s) {
    const Suspect& suspect = problem.suspects[s];
    if (!suspect.is_channel()) continue;
    rates.push_back(static_cast<double>(suspect.lost) / static_cast<double>(suspect.sent));
    for (std::size_t share = 0; share < problem.shares.size(); ++share)
      crossings +=
          problem.shares[share] * problem.survivors(s, share) * static_cast<double>(suspect.channels.size());
  }
  if (rates.empty()) return 1e-8;
  std::ranges::nth_element(rates, rates.begin() + std::ssize(rates) / 4);
  double usual = rates[rates.size() / 4];
  for (int i = 0; i < 8; ++i) usual = pooled_loss(problem, usual);
  const double channels_a_path = std::max(crossings / std::max(static_cast<double>(problem.sent), 1.0), 1.0);
  return std::clamp(usual / channels_a_path, 1e-8, 0.1);
}

}  // namespace

CountModel::CountModel(const CountProblem& problem)
    : problem_(problem),
      learned_{.mean = first_background(problem), .shape = 4.0, .burst = 0.0},
      grid_(learned_.mean) {
  learned_.burst = 0.5 / (static_cast<double>(problem.observations) + 1000.0);
  hazard_.resize(problem.suspects.size(), 0.0);
  for (std::uint32_t s = 0; s < problem.suspects.size(); ++s)
    if (problem.suspects[s].is_channel())
      hazard_[s] = learned_.mean * static_cast<double>(problem.suspects[s].channels.size());
  for (std::uint32_t row = 0; row < problem.row_count(); ++row) {
    const double n = problem.n[row];
    const double k = problem.k[row];
    log_choose_.push_back(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1));
    const double direct = std::exp(std::min(log_choose_.back(), 700.0));
    choose_.push_back(problem.k[row] <= kDirectLosses && direct < kLargestChoose ? direct : 0.0);
  }
  for (const double share : problem.shares)
    for (const double d : grid_.hazards()) {
      spread_.push_back(spread(share, d));
      passed_.push_back(std::exp(-spread_.back()));
    }
  profile_.resize(grid_.size());
  product_.resize(grid_.size());
  sum_rows();
  make_healthy_priors({});
}

void CountModel::sum_rows() {
  row_hazard_.assign(problem_.row_count(), 0.0);
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row)
    for (const auto& cell : problem_.suspects_of(row))
      row_hazard_[row] += spread(problem_.shares[cell.share], hazard_[cell.index]);
}

void CountModel::set_hazard(std::uint32_t suspect, double hazard) {
  for (const auto& cell : problem_.rows_of(suspect)) {
    const double share = problem_.shares[cell.share];
    row_hazard_[cell.index] += spread(share, hazard) - spread(share, hazard_[suspect]);
  }
  hazard_[suspect] = hazard;
}

double CountModel::others(std::uint32_t row, double share, double own) const {
  return std::max(row_hazard_[row] - spread(share, own), kSmallestHazard);
}

std::span<const double> CountModel::profile(std::uint32_t suspect) const {
  const std::size_t points = grid_.size();
  std::ranges::fill(profile_, 0.0);
  std::ranges::fill(product_, 1.0);
  const double odds = learned_.burst / (1.0 - learned_.burst);
  const auto fold = [&] {
    for (std::size_t g = 0; g < points; ++g) {
      profile_[g] += std::log(product_[g]);
      product_[g] = 1.0;
    }
  };
  for (const auto& cell : problem_.rows_of(suspect)) {
    const std::uint32_t row = cell.index;
    const std::uint32_t k = problem_.k[row];
    const double pass = std::exp(-others(row, problem_.shares[cell.share], hazard_[suspect]));
    const double* passed = &passed_[cell.share * points];
    const double burst = odds * stray(k);
    const double choose = choose_[row];
    if (choose > 0 && k == 1) {
      for (std::size_t g = 0; g < points; ++g) product_[g] *= choose * (1.0 - pass * passed[g]) + burst;
    } else if (choose > 0) {
      for (std::size_t g = 0; g < points; ++g)
        product_[g] *= choose * power(1.0 - pass * passed[g], k) + burst;
    } else {
      const double log_burst = std::log(burst);
      for (std::size_t g = 0; g < points; ++g)
        profile_[g] += log_add(log_choose_[row] + k * std::log(1.0 - pass * passed[g]), log_burst);
    }
    // Every factor rises with the hazard: the ends bound all.
    if (product_[points - 1] > kFoldAbove || product_[0] < 1.0 / kFoldAbove) fold();
  }
  fold();
  for (std::size_t share = 0; share < problem_.shares.size(); ++share)
    if (const double survivors = problem_.survivors(suspect, share); survivors > 0)
      for (std::size_t g = 0; g < points; ++g) profile_[g] -= survivors * spread_[share * points + g];
  return profile_;
}

/// The best hazard is below lost / survived, where it alone explains every loss, and (1 - exp(-e - d)) /
/// (1 - exp(-e)) <= 1 + d / e.
double CountModel::most_gained(std::uint32_t suspect) const {
  double survivors = 0;
  for (std::size_t share = 0; share < problem_.shares.size(); ++share)
    survivors += problem_.shares[share] * problem_.survivors(suspect, share);
  const double most = static_cast<double>(problem_.suspects[suspect].lost) / std::max(survivors, 1e-9);
  double sum = 0;
  for (const auto& cell : problem_.rows_of(suspect)) {
    const double rest = others(cell.index, problem_.shares[cell.share], hazard_[suspect]);
    sum += problem_.k[cell.index] * std::log1p(most / rest);
  }
  return sum;
}

double CountModel::value(std::uint32_t suspect, double hazard) const {
  const double odds = learned_.burst / (1.0 - learned_.burst);
  double sum = 0;
  for (const auto& cell : problem_.rows_of(suspect)) {
    const std::uint32_t row = cell.index;
    const double share = problem_.shares[cell.share];
    const double d = others(row, share, hazard_[suspect]) + spread(share, hazard);
    sum += log_add(log_choose_[row] + problem_.k[row] * std::log(-std::expm1(-d)),
                   std::log(odds * stray(problem_.k[row])));
  }
  for (std::size_t share = 0; share < problem_.shares.size(); ++share)
    if (const double survivors = problem_.survivors(suspect, share); survivors > 0)
      sum -= survivors * spread(problem_.shares[share], hazard);
  return sum;
}

double CountModel::burst_weight(std::uint32_t row) const {
  const std::uint32_t k = problem_.k[row];
  const double d = std::max(row_hazard_[row], kSmallestHazard);
  const double log_odds = std::log(learned_.burst / (1.0 - learned_.burst) * stray(k)) - log_choose_[row] -
                          k * std::log(-std::expm1(-d));
  return 1.0 / (1.0 + std::exp(-log_odds));
}

const std::vector<double>& CountModel::healthy_prior(std::uint32_t suspect) const {
  const Suspect& it = problem_.suspects[suspect];
  return healthy_[it.is_channel() ? it.channels.size() : 0];
}

}  // namespace weft
