#include "probes/diagnosis/counts/count_state.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::diagnosis {
namespace {

/// A fault is a loss this many times the usual one of a channel.
constexpr double kFaultOverBackground = 10.0;
/// and no less than this: below it a link is what specifications allow (1e-5 at 4 KB is a bit error rate of
/// 3e-10, above any that forward error correction leaves).
constexpr double kMinFault = 1e-5;
constexpr std::size_t kMaxCrowd = 16;
constexpr double kLogMaxCrowd = 2.9;  // log of one more than that
constexpr double kFarBehind = 9.0;    // nats: a stand-in this much worse is none
constexpr double kAlike = 0.7;        // log-hazard: faults within a factor of two of each other are alike
constexpr double kHopeless = -6.0;    // log-odds below which a suspect is not looked at closely
constexpr double kNever = -1e6;
constexpr double kEven = -9.0;  // log prior of a fabric all of whose channels lose alike

double log_dot(std::span<const double> log_values, std::span<const double> mass) {
  const double top = std::ranges::max(log_values);
  double sum = 0;
  for (std::size_t g = 0; g < mass.size(); ++g) sum += mass[g] * std::exp(log_values[g] - top);
  return top + std::log(std::max(sum, 1e-300));
}

}  // namespace

CountState::CountState(const CountProblem& problem, const CountPriors& priors,
                       const BackgroundPrior& background)
    : priors_(priors), background_(background), model_(problem, background) {
  const std::size_t hazards = 2 * problem.suspects.size();
  forbidden_.assign(problem.suspects.size(), false);
  faulty_.assign(hazards, false);
  score_.assign(hazards, Score{});
  outdated_.assign(problem.suspects.size(), kAllOutdated);
}

void CountState::learn() { model_.learn_background(faulty_); }

void CountState::start_round() { expect_faults_from(kFaultOverBackground * model_.learned().mean); }

void CountState::expect_faults_above_tolerated() {
  expect_faults_from(std::min(kFaultOverBackground * model_.learned().mean, background_.most));
}

void CountState::expect_faults_from(double floor) {
  fault_from_ = std::clamp(floor, kMinFault, 1.0);
  fault_prior_ = model_.grid().faulty(fault_from_);
  const double strays = kFaultOverBackground * model_.stray_hazard();
  burst_prior_ = model_.grid().faulty(std::clamp(strays, kMinFault, 1.0));
  gather_crowds();
  refresh_all();
}

bool CountState::has_bad_reverse(std::uint32_t i) const {
  const std::uint32_t s = model_.suspect_of(i), offset = i - s;
  return std::ranges::any_of(priors_.reverse[s], [&](std::uint32_t r) { return faulty_[r + offset]; });
}

const BadCables& CountState::bad_cables() const {
  if (bad_cables_) return *bad_cables_;
  BadCables& known = bad_cables_.emplace();
  for (const std::uint32_t fault : faults_) {
    if (!faulty_[fault]) continue;
    const double cables = has_bad_reverse(fault) ? 0.5 : 1;
    known.by_kind[priors_.kind[fault]] += cables;
    if (priors_.reverse[model_.suspect_of(fault)].empty()) continue;
    known.all += cables;
    known.both_ways += has_bad_reverse(fault) ? cables : 0;
  }
  return known;
}

double CountState::log_odds(std::uint32_t i) const {
  const std::uint32_t s = model_.suspect_of(i);
  if (forbidden_[s]) return kNever;
  const std::uint32_t otherwise = s + (model_.suspects() - (i - s));  // singly, or in bursts
  const bool reversed = has_bad_reverse(i);
  const double own = faulty_[i] ? 1 : 0;
  const std::uint8_t kind = priors_.kind[i];
  const double others = bad_cables().by_kind[kind] - (reversed ? 0 : own);
  double odds = priors_.log_odds[i] + log_odds_beside(priors_.kinds[kind], others);
  if (faulty_[otherwise]) odds = std::max(odds, std::log(kOtherDirection));
  if (reversed)
    odds = std::max(odds, log_odds_of_reverse(bad_cables().both_ways - own, bad_cables().all - 1));
  return odds;
}

