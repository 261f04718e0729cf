#include "probes/diagnosis/count_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace weft {
namespace {

/// A fault is a loss this many times the usual one of a channel.
constexpr double kFaultOverBackground = 10.0;
/// and no less than this: below it a link is what specifications allow (1e-5 at 4 KB is a bit error rate of
/// 3e-10, above any that forward error correction leaves).
constexpr double kLeastFault = 1e-5;
constexpr std::size_t kLargestCrowd = 16;
constexpr double kMostCrowd = 2.9;  // log of one more than that
constexpr double kFarBehind = 9.0;  // nats: a stand-in this much worse is none
constexpr double kAlike = 0.7;      // log-hazard: faults within a factor of two of each other are alike
constexpr double kHopeless = -6.0;  // log-odds below which a suspect is not looked at closely
constexpr int kMostRounds = 8;
constexpr int kMostMoves = 400;
constexpr std::size_t kMostSwapped = 64;
constexpr double kLeastProbability = 0.01;  // suspicions below it are not listed

double log_dot(std::span<const double> log_values, std::span<const double> mass) {
  const double top = std::ranges::max(log_values);
  double sum = 0;
  for (std::size_t g = 0; g < mass.size(); ++g) sum += mass[g] * std::exp(log_values[g] - top);
  return top + std::log(std::max(sum, 1e-300));
}

double logistic(double log_odds) { return 1.0 / (1.0 + std::exp(-log_odds)); }

class Search {
 public:
  Search(const CountProblem& problem, const CountPriors& priors)
      : problem_(problem), priors_(priors), model_(problem) {
    const std::size_t suspects = problem.suspects.size();
    faulty_.assign(suspects, false);
    score_.assign(suspects, Score{});
    stale_.assign(suspects, true);
    row_taken_.assign(problem.row_count(), 0);
  }

  CountResult run() {
    if (problem_.row_count() == 0) return {{}, {}, model_.learned()};
    for (int round = 0; round < kMostRounds; ++round) {
      const auto before = faulty_;
      if (round > 0) model_.learn_background(faulty_);
      start_round();
      climb();
      swap_all();
      if (round > 0 && before == faulty_) break;
    }
    return answer();
  }

 private:
  void start_round() {
    const double floor = std::max(kFaultOverBackground * model_.learned().mean, kLeastFault);
    fault_prior_ = model_.grid().faulty(floor);
    gather_crowds();
    std::fill(stale_.begin(), stale_.end(), true);
  }

  /// What speaks for a suspect, the rest held, in nats: `gain` over its being healthy, whatever its healthy
  /// hazard; `weight` over the hazards as they stand, which is the same for all suspects and so ranks rivals.
  struct Score {
    double gain = -1e9;
    double weight = -1e9;
  };

  /// Prior of a fault of this suspect over the grid. How many faults a fabric has, and of what size, is
  /// unknown: each one found makes another of its kind and of about its size likelier, by as much as the
  /// first was (a Dirichlet process; the k-th of a size is k times as likely as the first). Sums to 1 where
  /// none is known.
  std::span<const double> prior_of(std::uint32_t suspect) {
    const auto& crowd = crowds_[priors_.kind[suspect]];
    const auto own = std::ranges::find(in_crowd_, suspect, &std::pair<std::uint32_t, double>::first);
    if (own == in_crowd_.end()) return crowd;
    own_prior_ = crowd;
    add_alike(own_prior_, own->second, -1.0);
    return own_prior_;
  }

  void add_alike(std::vector<double>& prior, double hazard, double weight) const {
    const HazardGrid& grid = model_.grid();
    double total = 0;
    std::vector<double> mass(grid.size(), 0.0);
    for (std::size_t g = 1; g < grid.size(); ++g) {
      const double z = std::log(grid.hazard(g) / hazard) / kAlike;
      total += mass[g] = fault_prior_[g] > 0 ? std::exp(-0.5 * z * z) : 0.0;
    }
    for (std::size_t g = 1; g < grid.size(); ++g)
      prior[g] = std::max(prior[g] + weight * mass[g] / total, fault_prior_[g]);
  }

  void gather_crowds() {
    crowds_.fill(fault_prior_);
    std::array<std::size_t, kSuspectKinds> known{};
    in_crowd_.clear();
    for (const std::uint32_t fault : faults_) {
      if (known[priors_.kind[fault]]++ >= kLargestCrowd) continue;
      in_crowd_.emplace_back(fault, model_.hazard(fault));
      add_alike(crowds_[priors_.kind[fault]], in_crowd_.back().second, 1.0);
    }
  }

  Score score_of(std::uint32_t suspect) {
    const auto profile = model_.profile(suspect);
    const double faulty = log_dot(profile, prior_of(suspect)) + priors_.log_odds[suspect];
    return {faulty - log_dot(profile, model_.healthy_prior(suspect)),
            faulty - at_hazard(profile, model_.hazard(suspect))};
  }

