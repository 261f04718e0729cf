#include "probes/diagnosis/counts/exchanges.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>

#include "probes/diagnosis/counts/likeliest_hazards.hpp"
#include "topology/base/disjoint_sets.hpp"
#include "topology/findings/loss_runs.hpp"

namespace weft::diagnosis {
namespace {

constexpr int kMaxImproved = 3;
constexpr std::size_t kMaxSuspects = 6000;  // it is for small fabrics, of which few channels tell
constexpr int kLongFit = 30;                // sweeps
constexpr double kBetter = 3.0;             // nats: what is better by less is as good
constexpr double kAsGood = 3.0;             // nats: explanations this close are not told apart
constexpr double kTwoExchanges = 7.0;       // nats: what two that go together may cost
constexpr double kNeeded = 12.0;            // nats: more than a fault less is worth
constexpr double kRival = 2.2;              // nats, ln 9: a stand-in closer than this keeps a fault unnamed
constexpr double kRefitted = 1.0;           // nats that all hazards at their best must be worth, to be told
constexpr double kByChance = 2.0;           // standard deviations of a variance
constexpr double kFarOut = 16.0;            // squared deviations: what is above may be a burst
constexpr double kFarOutOfSeveral = 100.0;  // the same of rows that hold several: one more explains less

using Suspects = std::vector<std::uint32_t>;
using Kept = CountState::Kept;

class Challenges {
 public:
  Challenges(CountClimb& climb, bool by_challenge)
      : climb_(climb), state_(climb.state()), by_challenge_(by_challenge) {}

  Exchanges take() {
    std::vector<Exchange> all;
    for (int improved = 0; improved <= kMaxImproved; ++improved) {
      std::erase_if(all, [this](const Exchange& one) { return !state_.all_faulty(one.removed); });
      std::ranges::copy(climb_.moves().prefer_cables(all), std::back_inserter(replaced_));
      if (!by_challenge_ || !challenge_each()) break;
    }
    std::optional<std::set<std::uint32_t>> challenged;
    if (climb_.is_over()) challenged = challenged_faults();
    std::ranges::move(climb_.moves().equal_shifts(), std::back_inserter(all));
    std::ranges::move(challenged_, std::back_inserter(all));
    return {in_groups(all), std::move(spared_), std::move(challenged)};
  }

 private:
  bool is_large() const {
    return state_.faults().size() > kMaxSwapped || state_.problem().suspects.size() > kMaxSuspects;
  }

  /// True: the state is a better one.
  bool challenge_each() {
    challenged_.clear(), spared_.clear();
    if (is_large()) return false;
    const Worth best = worth_of(state_);
    const Kept kept = state_.keep();
    note_scatter();
    LikeliestHazards all(state_.problem(), state_.forbidden(), true);
    left_ = challenges(state_.faults());
    while (!left_.empty() && !climb_.is_over()) {
      if (challenge(*left_.begin(), kept, best, all)) {
        challenged_.clear(), spared_.clear();
        return true;
      }
      if (!climb_.is_over()) left_.erase(left_.begin());
    }
    return false;
  }

  /// `all`: the likeliest hazards of all channels. True: the state is a better one; else it is as it was.
  bool challenge(const Suspects& forbidden, const Kept& kept, const Worth& best, LikeliestHazards& all) {
    if (try_without(forbidden, kept, best)) return true;
    if (is_needed(forbidden, all)) return false;
    auto out = forbidden;
    std::ranges::copy(replaced_, std::back_inserter(out));
    climb_.without(out, best.probable - kAsGood);
    const Worth now = worth_of(state_);
    if (now.probable > best.probable + kBetter) return true;
    auto exchange = exchange_for(kept, best, now);
    state_.restore(kept);
    state_.gather_crowds();
    if (exchange && !is_a_rival(*exchange)) challenged_.push_back(std::move(*exchange));
    return false;
  }

  /// The faults of which time sufficed to ask what else explains the same.
  std::set<std::uint32_t> challenged_faults() const {
    std::set<std::uint32_t> all;
    if (!by_challenge_ || is_large()) return all;
    for (const std::uint32_t fault : state_.faults()) all.insert(state_.model().suspect_of(fault));
    for (const Suspects& suspects : left_)
      for (const std::uint32_t s : suspects) all.erase(s);
    return all;
  }