/// Prior of a fault of this hazard over the grid. How many faults a fabric has, and of what size, is
/// unknown: each one found makes another of its kind and of about its size likelier, by as much as the
/// first was (a Dirichlet process; the k-th of a size is k times as likely as the first). Sums to 1 where
/// none is known.
std::span<const double> CountState::prior_of(std::uint32_t i) {
  const auto& crowd = crowds_[priors_.kind[i]];
  const auto own = std::ranges::find(in_crowd_, i, &std::pair<std::uint32_t, double>::first);
  const bool has_signs = log_signs(i, crowd.size() - 1) != 0;
  if (own == in_crowd_.end() && !has_signs) return crowd;
  own_prior_ = crowd;
  if (own != in_crowd_.end()) add_alike(priors_.kind[i], own_prior_, own->second, -1.0);
  for (std::size_t g = 1; has_signs && g < own_prior_.size(); ++g) own_prior_[g] *= std::exp(log_signs(i, g));
  return own_prior_;
}

/// A sign that it is not dead is worth what packets are that passed.
double CountState::log_signs(std::uint32_t i, std::size_t point) const {
  const double dead = model_.is_burst(i) ? 0.0 : priors_.dead[i];
  const HazardGrid& grid = model_.grid();
  if (dead > 0) return point + 1 == grid.size() ? dead : 0.0;
  return dead * grid.hazard(point) / HazardGrid::kAll;
}

void CountState::add_alike(std::uint8_t kind, std::vector<double>& prior, double hazard,
                           double weight) const {
  const std::vector<double>& base = prior_of_kind(kind);
  const HazardGrid& grid = model_.grid();
  double total = 0;
  std::vector<double> mass(grid.size(), 0.0);
  for (std::size_t g = 1; g < grid.size(); ++g) {
    const double z = std::log(grid.hazard(g) / hazard) / kAlike;
    total += mass[g] = base[g] > 0 ? std::exp(-0.5 * z * z) : 0.0;
  }
  if (total <= 0) return;
  for (std::size_t g = 1; g < grid.size(); ++g)
    prior[g] = std::max(prior[g] + weight * mass[g] / total, base[g]);
}

void CountState::gather_crowds() {
  for (std::uint8_t kind = 0; kind < kSuspectKinds; ++kind) crowds_[kind] = prior_of_kind(kind);
  std::array<std::size_t, kSuspectKinds> known{};
  in_crowd_.clear();
  for (const std::uint32_t fault : faults_) {
    if (known[priors_.kind[fault]]++ >= kMaxCrowd) continue;
    in_crowd_.emplace_back(fault, model_.hazard(fault));
    const std::uint8_t kind = priors_.kind[fault];
    add_alike(kind, crowds_[kind], in_crowd_.back().second, 1.0);
  }
}

/// ln of the likelihood, summed over the prior. Thousands of losses tell a hazard far better than the grid
/// does, of which the nearest point may be a hundred nats worse than the top: that is then taken by its
/// height and width (Laplace).
double CountState::log_faulty(std::uint32_t i, std::span<const double> profile) {
  const auto prior = prior_of(i);
  const double sum = log_dot(profile, prior);
  std::size_t best = 1;
  for (std::size_t g = 2; g < prior.size(); ++g)
    if (prior[g] > 0 && profile[g] > profile[best]) best = g;
  if (best <= 1 || best + 1 >= prior.size() || prior[best] <= 0) return sum;
  const double step = std::log(HazardGrid::kStep);
  const double bend = (2 * profile[best] - profile[best - 1] - profile[best + 1]) / (step * step);
  if (bend * step * step < 1) return sum;
  const double top = top_near(i, profile, best).height;
  const double width = std::sqrt(2 * std::numbers::pi / bend) / step;
  return std::max(sum, top + std::log(prior[best] * std::min(width, 1.0)));
}

CountState::Score CountState::score_of(std::uint32_t i) {
  const auto profile = model_.profile(i);
  const double faulty = log_faulty(i, profile) + log_odds(i);
  return {faulty - log_dot(profile, model_.healthy_prior(i)), faulty - at_hazard(profile, model_.hazard(i))};
}

double CountState::at_hazard(std::span<const double> profile, double hazard) const {
  const auto& hazards = model_.grid().hazards();
  if (hazard <= hazards[1]) return profile[0] + (profile[1] - profile[0]) * hazard / hazards[1];
  const auto above = std::ranges::upper_bound(hazards, hazard) - hazards.begin();
  if (above == std::ssize(hazards)) return profile.back();
  const auto g = static_cast<std::size_t>(above);
  const double part = std::log(hazard / hazards[g - 1]) / std::log(hazards[g] / hazards[g - 1]);
  return profile[g - 1] + part * (profile[g] - profile[g - 1]);
}

/// No fault of a healthy suspect has this weight or more: seen without its profile.
bool CountState::is_out_of_reach(std::uint32_t i, double weight) const {
  const double wanted = weight - log_odds(i);
  if (!model_.may_gain(i, wanted)) return true;
  const double dead = model_.is_burst(i) ? 0.0 : std::max(priors_.dead[i], 0.0);
  const double at_most = wanted - dead - kLogMaxCrowd;
  return model_.most_gained_from(i, fault_from_, at_most) < at_most;
}