  double at_hazard(std::span<const double> profile, double hazard) const {
    const auto& hazards = model_.grid().hazards();
    if (hazard <= hazards[1]) return profile[0] + (profile[1] - profile[0]) * hazard / hazards[1];
    const auto above = std::ranges::upper_bound(hazards, hazard) - hazards.begin();
    if (above == std::ssize(hazards)) return profile.back();
    const auto g = static_cast<std::size_t>(above);
    const double part = std::log(hazard / hazards[g - 1]) / std::log(hazards[g] / hazards[g - 1]);
    return profile[g - 1] + part * (profile[g] - profile[g - 1]);
  }

  const Score& refreshed(std::uint32_t suspect) {
    if (!stale_[suspect]) return score_[suspect];
    stale_[suspect] = false;
    const bool hopeless = model_.most_gained(suspect) + priors_.log_odds[suspect] < kHopeless;
    return score_[suspect] = hopeless ? Score{} : score_of(suspect);
  }

  void set_hazard(std::uint32_t suspect, double hazard) {
    model_.set_hazard(suspect, hazard);
    for (const auto& cell : problem_.rows_of(suspect))
      for (const auto& other : problem_.suspects_of(cell.index)) stale_[other.index] = true;
  }

  /// The most probable hazard if faulty, between grid points by the parabola through the best three.
  double best_hazard(std::uint32_t suspect) {
    const auto profile = model_.profile(suspect);
    const HazardGrid& grid = model_.grid();
    std::size_t best = grid.size() - 1;
    double top = -1e300;
    for (std::size_t g = 1; g < grid.size(); ++g)
      if (fault_prior_[g] > 0 && profile[g] + std::log(fault_prior_[g]) > top) {
        top = profile[g] + std::log(fault_prior_[g]);
        best = g;
      }
    if (best <= 1 || best + 1 >= grid.size()) return grid.hazard(best);
    const double left = profile[best - 1];
    const double right = profile[best + 1];
    const double bend = left - 2 * profile[best] + right;
    const double shift = bend < 0 ? std::clamp(0.5 * (left - right) / bend, -0.5, 0.5) : 0.0;
    return grid.hazard(best) * std::pow(grid.hazard(best + 1) / grid.hazard(best), shift);
  }

  double healthy_hazard(std::uint32_t suspect) const {
    const Suspect& it = problem_.suspects[suspect];
    return it.is_channel() ? model_.learned().mean * static_cast<double>(it.channels.size()) : 0.0;
  }

  void add(std::uint32_t suspect) {
    faulty_[suspect] = true;
    set_hazard(suspect, best_hazard(suspect));
    faults_.push_back(suspect);
  }
  void remove(std::uint32_t suspect) {
    faulty_[suspect] = false;
    std::erase(faults_, suspect);
    set_hazard(suspect, healthy_hazard(suspect));
  }

  void climb() {
    for (int move = 0; move < kMostMoves; ++move) {
      const bool added = add_best();
      for (int sweep = 0; sweep < 2; ++sweep)
        for (const std::uint32_t fault : faults_) set_hazard(fault, best_hazard(fault));
      gather_crowds();
      const bool removed = remove_refuted();
      if (removed) gather_crowds();
      if (!added && !removed) return;
    }
  }

  /// Adds, best first, every suspect with a gain that shares no lossy row with one added in this pass.
  bool add_best() {
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t s = 0; s < faulty_.size(); ++s)
      if (!faulty_[s] && refreshed(s).gain > 0) candidates.push_back(s);
    std::ranges::stable_sort(candidates, std::ranges::greater{},
                             [this](std::uint32_t s) { return score_[s].weight; });
    ++pass_;
    bool added = false;
    for (const std::uint32_t s : candidates) {
      const auto rows = problem_.rows_of(s);
      const auto taken = [this](const CountProblem::Cell& cell) { return row_taken_[cell.index] == pass_; };
      const bool clash = std::ranges::any_of(rows, taken);
      for (const auto& cell : rows) row_taken_[cell.index] = pass_;
      if (clash) continue;
      add(s);
      added = true;
    }
    return added;
  }