  /// However much else loses packets, these must too. Both fits go on until that is known.
  static bool is_needed(const Suspects& suspects, LikeliestHazards& all) {
    LikeliestHazards rest = all.without(suspects);
    for (bool goes_on = true; goes_on;) {
      if (rest.most() < all.reached() - kNeeded) return true;
      if (rest.reached() >= all.most() - kNeeded) return false;
      const bool all_is_rougher = all.most() - all.reached() >= rest.most() - rest.reached();
      goes_on = all_is_rougher ? all.go_on() || rest.go_on() : rest.go_on() || all.go_on();
    }
    return false;
  }

  /// With nothing in their place: a fault that is all but certain while the others lose what they were found
  /// to lose may be one that their errors made. True: so it is more probable, and the state is that.
  bool try_without(const Suspects& forbidden, const Kept& kept, const Worth& best) {
    double nats = 0;  // with all others as they are
    for (const auto& [fault, hazard] : kept) {
      if (std::ranges::find(forbidden, state_.model().suspect_of(fault)) == forbidden.end()) continue;
      nats += state_.score_of(fault).gain;
      state_.remove(fault);
    }
    state_.forbid(forbidden);
    const double held = state_.objective();
    state_.refit(kLongFit);
    Worth now = worth_of(state_);
    nats -= now.probable - held;
    state_.forbid({});
    if (now.probable > best.probable + kBetter && now.fits > best.fits - kNeeded) return true;
    const Exchange exchange = exchange_since(kept);
    // What bursts of nothing in particular explain then is not read as losses one by one; but one burst is no
    // more runs than a row keeps.
    const bool by_others =
        is_taken_up(exchange.removed) && has_mostly(exchange.removed, [this](std::uint32_t row) {
          const bool is_known = state_.problem().runs[row] > 0;
          return holds_several(row) && !(is_known && state_.model().burst_weight(row) > 0.5);
        });
    state_.restore(kept);
    state_.gather_crowds();
    if (is_explained_by_rivals(exchange)) return false;
    if (by_others) {
      const Worth eased_now = eased(now, best, exchange, kept);
      nats -= eased_now.probable - now.probable;
      now = eased_now;
    }
    if (now.fits <= best.fits - kNeeded) return false;
    for (const std::uint32_t i : exchange.removed) {
      double& least = spared_.try_emplace(state_.model().suspect_of(i), nats).first->second;
      least = std::min(least, nats);
    }
    return false;
  }

  std::set<Suspects> challenges(const Suspects& faults) const {
    std::set<Suspects> all;
    for (const std::uint32_t fault : faults) {
      const std::uint32_t suspect = state_.model().suspect_of(fault);
      auto forbidden = state_.within(suspect);
      all.insert(forbidden);
      for (const std::uint32_t other : state_.priors().reverse[suspect])
        std::ranges::copy(state_.within(other), std::back_inserter(forbidden));
      std::ranges::sort(forbidden);
      all.insert(std::move(forbidden));
    }
    return all;
  }

  Exchange exchange_since(const Kept& kept) const {
    Exchange exchange;
    for (const auto& [fault, hazard] : kept)
      if (!state_.is_faulty(fault)) exchange.removed.push_back(fault);
    std::ranges::sort(exchange.removed);
    exchange.added = state_.added_since(kept);
    return exchange;
  }

  /// What may stand in for bursts is said by weigh_answer, but for rows that hold several.
  bool is_explained_by_rivals(const Exchange& exchange) const {
    const auto is_burst = [this](std::uint32_t i) { return state_.model().is_burst(i); };
    return (std::ranges::any_of(exchange.removed, is_burst) ||
            std::ranges::any_of(exchange.added, is_burst)) &&
           !has_many_runs(exchange);
  }

  /// Losses that scatter more than chance lets them tell by so much the less.
  Worth eased(Worth now, const Worth& best, const Exchange& exchange, const Kept& kept) const {
    const double by_scatter = std::max(best.fits - now.fits, 0.0) * (1 - 1 / scatter_at(exchange, kept));
    return {now.probable + by_scatter, now.fits + by_scatter};
  }

  /// What is worse than what was found by more than chance may do stands beside it only if it is no more
  /// faults.
  std::optional<Exchange> exchange_for(const Kept& kept, const Worth& best, Worth now) const {
    Exchange exchange = exchange_since(kept);
    drop_same_suspects(exchange);
    drop_same_hosts(exchange);
    const std::size_t removed = exchange.removed.size(), added = exchange.added.size();
    if (removed == 0 || added == 0 || is_explained_by_rivals(exchange)) return std::nullopt;
    now = eased(now, best, exchange, kept);
    exchange.less_likely = best.probable - now.probable;
    if (!is_as_good(now, best) || (now.probable <= best.probable - kAsGood && added > removed))
      return std::nullopt;
    return exchange;
  }

