#include "probes/diagnosis/counts/count_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::diagnosis {
namespace {

constexpr std::uint32_t kDirectLosses = 8;  // up to here powers are multiplied out
constexpr double kMaxChoose = 1e60;         // and binomial coefficients kept as numbers
constexpr double kFoldAbove = 1e120;
constexpr double kMaxLogBytes = 700.0;
constexpr double kNothingBeside = -37.0;  // nats: 1 + exp(-37) is 1 to the last digit
/// Of rows into a host that dropped packets, those of which it dropped many more, or fewer, than of others.
constexpr double kDroppedUnevenly = 0.1;
constexpr double kNoBurst = -1e4;     // nats: of a row whose host dropped all that it lost
constexpr double kFewEvents = 100.0;  // of bursts in a row: beyond, one of them lost its packets surely
constexpr double kMinBurst = 3.0;     // nats by which a burst must explain a row better to be looked at
/// Strays before any data: one observation in 2,000.
constexpr double kPriorStrays = 0.5;
constexpr double kPriorRows = 1000.0;

/// Hazard of a packet of which `share` of the paths crosses a suspect of this hazard.
double spread(double share, double hazard) {
  return share >= 1.0 ? hazard : -std::log1p(share * std::expm1(-hazard));
}

/// Of bursts that lose k of n packets: heavy-tailed, every size possible, all of them likelier than most;
/// sums to less than 1.
double burst_of(double k, double n) {
  constexpr double kCut = 0.15;    // an outage that begins or ends within the row
  constexpr double kWhole = 0.03;  // one that lasts longer
  return (1 - kCut - kWhole) / (k * (k + 1.0)) + kCut / n + (k >= n ? kWhole : 0.0);
}

double log_choose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

/// ln of the probability of k of n where so many are expected.
double log_binomial(double k, double n) {
  if (k >= n) return 0.0;
  return log_choose(n, k) + k * std::log(k / n) + (n - k) * std::log1p(-k / n);
}

double power(double base, std::uint32_t exponent) {
  double result = base;
  for (std::uint32_t i = 1; i < exponent; ++i) result *= base;
  return result;
}

double log_add(double a, double b) {
  const double high = std::max(a, b), below = std::min(a, b) - high;
  return below < kNothingBeside ? high : high + std::log1p(std::exp(below));
}

std::vector<double> lost_of(const CountProblem& problem) {
  std::vector<double> lost;
  for (const Suspect& suspect : problem.suspects) lost.push_back(static_cast<double>(suspect.lost));
  return lost;
}

}  // namespace

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
    const double direct = std::exp(std::min(log_choose_.back(), 700.0));
    choose_.push_back(problem.k[row] <= kDirectLosses && direct < kMaxChoose ? direct : 0.0);
  }
  for (const double share : problem.shares)
    for (const double d : grid_.hazards()) {
      spread_.push_back(spread(share, d));
      passed_.push_back(std::exp(-spread_.back()));
    }
  for (std::uint32_t s = 0; s < suspects(); ++s) exposed_.push_back(problem.exposure(s));
  profile_.resize(grid_.size());
  product_.resize(grid_.size());
  burst_term_.resize(problem.row_count());
  log_burst_term_.resize(problem.row_count());
  sum_rows();
  tell_strays_from_singles();
  make_healthy_priors({});
}

/// By turns, as each is counted by what the other leaves.
void CountModel::tell_strays_from_singles() {
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
      crossings += exposed_[s] * static_cast<double>(problem_.suspects[s].channels.size());
  return learned_.stray * static_cast<double>(problem_.observations) / std::max(crossings, 1.0);
}

void CountModel::sum_rows() {
  row_hazard_.resize(problem_.row_count());
  row_burst_.assign(problem_.row_count(), 0.0);
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row) {
    row_hazard_[row] = problem_.drop_hazard(row);
    for (const auto& cell : problem_.suspects_of(row)) {
      row_hazard_[row] += spread(problem_.shares[cell.share], hazard_[cell.index]);
      row_burst_[row] += problem_.shares[cell.share] * hazard_[cell.index + suspects()];
    }
    fold_bursts(row);
  }
}

double CountModel::stray_of(std::uint32_t row) const {
  const bool is_mostly_dropped =
      problem_.excused[row] > 0 && problem_.excused[row] >= problem_.beyond_drops(row);
  return is_mostly_dropped ? std::max(kDroppedUnevenly, learned_.stray) : learned_.stray;
}

/// ln of the odds of a burst in a row against none, where nE of them are expected.
double CountModel::log_burst_odds(std::uint32_t row, double events) const {
  const double over = 1.0 / (1.0 - stray_of(row)) - std::exp(-events);
  return events + std::log(std::max(over, 1e-300));
}