const CountState::Score& CountState::refreshed(std::uint32_t i) {
  if (!is_outdated(i, kScore)) return score_[i];
  brought_up_to_date(i, kScore);
  const bool hopeless = !faulty_[i] && is_out_of_reach(i, kHopeless);
  return score_[i] = hopeless ? Score{} : score_of(i);
}

void CountState::set_hazard(std::uint32_t i, double hazard) {
  model_.set_hazard(i, hazard);
  for (const auto& cell : problem().rows_of(model_.suspect_of(i)))
    for (const auto& other : problem().suspects_of(cell.index)) outdated_[other.index] = kAllOutdated;
}

double CountState::best_hazard(std::uint32_t i) {
  const auto profile = model_.profile(i);
  const HazardGrid& grid = model_.grid();
  const std::vector<double>& base = prior_of_kind(priors_.kind[i]);
  std::size_t best = grid.size() - 1;
  double top = -1e300;
  for (std::size_t g = 1; g < grid.size(); ++g) {
    if (base[g] <= 0) continue;
    const double its = profile[g] + std::log(base[g]) + log_signs(i, g);
    if (its > top) top = its, best = g;
  }
  if (best <= 1 || best + 1 >= grid.size()) return grid.hazard(best);
  return top_near(i, profile, best).hazard;
}

/// The top of the likelihood near a grid point, by parabolas through the best three points known (in the
/// logarithm of the hazard): thousands of losses tell a hazard to a hundredth of what the grid does.
CountState::Top CountState::top_near(std::uint32_t i, std::span<const double> profile,
                                     std::size_t point) const {
  constexpr int kSteps = 5;
  constexpr double kClose = 1e-3;
  const HazardGrid& grid = model_.grid();
  struct At {
    double x = 0, height = 0;
  };
  std::array<At, 3> best;
  for (std::size_t j = 0; j < 3; ++j)
    best[j] = {std::log(grid.hazard(point - 1 + j)), profile[point - 1 + j]};
  const double low = best[0].x, high = best[2].x;
  const double constant = model_.value(i, grid.hazard(point)) - profile[point];
  std::swap(best[0], best[1]);
  for (int step = 0; step < kSteps; ++step) {
    const auto [x, height] = best[0];
    const double left = best[1].x - x, right = best[2].x - x;
    const double up = best[1].height - height, down = best[2].height - height;
    const double bend = left * down - right * up;
    if (std::abs(bend) < 1e-12) break;
    const double next = std::clamp(x + 0.5 * (left * left * down - right * right * up) / bend, low, high);
    if (std::abs(next - x) < kClose) break;
    At found{next, model_.value(i, std::exp(next)) - constant};
    for (At& at : best)
      if (found.height > at.height) std::swap(found, at);
  }
  return {std::exp(best[0].x), best[0].height};
}

void CountState::mark(std::uint32_t i, bool faulty) {
  bad_cables_.reset();
  faulty_[i] = faulty;
}

void CountState::add(std::uint32_t i, double hazard) {
  if (!faulty_[i]) faults_.push_back(i);
  mark(i, true);
  set_hazard(i, hazard);
}

void CountState::remove(std::uint32_t i) {
  mark(i, false);
  std::erase(faults_, i);
  set_hazard(i, model_.healthy_hazard(i));
}

bool CountState::remove_refuted() {
  std::vector<std::pair<double, std::uint32_t>> by_gain;
  for (const std::uint32_t fault : faults()) by_gain.emplace_back(refreshed(fault).gain, fault);
  std::ranges::sort(by_gain);
  bool removed = false;
  for (const auto& [gain, fault] : by_gain) {
    if (gain >= 0) break;
    if (refreshed(fault).gain >= 0) continue;
    remove(fault);
    removed = true;
  }
  return removed;
}

void CountState::forbid(std::span<const std::uint32_t> suspects) {
  std::fill(forbidden_.begin(), forbidden_.end(), false);
  for (const std::uint32_t s : suspects) {
    for (const std::uint32_t i : {s, s + model_.suspects()})
      if (faulty_[i]) remove(i);
    forbidden_[s] = true;
  }
  refresh_all();
}

std::vector<std::uint32_t> CountState::within(std::uint32_t suspect) const {
  const auto& channels = problem().suspects[suspect].channels;
  std::vector<std::uint32_t> found{suspect};
  for (const auto& cell : problem().rows_of(suspect))
    for (const auto& other : problem().suspects_of(cell.index)) found.push_back(other.index);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  std::erase_if(found, [&](std::uint32_t s) {
    const auto& its = problem().suspects[s].channels;
    return s != suspect && (its.empty() || !std::ranges::includes(channels, its));
  });
  return found;
}