  /// One in the place of one, of which weigh_answer says enough. It weighs stand-ins with all other hazards
  /// as they are; what those would be beside it may make it as probable.
  bool is_a_rival(const Exchange& exchange) {
    if (exchange.removed.size() + exchange.added.size() > 2) return false;
    const auto is_channel = [this](std::uint32_t i) {
      return state_.problem().suspects[state_.model().suspect_of(i)].is_channel();
    };
    const bool of_channels = is_channel(exchange.removed.front()) && is_channel(exchange.added.front());
    if (!of_channels || exchange.less_likely > kRival) return true;
    const auto rivals = state_.stand_ins(exchange.removed.front());
    const auto at = [&](std::uint32_t s) {
      return std::ranges::find(rivals, s, &CountState::StandIn::hazard);
    };
    const auto other = at(exchange.added.front());
    if (other == rivals.end()) return false;
    const double held = at(exchange.removed.front())->score.weight - other->score.weight;
    return held < kRival || held < exchange.less_likely + kRefitted;
  }

  /// How far the losses of each row are from what is expected, as a share of what chance allows. What one
  /// burst explains scatters no more; several runs in a row are several, of which the model knows one.
  void note_scatter() {
    const CountProblem& problem = state_.problem();
    expected_.clear(), squares_.clear();
    for (std::uint32_t row = 0; row < problem.row_count(); ++row) {
      const double loss = -std::expm1(-std::max(state_.model().row_hazard(row), kMinHazard));
      const double variance = problem.n[row] * loss * (1 - loss);
      const double off = problem.k[row] - problem.n[row] * loss;
      expected_.push_back(variance);
      const bool is_burst = problem.runs[row] == 1 && state_.model().burst_weight(row) > 0.5;
      const double most = holds_several(row) ? kFarOutOfSeveral : kFarOut;
      squares_.push_back(is_burst ? variance : std::min(off * off, most * variance));
    }
  }

  /// The variance of the losses of these rows in units of that of packets lost one by one: above 1 where a
  /// fault comes and goes, else 1.
  double scatter_over(const std::set<std::uint32_t>& rows) const {
    double expected = 0, squares = 0, parts = 0;
    for (const std::uint32_t row : rows) {
      expected += expected_[row];
      squares += squares_[row];
      parts += expected_[row] * expected_[row];
    }
    // A squared deviation scatters by 2 about 1: few rows are far out by chance.
    return squares > expected + kByChance * std::sqrt(2 * parts) ? squares / expected : 1.0;
  }

  /// Runs: of more than a row keeps their order is not known.
  bool holds_several(std::uint32_t row) const {
    const CountProblem& problem = state_.problem();
    const bool has_no_order = problem.runs[row] == 0 && problem.k[row] < problem.n[row];
    return problem.runs[row] > 1 || (has_no_order && problem.k[row] > kMaxLossRuns);
  }

  /// Without these, the others as they are now are expected to lose most of what was lost in their rows.
  bool is_taken_up(const Suspects& hazards) const {
    const CountProblem& problem = state_.problem();
    double lost = 0, expected = 0;
    for (const std::uint32_t hazard : hazards)
      for (const auto& cell : problem.rows_of(state_.model().suspect_of(hazard))) {
        lost += problem.k[cell.index];
        expected += problem.n[cell.index] * -std::expm1(-state_.model().row_hazard(cell.index));
      }
    return 2 * expected > lost;
  }

  /// Most of what was lost in the rows of these was lost in rows for which `is_such` holds.
  bool has_mostly(const Suspects& hazards, auto is_such) const {
    const CountProblem& problem = state_.problem();
    double lost = 0, in_such = 0;
    for (const std::uint32_t hazard : hazards)
      for (const auto& cell : problem.rows_of(state_.model().suspect_of(hazard))) {
        lost += problem.k[cell.index];
        if (is_such(cell.index)) in_such += problem.k[cell.index];
      }
    return 2 * in_such > lost;
  }
  bool has_many_runs(const Exchange& exchange) const {
    return has_mostly(exchange.removed, [this](std::uint32_t row) { return holds_several(row); });
  }

