#include "probes/diagnosis/counts/count_answer.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "probes/diagnosis/counts/count_climb.hpp"

namespace weft::diagnosis {
namespace {

constexpr double kHopeless = -6.0;  // log-odds below which a suspect is not listed
constexpr double kTwoSided95 = 1.96;
constexpr double kMinProbability = 0.01;  // suspicions below it are not listed

double logistic(double log_odds) { return 1.0 / (1.0 + std::exp(-log_odds)); }

class Answer {
 public:
  explicit Answer(CountState& state) : state_(state) {}

  CountResult take() {
    state_.gather_crowds();
    state_.refresh_all();
    result_.background = state_.model().learned();
    const auto faults = state_.faults();
    for (const std::uint32_t fault : faults) weigh_fault(fault, faults.size() <= kMaxSwapped);
    for (std::uint32_t i = 0; i < state_.hazards(); ++i)
      if (!state_.is_faulty(i) && state_.refreshed(i).gain > kHopeless) {
        const double p = logistic(state_.refreshed(i).gain);
        const std::uint32_t s = state_.model().suspect_of(i);
        const bool rival = probability_.contains(s);
        join(s, i, p, i);
        if (!rival && p >= kMinProbability) groups_.push_back({s});
      }
    list();
    return std::move(result_);
  }

 private:
  struct Hypothesis {
    double probability = 0;
    std::uint32_t likeliest = 0;   // hazard
    std::uint32_t instead_of = 0;  // the fault that it stands in for, or itself
    double most = 0;
  };

  void join(std::uint32_t suspect, std::uint32_t hazard, double p, std::uint32_t instead_of) {
    Hypothesis& it = probability_[suspect];
    it.probability = 1.0 - (1.0 - it.probability) * (1.0 - p);
    if (p > it.most) it.most = p, it.likeliest = hazard, it.instead_of = instead_of;
  }

  /// A switch, where all that enters it from one tier is at fault, or all that leaves it to one: then the
  /// cables are, as they explain the same (see Search::prefer_cables).
  bool is_shown_by_cables(std::uint32_t hazard) const {
    const std::uint32_t suspect = state_.model().suspect_of(hazard);
    if (state_.problem().suspects[suspect].is_channel()) return false;
    for (const CountPriors::Around& around : state_.priors().switches) {
      if (around.itself != suspect || state_.is_faulty(hazard)) continue;
      const auto all_faulty = [this](const std::vector<std::uint32_t>& ways) {
        return ways.size() > 1 && std::ranges::all_of(ways, [&](auto s) { return state_.is_faulty(s); });
      };
      for (const auto& side : around.sides)
        if (all_faulty(side.in) || all_faulty(side.out)) return true;
    }
    return false;
  }

  void weigh_fault(std::uint32_t fault, bool with_rivals) {
    std::vector<CountState::StandIn> rivals{{state_.score_of(fault), fault}};
    if (with_rivals) rivals = state_.stand_ins(fault);
    std::erase_if(rivals, [&](const auto& rival) { return is_shown_by_cables(rival.hazard); });
    const auto own = std::ranges::find(rivals, fault, &CountState::StandIn::hazard)->score;
    double total = std::exp(-own.gain);  // in units of the fault's own posterior weight: no fault at all
    for (const auto& rival : rivals) total += std::exp(rival.score.weight - own.weight);
    std::map<std::uint32_t, double> shares;  // of this fault's posterior, by suspect
    std::map<std::uint32_t, std::pair<double, std::uint32_t>> best;
    for (const auto& rival : rivals) {
      const double share = std::exp(rival.score.weight - own.weight) / total;
      const std::uint32_t s = state_.model().suspect_of(rival.hazard);
      shares[s] += share;
      best[s] = std::max(best[s], std::pair(share, rival.hazard));
    }
    const std::uint32_t suspect = state_.model().suspect_of(fault);
    std::vector<std::uint32_t> group{suspect};
    for (const auto& [s, share] : shares) {
      if (share < 1e-4) continue;
      join(s, best[s].second, share, fault);
      if (s != suspect && share >= kMinProbability) group.push_back(s);
    }
    groups_.push_back(std::move(group));
  }