void CountModel::fold_bursts(std::uint32_t row) {
  const double log_term = log_burst_odds(row, problem_.n[row] * row_burst_[row]) + log_burst_[row];
  log_burst_term_[row] = log_term;
  burst_term_[row] = log_term < kMaxLogBytes ? std::exp(log_term) : std::numeric_limits<double>::infinity();
}

void CountModel::set_hazard(std::uint32_t i, double hazard) {
  for (const auto& cell : problem_.rows_of(suspect_of(i))) {
    const double share = problem_.shares[cell.share];
    if (is_burst(i)) {
      row_burst_[cell.index] = std::max(row_burst_[cell.index] + share * (hazard - hazard_[i]), 0.0);
      fold_bursts(cell.index);
    } else {
      row_hazard_[cell.index] += spread(share, hazard) - spread(share, hazard_[i]);
    }
  }
  hazard_[i] = hazard;
}

/// What a row's path loses without a suspect that `share` of it crosses and whose hazard is `own`.
double CountModel::others(std::uint32_t row, double share, double own) const {
  return std::max(row_hazard_[row] - spread(share, own), kMinHazard);
}

std::span<const double> CountModel::profile(std::uint32_t i) const {
  if (is_burst(i)) return burst_profile(suspect_of(i));
  const std::size_t points = grid_.size();
  std::ranges::fill(profile_, 0.0);
  std::ranges::fill(product_, 1.0);
  double by_bursts = 0;
  const auto fold = [&] {
    for (std::size_t g = 0; g < points; ++g) {
      profile_[g] += std::log(product_[g]);
      product_[g] = 1.0;
    }
  };
  for (const auto& cell : problem_.rows_of(i)) {
    const std::uint32_t row = cell.index;
    const std::uint32_t k = problem_.k[row];
    const double pass = std::exp(-others(row, problem_.shares[cell.share], hazard_[i]));
    const double* passed = &passed_[cell.share * points];
    const double burst = burst_term_[row];
    const double choose = choose_[row];
    if (choose > 0 && k == 1 && burst < kFoldAbove) {
      for (std::size_t g = 0; g < points; ++g) product_[g] *= choose * (1.0 - pass * passed[g]) + burst;
    } else if (choose > 0 && burst < kFoldAbove) {
      for (std::size_t g = 0; g < points; ++g)
        product_[g] *= choose * power(1.0 - pass * passed[g], k) + burst;
    } else {
      // In units of a burst: what is far above it needs no sum, and what is far below it adds nothing; nor
      // does it at any smaller hazard.
      const double log_burst = log_burst_term_[row];
      const double log_rest = log_choose_[row] - log_burst;
      by_bursts += log_burst;
      for (std::size_t g = points; g-- > 0;) {
        const double above = log_rest + k * std::log(1.0 - pass * passed[g]);
        if (above <= kNothingBeside) break;
        if (above > -kNothingBeside)
          profile_[g] += above;
        else
          product_[g] *= 1.0 + std::exp(above);
        if (product_[g] > kFoldAbove) profile_[g] += std::log(product_[g]), product_[g] = 1.0;
      }
    }
    // Every factor rises with the hazard: the ends bound all.
    if (product_[points - 1] > kFoldAbove || product_[0] < 1.0 / kFoldAbove) fold();
  }
  fold();
  for (double& height : profile_) height += by_bursts;
  for (std::size_t share = 0; share < problem_.shares.size(); ++share)
    if (const double survivors = problem_.survivors(i, share); survivors > 0)
      for (std::size_t g = 0; g < points; ++g) profile_[g] -= survivors * spread_[share * points + g];
  return profile_;
}

double CountModel::log_single(std::uint32_t row) const {
  const double d = std::max(row_hazard_[row], kMinHazard);
  return log_choose_[row] + problem_.k[row] * std::log(-std::expm1(-d));
}

std::span<const double> CountModel::burst_profile(std::uint32_t suspect) const {
  const std::size_t points = grid_.size();
  const double own = hazard_[suspect + suspects()];
  for (std::size_t g = 0; g < points; ++g) profile_[g] = -exposed_[suspect] * grid_.hazard(g);
  std::ranges::fill(product_, 1.0);
  for (const auto& cell : problem_.rows_of(suspect)) {
    const std::uint32_t row = cell.index;
    const double share = problem_.shares[cell.share];
    const double even = 1.0 / (1.0 - stray_of(row));  // odds of a stray against none, and one
    const double rest = problem_.n[row] * std::max(row_burst_[row] - share * own, 0.0);
    const double single = log_single(row);
    const double top = std::max(single, log_burst_[row]);
    const double as_single = std::exp(single - top), as_burst = std::exp(log_burst_[row] - top);
    for (std::size_t g = 0; g < points; ++g) {
      const double events = rest + problem_.n[row] * share * grid_.hazard(g);
      if (events < kFewEvents)
        product_[g] *= as_single + as_burst * std::max(even * std::exp(events) - 1.0, 0.0);
      else
        profile_[g] += events + log_burst_[row] - top;
      if (product_[g] > kFoldAbove || product_[g] < 1.0 / kFoldAbove)
        profile_[g] += std::log(product_[g]), product_[g] = 1.0;
    }
  }
  for (std::size_t g = 0; g < points; ++g) profile_[g] += std::log(product_[g]);
  return profile_;
}