  /// The most of it over the suspects of an exchange, or over any fault that shares rows with them.
  double scatter_at(const Exchange& exchange, const Kept& faults) const {
    const auto rows_of = [this](std::uint32_t hazard, std::set<std::uint32_t>& rows) {
      for (const auto& cell : state_.problem().rows_of(state_.model().suspect_of(hazard)))
        rows.insert(cell.index);
    };
    std::set<std::uint32_t> rows;
    for (const Suspects* side : {&exchange.removed, &exchange.added})
      for (const std::uint32_t s : *side) rows_of(s, rows);
    double most = scatter_over(rows);
    for (const auto& [fault, hazard] : faults) {
      std::set<std::uint32_t> its;
      rows_of(fault, its);
      if (std::ranges::any_of(its, [&](std::uint32_t row) { return rows.contains(row); }))
        most = std::max(most, scatter_over(its));
    }
    return most;
  }

  /// What loses packets one by one instead of in bursts is the same.
  void drop_same_suspects(Exchange& exchange) const {
    const auto suspects = [this](const Suspects& hazards) {
      std::set<std::uint32_t> all;
      for (const std::uint32_t i : hazards) all.insert(state_.model().suspect_of(i));
      return all;
    };
    const auto before = suspects(exchange.removed), after = suspects(exchange.added);
    const auto is_in_both = [&](std::uint32_t i) {
      const std::uint32_t s = state_.model().suspect_of(i);
      return before.contains(s) && after.contains(s);
    };
    std::erase_if(exchange.removed, is_in_both);
    std::erase_if(exchange.added, is_in_both);
  }

  /// A host in the place of its own cables, or the other way round, makes no difference.
  void drop_same_hosts(Exchange& exchange) const {
    const auto host_of = [this](std::uint32_t i) {
      return state_.priors().host[state_.model().suspect_of(i)];
    };
    const auto hosts_of = [&](const Suspects& hazards) {
      std::set<NodeId> hosts;
      for (const std::uint32_t i : hazards)
        if (const auto host = host_of(i)) hosts.insert(*host);
      return hosts;
    };
    const auto before = hosts_of(exchange.removed), after = hosts_of(exchange.added);
    const auto is_in_both = [&](std::uint32_t i) {
      const auto host = host_of(i);
      return host && before.contains(*host) && after.contains(*host);
    };
    std::erase_if(exchange.removed, is_in_both);
    std::erase_if(exchange.added, is_in_both);
  }

  std::vector<std::vector<Exchange>> in_groups(const std::vector<Exchange>& exchanges) {
    const Worth best = worth_of(state_);
    DisjointSets linked(exchanges.size());
    for (std::uint32_t i = 0; i < exchanges.size(); ++i)
      for (std::uint32_t j = 0; j < i; ++j)
        if (linked.root(i) != linked.root(j) && !go_together(exchanges[i], exchanges[j], best))
          linked.join(i, j);
    std::vector<std::vector<Exchange>> groups;
    for (const auto& members : linked.sets()) {
      groups.emplace_back();
      for (const std::uint32_t i : members) groups.back().push_back(exchanges[i]);
    }
    return groups;
  }

  bool go_together(const Exchange& one, const Exchange& other, const Worth& best) {
    for (const std::uint32_t s : one.removed)
      if (std::ranges::find(other.removed, s) != other.removed.end()) return false;
    if (!by_challenge_ || is_large()) return true;
    const Kept kept = state_.keep();
    Suspects removed = one.removed;
    std::ranges::copy(other.removed, std::back_inserter(removed));
    for (std::uint32_t& i : removed) i = state_.model().suspect_of(i);
    state_.forbid(removed);
    for (const Exchange* each : {&one, &other})
      for (const std::uint32_t s : each->added) state_.add(s);
    state_.refit(kLongFit);
    const Worth now = worth_of(state_);
    state_.forbid({});
    state_.restore(kept);
    return now.probable > best.probable - 2 * kTwoExchanges && now.fits > best.fits - kTwoExchanges;
  }

  CountClimb& climb_;
  CountState& state_;
  const bool by_challenge_;
  Suspects replaced_;        // switches, by cables of theirs
  std::set<Suspects> left_;  // to challenge
  std::vector<Exchange> challenged_;
  std::map<std::uint32_t, double> spared_;
  std::vector<double> expected_;  // by row: the variance of its losses, were they lost one by one
  std::vector<double> squares_;   // by row: of how far they are from their mean
};

}  // namespace

Exchanges find_exchanges(CountClimb& climb, bool by_challenge) {
  return Challenges(climb, by_challenge).take();
}

}  // namespace weft::diagnosis
