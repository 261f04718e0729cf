#include "probes/diagnosis/counts/count_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::diagnosis {
namespace {

constexpr std::uint32_t kDirectLosses = 8;  // up to here powers are multiplied out
constexpr double kMaxChoose = 1e60;         // and binomial coefficients kept as numbers
constexpr double kMaxLogBytes = 700.0;
/// Of rows into a host that dropped packets, those of which it dropped many more, or fewer, than of others.
constexpr double kDroppedUnevenly = 0.1;
constexpr double kMaxStraysOfSize = 0.5;  // of bursts of one size
constexpr double kNoBurst = -1e4;         // nats: of a row whose host dropped all that it lost
/// Strays before any data: one observation in 2,000.
constexpr double kPriorStrays = 0.5;
constexpr double kPriorRows = 1000.0;

/// Hazard of a packet of which `share` of the paths crosses a suspect of this hazard.
double spread(double share, double hazard) {
  return share >= 1.0 ? hazard : -std::log1p(share * std::expm1(-hazard));
}

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

/// ln of the probability of k of n where so many are expected.
double log_binomial(double k, double n) {
  if (k >= n) return 0.0;
  return log_choose(n, k) + k * std::log(k / n) + (n - k) * std::log1p(-k / n);
}

double log_add(double a, double b) {
  const double high = std::max(a, b), below = std::min(a, b) - high;
  return below < kNothingBeside ? high : high + std::log1p(std::exp(below));
}

/// ln of the probability that k packets lost one by one of n lie in so many runs (Wald and Wolfowitz, Annals
/// of Mathematical Statistics 1940).
double log_scattered(double runs, double k, double n) {
  return log_choose(k - 1, runs - 1) + log_choose(n - k + 1, runs) - log_choose(n, k);
}

/// The same of a burst, which may have gaps: most have none, and any number is possible.
double log_gathered(double runs) { return -std::log(runs * (runs + 1)); }

std::vector<double> lost_of(const CountProblem& problem) {
  std::vector<double> lost;
  for (const Suspect& suspect : problem.suspects) lost.push_back(static_cast<double>(suspect.lost));
  return lost;
}

}  // namespace

double burst_of(double k, double n) {
  constexpr double kCut = 0.15;    // an outage that begins or ends within the row
  constexpr double kWhole = 0.03;  // one that lasts longer
  return (1 - kCut - kWhole) / (k * (k + 1.0)) + kCut / n + (k >= n ? kWhole : 0.0);
}

CountModel::CountModel(const CountProblem& problem, const BackgroundPrior& prior)
    : problem_(problem),
      prior_(prior),
      learned_{.mean = first_background(problem, lost_of(problem)), .shape = 4.0, .stray = 0.0},
      grid_(std::min(learned_.mean, prior.even ? 1.0 : prior.most)) {
  if (!prior_.even) learned_.mean = std::min(learned_.mean, prior_.most);
  learned_.stray = kPriorStrays / (static_cast<double>(problem.observations) + kPriorRows);
  hazard_.resize(2 * problem.suspects.size(), 0.0);
  for (std::uint32_t s = 0; s < suspects(); ++s) hazard_[s] = healthy_hazard(s);
  for (std::uint32_t row = 0; row < problem.row_count(); ++row) {
    const double n = problem.n[row];
    const double k = problem.k[row];
    const double excused = problem.excused[row];
    log_choose_.push_back(log_choose(n, k) - (n - k) * problem.drop_hazard(row));
    const double beyond = problem.beyond_drops(row);
    log_burst_.push_back(beyond > 0 ? std::log(burst_of(beyond, n - excused)) : kNoBurst);
    if (excused > 0) log_burst_.back() += log_binomial(excused, n - beyond);
    if (problem.knows_runs(row)) {
      log_choose_.back() += log_scattered(problem.runs[row], k, n);
      log_burst_.back() += log_gathered(problem.runs[row]);
    }
    const double direct = std::exp(std::min(log_choose_.back(), 700.0));
    choose_.push_back(problem.k[row] <= kDirectLosses && direct < kMaxChoose ? direct : 0.0);
  }
  for (const double share : problem.shares)
    for (const double d : grid_.hazards()) {
      spread_.push_back(spread(share, d));
      passed_.push_back(std::exp(-spread_.back()));
    }
  for (std::uint32_t s = 0; s < suspects(); ++s) begins_.push_back(problem.begins_of_all_bursts(s));
  profile_.resize(grid_.size());
  for (auto* const by_share : {&own_, &at_}) by_share->resize(problem.shares.size());
  for (auto* const by_point : {&product_, &lost_, &power_, &exponents_}) by_point->resize(grid_.size());
  log_size_.assign(problem.row_count(), 0.0);
  size_odds_.assign(problem.row_count(), 1.0);
  burst_term_.resize(problem.row_count());
  log_burst_term_.resize(problem.row_count());
  sum_rows();
  separate_strays_from_singles();
  make_healthy_priors({});
}