  void list() {
    std::map<std::uint32_t, std::uint32_t> index;
    for (const auto& [s, it] : probability_)
      if (it.probability >= kMinProbability) result_.suspicions.push_back(estimated_in_place(s, it));
    std::ranges::stable_sort(result_.suspicions, std::ranges::greater{}, &Suspicion::probability);
    for (std::uint32_t i = 0; i < result_.suspicions.size(); ++i) index[result_.suspicions[i].suspect] = i;
    for (const auto& group : groups_) {
      std::vector<std::uint32_t> kept;
      for (const std::uint32_t s : group)
        if (const auto at = index.find(s); at != index.end()) {
          kept.push_back(at->second);
          index.erase(at);
        }
      if (!kept.empty()) result_.rivals.push_back(std::move(kept));
    }
    for (const auto& [s, i] : index) result_.rivals.push_back({i});
  }

  struct Range {
    double centre = 0, low = 0, high = 0;
  };
  /// The interval is where the likelihood is within 1.92 of its top (95 %, Wilks 1938).
  Range range_of(std::uint32_t i) {
    const CountModel& model = state_.model();
    const double centre = state_.is_faulty(i) ? model.hazard(i) : state_.best_hazard(i);
    const double top = model.value(i, centre) - 1.92;
    const auto edge = [&](double direction) {
      double inside = std::log(centre);
      double outside = std::log(direction < 0 ? 1e-9 : 20.0);
      if (model.value(i, std::exp(outside)) >= top) return std::exp(outside);
      for (int step = 0; step < 30; ++step) {
        const double middle = 0.5 * (inside + outside);
        (model.value(i, std::exp(middle)) >= top ? inside : outside) = middle;
      }
      return std::exp(inside);
    };
    return {centre, edge(-1), edge(1)};
  }

  /// The share of packets that a suspect's bursts of this hazard took away. Its interval is that of a sum of
  /// bursts of these sizes, as many as there were (compound Poisson: the variance is the sum of their
  /// squares).
  Range lost_in_bursts(std::uint32_t suspect, double hazard) const {
    const CountModel& model = state_.model();
    const double known = model.hazard(suspect + model.suspects());
    double packets = 0, squares = 0;
    for (const auto& cell : state_.problem().rows_of(suspect)) {
      const double all = model.row_burst(cell.index) + (known > 0 ? 0.0 : hazard);
      const double its = state_.problem().beyond_drops(cell.index) * model.burst_weight(cell.index) *
                         (1 - model.stray_weight(cell.index)) * hazard / std::max(all, kMinHazard);
      packets += its;
      squares += its * its;
    }
    const auto sent = std::max(static_cast<double>(state_.problem().suspects[suspect].sent), 1.0);
    const double about = kTwoSided95 * std::sqrt(squares);
    return {std::min(packets / sent, 1.0), std::max(packets - about, 0.0) / sent,
            std::min((packets + about) / sent, 1.0)};
  }

  /// What stands in for a fault loses what that one would.
  Suspicion estimated_in_place(std::uint32_t suspect, const Hypothesis& it) {
    const std::uint32_t other = it.instead_of;
    if (!state_.is_faulty(other) || state_.model().suspect_of(other) == suspect)
      return estimated(suspect, it);
    const double hazard = state_.model().hazard(other);
    state_.set_hazard(other, state_.model().healthy_hazard(other));
    const Suspicion answer = estimated(suspect, it);
    state_.set_hazard(other, hazard);
    return answer;
  }

  Suspicion estimated(std::uint32_t suspect, const Hypothesis& it) {
    Suspicion answer{.suspect = suspect, .probability = it.probability};
    const std::uint32_t burst = suspect + state_.model().suspects();
    const bool singles = state_.is_faulty(suspect) || !state_.model().is_burst(it.likeliest);
    const bool bursts = state_.is_faulty(burst) || state_.model().is_burst(it.likeliest);
    Range in_bursts;
    if (singles) {
      const Range range = range_of(suspect);
      answer.loss = -std::expm1(-range.centre);
      answer.low = -std::expm1(-range.low);
      answer.high = -std::expm1(-range.high);
    }
    if (bursts) {
      in_bursts = lost_in_bursts(suspect, range_of(burst).centre);
      answer.loss = std::min(answer.loss + in_bursts.centre, 1.0);
      answer.low = std::min(answer.low + in_bursts.low, 1.0);
      answer.high = std::min(answer.high + in_bursts.high, 1.0);
    }
    answer.in_bursts = answer.loss > 0 ? in_bursts.centre / answer.loss : 0.0;
    return answer;
  }

