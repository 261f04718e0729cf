// CountModel along one hazard, the others held: the likelihood at every grid point, and bounds of what it
// gains.
#include <algorithm>
#include <cmath>
#include <limits>

#include "probes/diagnosis/counts/count_model.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kLogPowers = 250.0;        // nats: powers of a share down to exp(-250) are multiplied out
constexpr double kMaxUnsureEvents = 100.0;  // of bursts in a row: beyond, one of them lost its packets surely
constexpr double kMinBurst = 3.0;           // nats by which a burst must explain a row better to be looked at

}  // namespace

/// Multiplies what is folded last by times lost^k + beside, at every point.
void CountModel::multiply_by(double times, std::uint32_t k, double beside) const {
  const std::size_t points = grid_.size();
  std::ranges::fill(power_, times);
  for (; k > 0; k /= 2) {
    if (k % 2 == 1)
      for (std::size_t g = 0; g < points; ++g) power_[g] *= lost_[g];
    if (k > 1)
      for (std::size_t g = 0; g < points; ++g) lost_[g] *= lost_[g];
  }
  for (std::size_t g = 0; g < points; ++g) product_[g] *= power_[g] + beside;
}

/// The same for a row whose binomial coefficient or burst is no number to work with; ln of the scale.
double CountModel::multiply_by_scaled(std::uint32_t row) const {
  const std::uint32_t k = problem_.k[row];
  const double log_burst = log_burst_term_[row];
  const double most = log_choose_[row] - log_burst;  // where all is lost, in units of a burst
  if (k * std::log(lost_.front()) > -kLogPowers) {
    const double scale = std::max(most, 0.0);
    multiply_by(std::exp(most - scale), k, std::exp(-scale));
    return log_burst + scale;
  }
  // What is far above a burst needs no sum, and what is far below it adds nothing; nor does it at any smaller
  // hazard.
  for (std::size_t g = grid_.size(); g-- > 0;) {
    const double above = most + k * std::log(lost_[g]);
    if (above <= kNothingBeside) break;
    if (above > -kNothingBeside)
      profile_[g] += above;
    else
      product_[g] *= 1.0 + std::exp(above);
    // The end's product must bound all others (profile()).
    if (product_[g] > product_.back()) profile_[g] += std::log(product_[g]), product_[g] = 1.0;
  }
  return log_burst;
}

std::span<const double> CountModel::profile(std::uint32_t i) const {
  if (is_burst(i)) return burst_profile(suspect_of(i));
  const std::size_t points = grid_.size();
  std::ranges::fill(profile_, 0.0);
  std::ranges::fill(product_, 1.0);
  const auto own = spreads(hazard_[i], own_);
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
    const double pass = 1.0 - lost_elsewhere(cell, own);
    const double* passed = &passed_[cell.share * points];
    const double burst = burst_term_[row];
    const double choose = choose_[row];
    const bool direct = is_direct(row);
    if (direct && k == 1) {
      for (std::size_t g = 0; g < points; ++g) product_[g] *= choose * (1.0 - pass * passed[g]) + burst;
    } else {
      for (std::size_t g = 0; g < points; ++g) lost_[g] = 1.0 - pass * passed[g];
      if (direct)
        multiply_by(choose, k, burst);
      else
        by_bursts += multiply_by_scaled(row);
    }
    // Every factor rises with the hazard: the ends bound all.
    if (product_[points - 1] > LogProduct::kMost || product_[0] < 1.0 / LogProduct::kMost) fold();
  }
  fold();
  for (double& height : profile_) height += by_bursts;
  for (std::size_t share = 0; share < problem_.shares.size(); ++share)
    if (const double survivors = problem_.survivors(i, share); survivors > 0)
      for (std::size_t g = 0; g < points; ++g) profile_[g] -= survivors * spread_[share * points + g];
  return profile_;
}

std::span<const double> CountModel::burst_profile(std::uint32_t suspect) const {
  const std::size_t points = grid_.size();
  const double own = hazard_[suspect + suspects()];
  for (std::size_t g = 0; g < points; ++g) profile_[g] = -begins_[suspect] * grid_.hazard(g);
  std::ranges::fill(product_, 1.0);
  for (const auto& cell : problem_.rows_of(suspect)) {
    const std::uint32_t row = cell.index;
    const double share = problem_.shares[cell.share];
    const double even = 1.0 / (1.0 - stray_of(row));  // odds of a stray against none, and one
    const double begins = problem_.begins_of_bursts(row);
    const double rest = begins * std::max(row_burst_[row] - share * own, 0.0);
    const double single = log_single(row);
    const double top = std::max(single, log_burst_[row]);
    const double as_single = std::exp(single - top), as_burst = std::exp(log_burst_[row] - top);
    if (const double each = begins * share; each != exponents_of_) {  // most rows have as many packets
      for (std::size_t g = 0; g < points; ++g) exponents_[g] = std::exp(each * grid_.hazard(g));
      exponents_of_ = each;
    }
    const double even_rest = even * std::exp(std::min(rest, kMaxUnsureEvents));
    for (std::size_t g = 0; g < points; ++g) {
      const double events = rest + begins * share * grid_.hazard(g);
      if (events < kMaxUnsureEvents)
        product_[g] *= as_single + as_burst * std::max(even_rest * exponents_[g] - 1.0, 0.0);
      else
        profile_[g] += events + log_burst_[row] - top;
      if (product_[g] > LogProduct::kMost || product_[g] < 1.0 / LogProduct::kMost)
        profile_[g] += std::log(product_[g]), product_[g] = 1.0;
    }
  }
  for (std::size_t g = 0; g < points; ++g) profile_[g] += std::log(product_[g]);
  return profile_;
}