CountState::Kept CountState::keep() const {
  Kept kept;
  for (const std::uint32_t fault : faults_) kept.emplace_back(fault, model_.hazard(fault));
  return kept;
}

void CountState::restore(const Kept& kept) {
  for (const std::uint32_t fault : added_since(kept)) remove(fault);
  for (const auto& [fault, hazard] : kept) add(fault, hazard);
}

std::vector<std::uint32_t> CountState::added_since(const Kept& kept) const {
  auto faults = faults_;
  std::erase_if(faults, [&](std::uint32_t i) {
    return std::ranges::find(kept, i, &Kept::value_type::first) != kept.end();
  });
  std::ranges::sort(faults);
  return faults;
}

void CountState::refit(int sweeps) {
  constexpr double kSame = 1e-3;  // of a hazard
  bool moved = true;
  for (int sweep = 0; moved && sweep < sweeps; ++sweep) {
    moved = false;
    for (const std::uint32_t fault : faults_) {
      if (!is_outdated(fault, kFit)) continue;
      const double hazard = best_hazard(fault);
      if (std::abs(hazard - model_.hazard(fault)) > kSame * hazard) set_hazard(fault, hazard), moved = true;
      brought_up_to_date(fault, kFit);
    }
  }
}

std::vector<CountState::StandIn> CountState::stand_ins(std::uint32_t fault) {
  const double hazard = model_.hazard(fault);
  model_.set_hazard(fault, model_.healthy_hazard(fault));
  mark(fault, false);
  // It is not known: it makes none of its kind likelier.
  const auto crowds = crowds_;
  const auto in_crowd = in_crowd_;
  const auto own = std::ranges::find(in_crowd_, fault, &std::pair<std::uint32_t, double>::first);
  if (own != in_crowd_.end()) {
    add_alike(priors_.kind[fault], crowds_[priors_.kind[fault]], own->second, -1.0);
    in_crowd_.erase(own);
  }
  std::vector<std::uint32_t> near;
  for (const auto& cell : problem().rows_of(model_.suspect_of(fault)))
    for (const auto& other : problem().suspects_of(cell.index)) near.push_back(other.index);
  std::ranges::sort(near);
  near.erase(std::unique(near.begin(), near.end()), near.end());
  std::vector<StandIn> found{{score_of(fault), fault}};
  const double least = found.front().score.weight - kFarBehind;
  for (const std::uint32_t s : near)
    for (const std::uint32_t i : {s, s + model_.suspects()})
      if (i != fault && !faulty_[i] && !is_out_of_reach(i, least - kLogMaxCrowd))
        found.push_back({score_of(i), i});
  mark(fault, true);
  crowds_ = crowds;
  in_crowd_ = in_crowd;
  model_.set_hazard(fault, hazard);
  std::ranges::stable_sort(found, std::ranges::greater{}, [](const StandIn& it) { return it.score.weight; });
  return found;
}

double CountState::likelihood() {
  bool moved = false;
  for (std::uint32_t s = 0; s < model_.suspects(); ++s) {
    if (faulty_[s] || model_.hazard(s) == model_.healthy_hazard(s)) continue;
    model_.set_hazard(s, model_.healthy_hazard(s));
    moved = true;
  }
  if (moved) refresh_all();
  return model_.log_likelihood();
}

/// The faults' priors by the chain rule, in the order in which they were found.
double CountState::objective() {
  double sum = likelihood() + (background_.even ? kEven : 0.0);
  std::array<std::vector<double>, kSuspectKinds> crowds;
  std::array<std::size_t, kSuspectKinds> known{};
  for (std::uint8_t kind = 0; kind < kSuspectKinds; ++kind) crowds[kind] = prior_of_kind(kind);
  for (const std::uint32_t fault : faults_) mark(fault, false);
  for (const std::uint32_t fault : faults_) {
    const double hazard = model_.hazard(fault);
    std::vector<double>& crowd = crowds[priors_.kind[fault]];
    const std::size_t point = model_.grid().nearest(hazard);
    sum += log_odds(fault) + std::log(std::max(crowd[point], 1e-12)) + log_signs(fault, point);
    mark(fault, true);
    if (known[priors_.kind[fault]]++ < kMaxCrowd) add_alike(priors_.kind[fault], crowd, hazard, 1.0);
  }
  return sum;
}

}  // namespace weft::diagnosis