  CountState& state_;
  CountResult result_;
  std::map<std::uint32_t, Hypothesis> probability_;
  std::vector<std::vector<std::uint32_t>> groups_;
};

using Suspects = std::vector<std::uint32_t>;

constexpr std::ptrdiff_t kMaxClasses = 4;  // of two channels each: two cables, both ways

void add_once(const Suspects& from, Suspects& to) {
  for (const std::uint32_t s : from)
    if (std::ranges::find(to, s) == to.end()) to.push_back(s);
}

/// Exchanges that remove some of the same: what was found that any removes, and what would stand there by
/// each.
void add_alternatives(std::vector<Exchange> group, const CountProblem& problem, CountResult& result) {
  std::ranges::stable_sort(group, {}, &Exchange::less_likely);
  std::vector<Suspects> alternatives(1);
  for (const Exchange& one : group) add_once(one.removed, alternatives.front());
  for (const Exchange& one : group) {
    Suspects other = alternatives.front();
    std::erase_if(other, [&](auto s) { return std::ranges::find(one.removed, s) != one.removed.end(); });
    add_once(one.added, other);
    std::ranges::sort(other);
    if (std::ranges::find(alternatives, other) == alternatives.end())
      alternatives.push_back(std::move(other));
  }
  std::ranges::sort(alternatives.front());
  const bool of_a_switch =
      alternatives.front().size() == 1 && problem.suspects[alternatives.front().front()].channels.empty();
  const bool too_many = std::ranges::any_of(alternatives, [&](const Suspects& alternative) {
    const auto channels = [&](std::uint32_t s) { return problem.suspects[s].channels.size(); };
    return std::ranges::any_of(alternative, [&](auto s) { return channels(s) > 2; }) ||
           std::ranges::count_if(alternative, [&](auto s) { return channels(s) > 1; }) > kMaxClasses;
  });
  if (!of_a_switch || !too_many) {
    result.alternatives.push_back(std::move(alternatives));
    return;
  }
  // What all its classes may mean would be another question. The switch is doubted all the same.
  const double most = std::max(1.0 / static_cast<double>(alternatives.size()), kOpen);
  for (Suspicion& suspicion : result.suspicions)
    if (std::ranges::find(alternatives.front(), suspicion.suspect) != alternatives.front().end())
      suspicion.probability = std::min(suspicion.probability, most);
}

}  // namespace

double CountResult::with_rivals(std::uint32_t suspicion) const {
  double sum = 0;
  for (const auto& group : rivals)
    if (std::ranges::find(group, suspicion) != group.end())
      for (const std::uint32_t i : group) sum += suspicions[i].probability;
  return std::min(sum, 1.0);
}

bool CountResult::is_in_alternatives(std::uint32_t suspect) const {
  return std::ranges::any_of(alternatives, [&](const auto& each) {
    return std::ranges::find(each.front(), suspect) != each.front().end();
  });
}

CountResult weigh_answer(CountState& state) { return Answer(state).take(); }

void leave_open(std::vector<std::vector<Exchange>> groups, const CountProblem& problem, CountResult& result) {
  // Of what loses packets one by one and in bursts there is one suspect.
  const auto to_suspects = [&](Suspects& hazards) {
    Suspects suspects;
    for (const std::uint32_t i : hazards)
      add_once({i % static_cast<std::uint32_t>(problem.suspects.size())}, suspects);
    hazards = std::move(suspects);
  };
  for (auto& group : groups) {
    for (Exchange& one : group) to_suspects(one.removed), to_suspects(one.added);
    add_alternatives(std::move(group), problem, result);
  }
}

}  // namespace weft::diagnosis
