#include "probes/diagnosis/delay/delay_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "topology/base/cholesky.hpp"
#include "topology/base/statistics.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kAlike = 3.0;  // nats: a cause this close in fit is not told from the best
constexpr double kDecades =
    13.8;                        // ln(1e6): a shift of any order of magnitude from a microsecond to a second
constexpr double kRidge = 1e-9;  // of the largest diagonal: causes that cannot be told apart
constexpr int kAbsoluteSteps = 6;  // of least absolute residuals, which any start reaches
constexpr int kNearSteps = 3;      // from a solution of nearly the same causes
constexpr int kStudentSteps = 3;
constexpr int kJointSteps = 12;
constexpr int kSparseSteps = 96;
constexpr int kJointSweeps = 12;
constexpr double kCheaper = 0.93;  // what a shift costs, from step to step: a thousandth at the end
constexpr int kMaxMoves = 200;
constexpr std::size_t kAdds = 6;
constexpr std::size_t kSwaps = 4;
constexpr std::size_t kDrops = 6;
constexpr std::size_t kRivals = 8;
constexpr double kUnlikely = 7.0;   // nats: a rival of such odds against it is not worth listing
constexpr double kImitated = 0.95;  // of a column by the others: then it can take over from them
constexpr double kPart = 1e-3;      // of a column in a mixture: less is none
constexpr double kNothing = 5.0;    // standard errors

std::vector<std::uint32_t> with(std::vector<std::uint32_t> support, std::uint32_t column) {
  support.insert(std::ranges::lower_bound(support, column), column);
  return support;
}
std::vector<std::uint32_t> less(std::vector<std::uint32_t> support, std::uint32_t column) {
  std::erase(support, column);
  return support;
}

}  // namespace

DelayFit::DelayFit(std::vector<double> late, std::vector<double> noise, std::vector<Column> columns)
    : late_(std::move(late)), noise_(std::move(noise)), columns_(std::move(columns)), of_row_(late_.size()) {
  for (std::uint32_t c = 0; c < columns_.size(); ++c)
    for (const Entry& entry : columns_[c].entries) of_row_[entry.row].push_back({c, entry.weight});
}

std::vector<double> DelayFit::residuals(const Solution& solution) const {
  auto left = late_;
  for (std::size_t s = 0; s < solution.support.size(); ++s)
    for (const Entry& entry : columns_[solution.support[s]].entries)
      left[entry.row] -= entry.weight * solution.shifts[s];
  return left;
}

/// The products of a column with those of the support.
std::vector<double> DelayFit::products(std::uint32_t column, const std::vector<std::int32_t>& place,
                                       std::size_t n, const std::vector<double>& weights) const {
  std::vector<double> sums(n, 0.0);
  for (const Entry& entry : columns_[column].entries)
    for (const Entry& other : of_row_[entry.row])
      if (const auto at = place[other.row]; at >= 0)
        sums[static_cast<std::size_t>(at)] += weights[entry.row] * entry.weight * other.weight;
  return sums;
}

std::vector<std::int32_t> DelayFit::places(const std::vector<std::uint32_t>& support) const {
  std::vector<std::int32_t> place(columns_.size(), -1);
  for (std::size_t s = 0; s < support.size(); ++s) place[support[s]] = static_cast<std::int32_t>(s);
  return place;
}

std::vector<double> DelayFit::normal_matrix(const std::vector<std::uint32_t>& support,
                                            const std::vector<double>& weights) const {
  const auto place = places(support);
  std::vector<double> matrix;
  for (const std::uint32_t column : support) {
    const auto row = products(column, place, support.size(), weights);
    matrix.insert(matrix.end(), row.begin(), row.end());
  }
  return matrix;
}

/// Of Student's t with three degrees of freedom, or of least absolute residuals.
std::vector<double> DelayFit::weights_of(const std::vector<double>& left, bool absolute) const {
  std::vector<double> weights(left.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double z = left[i] / noise_[i];
    weights[i] =
        (absolute ? 1.0 / std::max(std::abs(z), 1.0) : 4.0 / (3.0 + z * z)) / (noise_[i] * noise_[i]);
  }
  return weights;
}