/// By turns, as each is counted by what the other leaves.
void CountModel::separate_strays_from_singles() {
  constexpr int kTurns = 12;
  constexpr double kSettled = 1.05;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double strays = first_strays();
    if (strays < kSettled * learned_.stray) break;
    learned_.stray = strays;
    for (std::uint32_t row = 0; row < problem_.row_count(); ++row) fold_bursts(row);
    std::vector<double> lost(suspects(), 0.0);
    for (std::uint32_t row = 0; row < problem_.row_count(); ++row) {
      const double singles = problem_.beyond_drops(row) * (1.0 - burst_weight(row));
      for (const auto& cell : problem_.suspects_of(row)) lost[cell.index] += singles;
    }
    learned_.mean = std::min(first_background(problem_, lost), learned_.mean);
    for (std::uint32_t s = 0; s < suspects(); ++s) hazard_[s] = healthy_hazard(s);
    sum_rows();
  }
}

double CountModel::healthy_hazard(std::uint32_t i) const {
  if (is_burst(i)) return 0.0;
  const Suspect& it = problem_.suspects[i];
  return it.is_channel() ? learned_.mean * static_cast<double>(it.channels.size()) : 0.0;
}

double CountModel::stray_hazard() const {
  double crossings = 0;
  for (std::uint32_t s = 0; s < suspects(); ++s)
    if (problem_.suspects[s].is_channel())
      crossings += begins_[s] * static_cast<double>(problem_.suspects[s].channels.size());
  return learned_.stray * static_cast<double>(problem_.observations) / std::max(crossings, 1.0);
}

void CountModel::sum_rows() {
  for (auto* const by_row : {&row_hazard_, &row_lost_, &log_single_}) by_row->resize(problem_.row_count());
  row_burst_.assign(problem_.row_count(), 0.0);
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row) {
    double hazard = problem_.drop_hazard(row);
    for (const auto& cell : problem_.suspects_of(row)) {
      hazard += spread(problem_.shares[cell.share], hazard_[cell.index]);
      row_burst_[row] += problem_.shares[cell.share] * hazard_[cell.index + suspects()];
    }
    set_row_hazard(row, hazard);
    fold_bursts(row);
  }
}

void CountModel::set_row_hazard(std::uint32_t row, double hazard) {
  row_hazard_[row] = hazard;
  row_lost_[row] = -std::expm1(-std::max(hazard, kMinHazard));
  log_single_[row] = std::numeric_limits<double>::quiet_NaN();
}

double CountModel::stray_of(std::uint32_t row) const {
  const bool is_mostly_dropped =
      problem_.excused[row] > 0 && problem_.excused[row] >= problem_.beyond_drops(row);
  if (is_mostly_dropped) return std::max(kDroppedUnevenly, learned_.stray);
  return std::min(learned_.stray / size_odds_[row], kMaxStraysOfSize);
}

/// ln of the odds of a burst in a row against none, where nE of them are expected.
double CountModel::log_burst_odds(std::uint32_t row, double events) const {
  const double over = 1.0 / (1.0 - stray_of(row)) - std::exp(-events);
  return events + std::log(std::max(over, 1e-300));
}

void CountModel::fold_bursts(std::uint32_t row) {
  const double log_term =
      log_burst_odds(row, problem_.begins_of_bursts(row) * row_burst_[row]) + log_burst_[row];
  log_burst_term_[row] = log_term;
  burst_term_[row] = log_term < kMaxLogBytes ? std::exp(log_term) : std::numeric_limits<double>::infinity();
}

void CountModel::set_hazard(std::uint32_t i, double hazard) {
  const auto before = spreads(hazard_[i], own_), now = spreads(hazard, at_);
  for (const auto& cell : problem_.rows_of(suspect_of(i))) {
    if (is_burst(i)) {
      const double share = problem_.shares[cell.share];
      row_burst_[cell.index] = std::max(row_burst_[cell.index] + share * (hazard - hazard_[i]), 0.0);
      fold_bursts(cell.index);
    } else {
      const double more = now[cell.share].hazard - before[cell.share].hazard;
      set_row_hazard(cell.index, row_hazard_[cell.index] + more);
    }
  }
  hazard_[i] = hazard;
}