/// The log-likelihood of the counts of single losses along a suspect's loss p, the rest held: rows lose
/// 1 - (1 - rest) (1 - share p).
class CountModel::Lines {
 public:
  Lines(const CountModel& model, std::uint32_t suspect)
      : problem_(model.problem_), suspect_(suspect), rows_(model.lines_) {
    rows_.clear();
    const auto own = model.spreads(model.hazard_[suspect], model.own_);
    for (const auto& cell : problem_.rows_of(suspect)) {
      const double share = problem_.shares[cell.share];
      const double rest = model.lost_elsewhere(cell, own);
      rows_.push_back({static_cast<double>(problem_.k[cell.index]), rest, (1.0 - rest) * share});
    }
  }

  /// Its top is no further.
  double beyond_top() const {
    double lost = 0;
    for (const Line& row : rows_) lost += row.k;
    return std::min(lost / std::max(problem_.survivors(suspect_), 1e-9), 1.0);
  }

  double gained(double from, double to) const {
    LogProduct times;
    double sum = 0;
    for (const auto& [k, rest, rise] : rows_) {
      const double ratio = (rest + rise * to) / (rest + rise * from);
      if (k == 1)
        times.multiply_by(ratio);
      else
        sum += k * std::log(ratio);
    }
    sum += times.log();
    for_each_share([&](double share, double survivors) {
      sum += survivors * (std::log1p(-share * to) - std::log1p(-share * from));
    });
    return sum;
  }

  struct Slope {
    double first = 0, second = 0;
  };
  Slope slope(double at) const {
    Slope sum;
    const auto add = [&](double times, double each) {
      sum.first += times * each;
      sum.second -= std::abs(times) * each * each;
    };
    for (const auto& [k, rest, rise] : rows_) add(k, rise / (rest + rise * at));
    for_each_share([&](double share, double survivors) { add(-survivors, share / (1.0 - share * at)); });
    return sum;
  }

 private:
  void for_each_share(auto&& visit) const {
    for (std::size_t share = 0; share < problem_.shares.size(); ++share)
      if (const double survivors = problem_.survivors(suspect_, share); survivors > 0)
        visit(problem_.shares[share], survivors);
  }

  const CountProblem& problem_;
  std::uint32_t suspect_;
  std::vector<Line>& rows_;
};

/// The best hazard d is below lost / survived, where it alone explains every loss, and a row that loses p
/// without it loses at most 1 + d (1 - p) / p times that with it. Bursts are looked for only where single
/// losses explain a row badly.
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
  const auto own = spreads(hazard_[i], own_);
  for (const auto& cell : rows) {
    if (sum >= wanted) break;
    const double rest = lost_elsewhere(cell, own);
    sum += problem_.k[cell.index] * std::log1p(most * (1.0 - rest) / rest);
  }
  return sum >= wanted;
}

/// Over the loss p = 1 - exp(-d) the likelihood of single losses is a sum of logarithms of lines, and so
/// concave: where it falls its top is behind, and no tangent is below it. Bursts beside them only make what a
/// hazard gains smaller.
double CountModel::most_gained_from(std::uint32_t i, double least, double wanted) const {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  constexpr int kSteps = 12;
  if (is_burst(i) || least <= healthy_hazard(i)) return kUnknown;
  const Lines lines(*this, i);
  const double healthy = -std::expm1(-healthy_hazard(i));
  double low = -std::expm1(-least), high = lines.beyond_top(), bound = kUnknown;
  auto slope = lines.slope(low);
  double reached = lines.gained(healthy, low);
  if (slope.first <= 0 || low >= high) return reached;
  for (int step = 0; step < kSteps && reached < wanted; ++step) {
    bound = reached + slope.first * (high - low);
    if (bound < wanted) return bound;
    const double by_halves = std::sqrt(low * high), by_newton = low - slope.first / slope.second;
    const double middle = by_newton > by_halves && by_newton < high ? by_newton : by_halves;
    if (const auto there = lines.slope(middle); there.first > 0)
      low = middle, slope = there, reached = lines.gained(healthy, low);
    else
      high = middle;
  }
  return reached < wanted ? bound : kUnknown;
}

}  // namespace weft::diagnosis