/// The best hazard is below lost / survived, where it alone explains every loss, and (1 - exp(-e - d)) /
/// (1 - exp(-e)) <= 1 + d / e. Bursts are looked for only where single losses explain a row badly.
bool CountModel::may_gain(std::uint32_t i, double wanted) const {
  const auto rows = problem_.rows_of(suspect_of(i));
  if (is_burst(i)) {
    double sum = 0;
    for (const auto& cell : rows)
      sum += std::max(
          log_burst_[cell.index] - std::max(log_single(cell.index), log_burst_term_[cell.index]) - kMinBurst,
          0.0);
    return sum > 0 && sum + kMinBurst * static_cast<double>(rows.size()) >= wanted;
  }
  double lost = 0, sum = 0;
  for (const auto& cell : rows) lost += problem_.k[cell.index];
  const double most = lost / std::max(problem_.survivors(i), 1e-9);
  for (const auto& cell : rows) {
    if (sum >= wanted) break;
    const double rest = others(cell.index, problem_.shares[cell.share], hazard_[i]);
    sum += problem_.k[cell.index] * std::log1p(most / rest);
  }
  return sum >= wanted;
}

/// Of single losses over paths of one share the likelihood has one top, and where it falls at `least` that is
/// behind. Bursts beside them only make what a hazard gains smaller.
double CountModel::most_gained_from(std::uint32_t i, double least) const {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const auto cells = problem_.rows_of(suspect_of(i));
  if (is_burst(i) || cells.empty() || least <= healthy_hazard(i)) return kUnknown;
  const std::uint8_t only = cells.front().share;
  for (std::size_t share = 0; share < problem_.shares.size(); ++share)
    if (share != only && problem_.survivors(i, share) > 0) return kUnknown;
  const double share = problem_.shares[only], survivors = problem_.survivors(i, only);
  const double at = spread(share, least), healthy = spread(share, healthy_hazard(i));
  double rises = 0;
  for (const auto& cell : cells) {
    if (cell.share != only) return kUnknown;
    rises += problem_.k[cell.index] / std::expm1(others(cell.index, share, hazard_[i]) + at);
    if (rises > survivors) return kUnknown;
  }
  double gained = -survivors * (at - healthy);
  for (const auto& cell : cells) {
    const double rest = others(cell.index, share, hazard_[i]);
    gained += problem_.k[cell.index] * std::log(std::expm1(-rest - at) / std::expm1(-rest - healthy));
  }
  return gained;
}

double CountModel::value(std::uint32_t i, double hazard) const {
  const std::uint32_t suspect = suspect_of(i);
  double sum = is_burst(i) ? -exposed_[suspect] * hazard : 0.0;
  for (const auto& cell : problem_.rows_of(suspect)) {
    const std::uint32_t row = cell.index;
    const double share = problem_.shares[cell.share];
    if (is_burst(i)) {
      const double rest = std::max(row_burst_[row] - share * hazard_[i], 0.0);
      sum += log_add(log_single(row),
                     log_burst_odds(row, problem_.n[row] * (rest + share * hazard)) + log_burst_[row]);
    } else {
      const double d = others(row, share, hazard_[i]) + spread(share, hazard);
      sum += log_add(log_choose_[row] + problem_.k[row] * std::log(-std::expm1(-d)), log_burst_term_[row]);
    }
  }
  if (is_burst(i)) return sum;
  for (std::size_t share = 0; share < problem_.shares.size(); ++share)
    if (const double survivors = problem_.survivors(suspect, share); survivors > 0)
      sum -= survivors * spread(problem_.shares[share], hazard);
  return sum;
}

double CountModel::log_likelihood() const {
  double sum = 0;
  for (std::uint32_t row = 0; row < problem_.row_count(); ++row)
    sum += log_add(log_single(row), log_burst_term_[row]);
  for (std::uint32_t s = 0; s < suspects(); ++s) {
    sum -= exposed_[s] * hazard_[s + suspects()];
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
  const double events = -std::expm1(-problem_.n[row] * row_burst_[row]);
  return stray_of(row) / (stray_of(row) + events);
}

const std::vector<double>& CountModel::healthy_prior(std::uint32_t i) const {
  if (is_burst(i)) return healthy_.front();
  const Suspect& it = problem_.suspects[i];
  return healthy_[it.is_channel() ? it.channels.size() : 0];
}

}  // namespace weft::diagnosis