auto CountModel::spreads(double hazard, std::vector<Spread>& by_share) const -> std::span<const Spread> {
  const double lost = -std::expm1(-hazard);
  for (std::size_t share = 0; share < problem_.shares.size(); ++share)
    by_share[share] = {spread(problem_.shares[share], hazard), problem_.shares[share] * lost};
  return by_share;
}

/// The share of a row's packets that is lost without a suspect that a share of its paths crosses: `own`, by
/// share, is the suspect's. Where that loses nearly all, what is left of it has no digits.
double CountModel::lost_elsewhere(const CountProblem::Cell& cell, std::span<const Spread> own) const {
  constexpr double kNearlyAll = 0.9;
  const auto& [hazard, lost] = own[cell.share];
  const double rest = lost < kNearlyAll ? (row_lost_[cell.index] - lost) / (1.0 - lost)
                                        : -std::expm1(hazard - row_hazard_[cell.index]);
  return std::max(rest, kMinHazard);
}

/// Times the probability of a row's counts, but for what did not get lost, where so much of it is lost one by
/// one.
void CountModel::multiply_by_row(std::uint32_t row, double lost, LogProduct& product) const {
  if (is_direct(row)) {
    double power = choose_[row];
    for (std::uint32_t k = problem_.k[row]; k > 0; --k) power *= lost;
    product.multiply_by(power + burst_term_[row]);
  } else {
    product.add(log_add(log_choose_[row] + problem_.k[row] * std::log(lost), log_burst_term_[row]));
  }
}

double CountModel::log_single(std::uint32_t row) const {
  double& known = log_single_[row];
  if (std::isnan(known)) known = log_choose_[row] + problem_.k[row] * std::log(row_lost_[row]);
  return known;
}

double CountModel::value(std::uint32_t i, double hazard) const {
  const std::uint32_t suspect = suspect_of(i);
  if (is_burst(i)) {
    double sum = -begins_[suspect] * hazard;
    for (const auto& cell : problem_.rows_of(suspect)) {
      const std::uint32_t row = cell.index;
      const double share = problem_.shares[cell.share];
      const double rest = std::max(row_burst_[row] - share * hazard_[i], 0.0);
      sum += log_add(
          log_single(row),
          log_burst_odds(row, problem_.begins_of_bursts(row) * (rest + share * hazard)) + log_burst_[row]);
    }
    return sum;
  }
  LogProduct product;
  const auto own = spreads(hazard_[i], own_), at = spreads(hazard, at_);
  for (const auto& cell : problem_.rows_of(suspect)) {
    const double rest = lost_elsewhere(cell, own);
    multiply_by_row(cell.index, rest + (1.0 - rest) * at[cell.share].lost, product);
  }
  double sum = product.log();
  for (std::size_t share = 0; share < problem_.shares.size(); ++share)
    if (const double survivors = problem_.survivors(suspect, share); survivors > 0)
      sum -= survivors * at[share].hazard;
  return sum;
}

double CountModel::log_likelihood() const {
  LogProduct product;
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row)
    multiply_by_row(row, row_lost_[row], product);
  double sum = product.log();
  for (std::uint32_t s = 0; s < suspects(); ++s) {
    sum -= begins_[s] * hazard_[s + suspects()];
    for (std::size_t share = 0; share < problem_.shares.size(); ++share)
      sum -= problem_.survivors(s, share) * spread(problem_.shares[share], hazard_[s]);
  }
  return sum + std::log1p(-learned_.stray) * static_cast<double>(problem_.observations);
}

double CountModel::burst_weight(std::uint32_t row) const {
  const double log_odds = log_burst_term_[row] - log_single(row);
  return 1.0 / (1.0 + std::exp(-log_odds));
}

double CountModel::stray_weight(std::uint32_t row) const {
  const double events = -std::expm1(-problem_.begins_of_bursts(row) * row_burst_[row]);
  return stray_of(row) / (stray_of(row) + events);
}

const std::vector<double>& CountModel::healthy_prior(std::uint32_t i) const {
  if (is_burst(i)) return healthy_.front();
  const Suspect& it = problem_.suspects[i];
  return healthy_[it.is_channel() ? it.channels.size() : 0];
}

}  // namespace weft::diagnosis