/// Weighted least squares; a shift that would be negative is zero.
void DelayFit::solve_weighted(Solution& solution, const std::vector<double>& weights) const {
  const std::size_t n = solution.support.size();
  const auto matrix = normal_matrix(solution.support, weights);
  std::vector<double> right(n, 0.0);
  for (std::size_t s = 0; s < n; ++s)
    for (const Entry& entry : columns_[solution.support[s]].entries)
      right[s] += weights[entry.row] * entry.weight * late_[entry.row];
  std::vector<std::size_t> positive(n);
  std::iota(positive.begin(), positive.end(), std::size_t{0});
  solution.shifts.assign(n, 0.0);
  while (!positive.empty()) {
    const std::size_t m = positive.size();
    std::vector<double> part(m * m), values(m);
    for (std::size_t i = 0; i < m; ++i) {
      values[i] = right[positive[i]];
      for (std::size_t j = 0; j < m; ++j) part[i * m + j] = matrix[positive[i] * n + positive[j]];
      part[i * m + i] *= 1.0 + kRidge;
    }
    factorise(part, m);
    solve_factorised(part, values);
    const auto least = std::ranges::min_element(values);
    if (*least < 0) {
      positive.erase(positive.begin() + (least - values.begin()));
      continue;
    }
    for (std::size_t i = 0; i < m; ++i) solution.shifts[positive[i]] = values[i];
    break;
  }
}

DelayFit::Solution DelayFit::fit(std::vector<std::uint32_t> support, const Solution* near) const {
  Solution solution{.support = std::move(support)};
  solution.shifts.assign(solution.support.size(), 0.0);
  // Shifts of causes that stay are a better start than none.
  if (near)
    for (std::size_t s = 0; s < solution.support.size(); ++s) {
      const auto at = std::ranges::lower_bound(near->support, solution.support[s]);
      if (at != near->support.end() && *at == solution.support[s])
        solution.shifts[s] = near->shifts[static_cast<std::size_t>(at - near->support.begin())];
    }
  const int absolute = near ? kNearSteps : kAbsoluteSteps;
  std::vector<double> weights(late_.size());
  for (int step = 0; step < absolute + kStudentSteps && !solution.support.empty(); ++step) {
    weights = weights_of(residuals(solution), step < absolute);
    solve_weighted(solution, weights);
  }
  judge(solution, weights);
  return solution;
}

/// Laplace's approximation of the evidence: each shift pays for being a cause, and for its precision against
/// all orders of magnitude that it might have had.
void DelayFit::judge(Solution& solution, const std::vector<double>& weights) const {
  for (std::size_t s = solution.support.size(); s-- > 0;)
    if (solution.shifts[s] <= 0) {
      solution.support.erase(solution.support.begin() + static_cast<std::ptrdiff_t>(s));
      solution.shifts.erase(solution.shifts.begin() + static_cast<std::ptrdiff_t>(s));
    }
  const auto left = residuals(solution);
  solution.likelihood = 0;
  for (std::size_t i = 0; i < left.size(); ++i) solution.likelihood += log_student(left[i], noise_[i]);
  solution.score = solution.likelihood;
  solution.errors.clear();
  for (std::size_t s = 0; s < solution.support.size(); ++s) {
    const Column& column = columns_[solution.support[s]];
    double precision = 1e-12;
    for (const Entry& entry : column.entries) precision += weights[entry.row] * entry.weight * entry.weight;
    solution.errors.push_back(1.0 / std::sqrt(precision));
    const double occam = std::log(solution.shifts[s] * kDecades / (2.5066 * solution.errors.back()));
    solution.score -= column.cost + std::max(occam, 0.0);
  }
}

/// The shifts of all candidates, none negative, that leave the least absolute residuals; `sparse`: of several
/// such about the least sum, one cause of many rows rather than many that add up to it. What a shift costs
/// falls from where none pays (as in homotopies of the lasso: Osborne, Presnell, Turlach, IMA J. Numer. Anal.
/// 2000).
std::vector<std::uint32_t> DelayFit::all_at_once(bool sparse) const {
  auto left = late_;
  std::vector<double> shifts(columns_.size(), 0.0);
  std::vector<double> weights(late_.size());
  double price = 0;
  for (const Column& column : columns_) {
    if (!sparse) break;
    double gain = 0;
    for (const Entry& entry : column.entries) gain += entry.weight / noise_[entry.row];
    price = std::max(price, gain);
  }
  for (int step = 0; step < (sparse ? kSparseSteps : kJointSteps); ++step) {
    price *= kCheaper;
    for (std::size_t i = 0; i < left.size(); ++i)
      weights[i] = 1.0 / (noise_[i] * std::max(std::abs(left[i]), noise_[i]));
    for (int sweep = 0; sweep < kJointSweeps; ++sweep)
      for (std::size_t c = 0; c < columns_.size(); ++c) {
        double slope = 0, curve = 1e-12;
        for (const Entry& entry : columns_[c].entries) {
          slope += weights[entry.row] * entry.weight * left[entry.row];
          curve += weights[entry.row] * entry.weight * entry.weight;
        }
        const double move = std::max((slope - price) / curve, -shifts[c]);
        if (move == 0) continue;
        shifts[c] += move;
        for (const Entry& entry : columns_[c].entries) left[entry.row] -= entry.weight * move;
      }
  }
  std::vector<std::uint32_t> support;
  for (std::uint32_t c = 0; c < columns_.size(); ++c) {
    double least = 1e300;
    for (const Entry& entry : columns_[c].entries) least = std::min(least, noise_[entry.row]);
    if (shifts[c] > least) support.push_back(c);
  }
  return support;
}