  /// Removes every fault that is one no more, the weakest first, each judged with the ones before it gone.
  bool remove_refuted() {
    std::vector<std::pair<double, std::uint32_t>> by_gain;
    for (const std::uint32_t fault : faults_) by_gain.emplace_back(refreshed(fault).gain, fault);
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

  struct StandIn {
    Score score;
    std::uint32_t suspect = 0;
  };
  /// What could stand in for `fault`, itself included, were it not known, best first. The model is left as it
  /// was.
  std::vector<StandIn> stand_ins(std::uint32_t fault) {
    const double hazard = model_.hazard(fault);
    model_.set_hazard(fault, healthy_hazard(fault));
    std::vector<std::uint32_t> near;
    for (const auto& cell : problem_.rows_of(fault))
      for (const auto& other : problem_.suspects_of(cell.index)) near.push_back(other.index);
    std::ranges::sort(near);
    near.erase(std::unique(near.begin(), near.end()), near.end());
    std::vector<StandIn> found{{score_of(fault), fault}};
    const double least = found.front().score.weight - kFarBehind;
    for (const std::uint32_t s : near)
      if (!faulty_[s] && model_.most_gained(s) + priors_.log_odds[s] + kMostCrowd > least)
        found.push_back({score_of(s), s});
    model_.set_hazard(fault, hazard);
    const auto weight = [](const StandIn& it) { return it.score.weight; };
    std::ranges::stable_sort(found, std::ranges::greater{}, weight);
    return found;
  }

  void swap_all() {
    for (int move = 0; move < 16; ++move) {
      bool swapped = false;
      const auto faults = faults_;
      if (faults.size() > kMostSwapped) return;
      for (const std::uint32_t fault : faults) {
        const std::uint32_t best = stand_ins(fault).front().suspect;
        if (best == fault) continue;
        remove(fault);
        add(best);
        swapped = true;
      }
      if (!swapped) return;
      climb();
    }
  }

  CountResult answer() {
    gather_crowds();
    std::fill(stale_.begin(), stale_.end(), true);
    CountResult result;
    result.background = model_.learned();
    std::map<std::uint32_t, double> probability;
    std::vector<std::vector<std::uint32_t>> groups;
    for (const std::uint32_t fault : faults_) {
      std::vector<std::uint32_t> group{fault};
      std::vector<StandIn> rivals{{score_of(fault), fault}};
      if (faults_.size() <= kMostSwapped) rivals = stand_ins(fault);
      const Score own = std::ranges::find(rivals, fault, &StandIn::suspect)->score;
      double total = std::exp(-own.gain);  // in units of the fault's own posterior weight: no fault at all
      for (const StandIn& rival : rivals) total += std::exp(rival.score.weight - own.weight);
      for (const StandIn& rival : rivals) {
        const double share = std::exp(rival.score.weight - own.weight) / total;
        if (share < 1e-4) continue;
        double& p = probability[rival.suspect];
        p = 1.0 - (1.0 - p) * (1.0 - share);
        if (rival.suspect != fault && share >= kLeastProbability) group.push_back(rival.suspect);
      }
      groups.push_back(std::move(group));
    }
    for (std::uint32_t s = 0; s < faulty_.size(); ++s)
      if (!faulty_[s] && refreshed(s).gain > kHopeless) {
        const double p = logistic(score_[s].gain);
        const bool rival = probability.contains(s);
        probability[s] = 1.0 - (1.0 - probability[s]) * (1.0 - p);
        if (!rival && p >= kLeastProbability) groups.push_back({s});
      }
    list(result, probability, groups);
    return result;
  }

  void list(CountResult& result, const std::map<std::uint32_t, double>& probability,
            const std::vector<std::vector<std::uint32_t>>& groups) {
    std::map<std::uint32_t, std::uint32_t> index;
    for (const auto& [s, p] : probability)
      if (p >= kLeastProbability) result.suspicions.push_back(estimated(s, p));
    std::ranges::stable_sort(result.suspicions, std::ranges::greater{}, &Suspicion::probability);
    for (std::uint32_t i = 0; i < result.suspicions.size(); ++i) index[result.suspicions[i].suspect] = i;
    for (const auto& group : groups) {
      std::vector<std::uint32_t> kept;
      for (const std::uint32_t s : group)
        if (const auto at = index.find(s); at != index.end()) {
          kept.push_back(at->second);
          index.erase(at);
        }
      if (!kept.empty()) result.rivals.push_back(std::move(kept));
    }
    for (const auto& [s, i] : index) result.rivals.push_back({i});
  }

  /// The interval is where the likelihood is within 1.92 of its top (95 %, Wilks 1938).
  Suspicion estimated(std::uint32_t suspect, double probability) {
    const double centre = faulty_[suspect] ? model_.hazard(suspect) : best_hazard(suspect);
    const double top = model_.value(suspect, centre) - 1.92;
    const auto edge = [&](double direction) {
      double inside = std::log(centre);
      double outside = std::log(direction < 0 ? 1e-9 : 20.0);
      if (model_.value(suspect, std::exp(outside)) >= top) return std::exp(outside);
      for (int i = 0; i < 30; ++i) {
        const double middle = 0.5 * (inside + outside);
        (model_.value(suspect, std::exp(middle)) >= top ? inside : outside) = middle;
      }
      return std::exp(inside);
    };
    return {suspect, probability, centre, edge(-1), edge(1)};
  }

  const CountProblem& problem_;
  const CountPriors& priors_;
  CountModel model_;
  std::vector<double> fault_prior_;
  std::vector<bool> faulty_;
  std::vector<std::uint32_t> faults_;
  std::array<std::vector<double>, kSuspectKinds> crowds_;   // prior of a fault by kind, with those known
  std::vector<std::pair<std::uint32_t, double>> in_crowd_;  // those in crowds_, with their hazards there
  std::vector<double> own_prior_;
  std::vector<Score> score_;
  std::vector<bool> stale_;
  std::vector<std::uint32_t> row_taken_;
  std::uint32_t pass_ = 0;
};

}  // namespace

CountResult search_counts(const CountProblem& problem, const CountPriors& priors) {
  return Search(problem, priors).run();
}

}  // namespace weft