std::vector<std::uint32_t> DelayFit::promising(const std::vector<std::uint32_t>& support,
                                               const std::vector<double>& residual, std::size_t most) const {
  std::vector<std::pair<double, std::uint32_t>> gains;
  std::vector<double> over;
  for (std::uint32_t c = 0; c < columns_.size(); ++c) {
    if (std::ranges::binary_search(support, c)) continue;
    over.clear();
    for (const Entry& entry : columns_[c].entries) over.push_back(residual[entry.row] / entry.weight);
    const double shift = quantile(over, 0.125);
    if (shift <= 0) continue;
    double gain = 0;
    for (const Entry& entry : columns_[c].entries) {
      const double before = residual[entry.row];
      gain += (std::abs(before) - std::abs(before - entry.weight * shift)) / noise_[entry.row];
    }
    if (gain > 0) gains.emplace_back(-gain, c);
  }
  std::ranges::sort(gains);
  std::vector<std::uint32_t> best;
  for (std::size_t i = 0; i < std::min(most, gains.size()); ++i) best.push_back(gains[i].second);
  return best;
}

/// Drops what costs more than it explains; those are tried that the others can stand in for best.
bool DelayFit::prune(Solution& solution) const {
  bool moved = false;
  while (!solution.support.empty()) {
    const std::size_t n = solution.support.size();
    auto matrix = normal_matrix(solution.support, weights_of(residuals(solution), false));
    for (std::size_t s = 0; s < n; ++s) matrix[s * n + s] *= 1.0 + kRidge;
    factorise(matrix, n);
    std::vector<std::pair<double, std::uint32_t>> worth;
    for (std::size_t s = 0; s < n; ++s) {
      std::vector<double> unit(n, 0.0);
      unit[s] = 1.0;
      solve_factorised(matrix, unit);
      worth.emplace_back(solution.shifts[s] * solution.shifts[s] / std::max(unit[s], 1e-300),
                         solution.support[s]);
    }
    std::ranges::sort(worth);
    Solution best = solution;
    for (std::size_t i = 0; i < std::min(worth.size(), kDrops); ++i) {
      Solution other = fit(less(solution.support, worth[i].second), &solution);
      if (other.score > best.score) best = std::move(other);
    }
    if (best.score <= solution.score) break;
    solution = std::move(best);
    moved = true;
  }
  return moved;
}

bool DelayFit::grow(Solution& solution) const {
  bool moved = false;
  for (int move = 0; move < kMaxMoves; ++move) {
    Solution best = solution;
    for (const std::uint32_t column : promising(solution.support, residuals(solution), kAdds)) {
      Solution other = fit(with(solution.support, column), &solution);
      if (other.score > best.score) best = std::move(other);
    }
    if (best.score <= solution.score + 1e-9) break;
    solution = std::move(best);
    moved = true;
  }
  return moved;
}

bool DelayFit::swap(Solution& solution) const {
  const auto support = solution.support;
  bool moved = false;
  for (const std::uint32_t column : support) {
    if (!std::ranges::binary_search(solution.support, column)) continue;
    const Solution base = fit(less(solution.support, column), &solution);
    for (const std::uint32_t other : promising(base.support, residuals(base), kSwaps)) {
      if (other == column) continue;
      Solution swapped = fit(with(base.support, other), &base);
      if (swapped.score <= solution.score + 1e-9) continue;
      solution = std::move(swapped);
      moved = true;
      break;
    }
  }
  return moved;
}

/// A column that the support can imitate takes over from the causes that its shift leaves nothing for.
std::vector<DelayFit::Pivot> DelayFit::pivots(const Solution& solution) const {
  const std::size_t n = solution.support.size();
  const auto weights = weights_of(residuals(solution), false);
  const auto place = places(solution.support);
  auto matrix = normal_matrix(solution.support, weights);
  for (std::size_t s = 0; s < n; ++s) matrix[s * n + s] *= 1.0 + kRidge;
  factorise(matrix, n);
  std::vector<Pivot> found;
  for (std::uint32_t c = 0; c < columns_.size(); ++c) {
    if (place[c] >= 0) continue;
    const auto right = products(c, place, n, weights);
    auto mixed = right;
    solve_factorised(matrix, mixed);
    double whole = 0;
    for (const Entry& entry : columns_[c].entries) whole += weights[entry.row] * entry.weight * entry.weight;
    const double imitated = std::inner_product(right.begin(), right.end(), mixed.begin(), 0.0);
    if (imitated < kImitated * whole) continue;
    double most = 1e300;
    for (std::size_t s = 0; s < n; ++s)
      if (mixed[s] > kPart) most = std::min(most, solution.shifts[s] / mixed[s]);
    Pivot pivot{.column = c};
    auto support = solution.support;
    for (std::size_t s = 0; s < n; ++s)
      if (mixed[s] > kPart && solution.shifts[s] - most * mixed[s] <= kNothing * solution.errors[s]) {
        pivot.replaced.push_back(solution.support[s]);
        support = less(std::move(support), solution.support[s]);
      }
    if (pivot.replaced.empty()) continue;
    pivot.solution = fit(with(std::move(support), c), &solution);
    found.push_back(std::move(pivot));
  }
  return found;
}

bool DelayFit::turn(Solution& solution) const {
  auto found = pivots(solution);
  const auto best =
      std::ranges::max_element(found, {}, [](const Pivot& pivot) { return pivot.solution.score; });
  if (best == found.end() || best->solution.score <= solution.score + 1e-9) return false;
  solution = std::move(best->solution);
  return true;
}

DelayFit::Solution DelayFit::improve(std::vector<std::uint32_t> support) const {
  Solution solution = fit(std::move(support), nullptr);
  for (int round = 0; round < kMaxMoves; ++round) {
    bool moved = grow(solution);
    moved |= prune(solution);
    while (turn(solution)) moved = true;
    if (!moved) moved = swap(solution);
    if (!moved) break;
  }
  return solution;
}

/// What else fits in the place of one cause, with all others free to move.
DelayFit::Active DelayFit::rivals_of(const Solution& solution, const std::vector<Pivot>& turns,
                                     std::size_t at) const {
  Active active{solution.support[at], solution.shifts[at], solution.errors[at], 0.0, {}};
  const Solution base = fit(less(solution.support, active.column), &solution);
  active.against = std::exp(std::min(base.score - solution.score, 0.0));
  std::vector<std::pair<double, std::uint32_t>> alike;
  const auto weigh = [&](const Solution& other, std::uint32_t column) {
    if (std::ranges::any_of(alike, [&](const auto& known) { return known.second == column; })) return;
    if (other.likelihood > solution.likelihood - kAlike && other.score > solution.score - kUnlikely)
      alike.emplace_back(-other.score, column);
    else
      active.against += std::exp(std::min(other.score - solution.score, 0.0));
  };
  for (const Pivot& pivot : turns)
    if (pivot.replaced.size() == 1 && pivot.replaced.front() == active.column)
      weigh(pivot.solution, pivot.column);
  for (const std::uint32_t other : promising(base.support, residuals(base), kRivals))
    if (other != active.column) weigh(fit(with(base.support, other), &base), other);
  std::ranges::sort(alike);
  for (const auto& [score, other] : alike) active.alternatives.push_back(other);
  return active;
}

std::vector<DelayFit::Active> DelayFit::solve() const {
  Solution best = improve({});
  for (const bool sparse : {false, true})
    if (Solution pruned = improve(all_at_once(sparse)); pruned.score > best.score) best = std::move(pruned);
  const auto turns = pivots(best);
  std::vector<Active> actives;
  for (std::size_t s = 0; s < best.support.size(); ++s) actives.push_back(rivals_of(best, turns, s));
  return actives;
}

}  // namespace weft::diagnosis
