#include "probes/diagnosis/counts/exchanges.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "topology/base/disjoint_sets.hpp"

namespace weft::diagnosis {
namespace {

constexpr int kMaxImproved = 3;
constexpr std::size_t kMaxSuspects = 6000;  // it is for small fabrics, of which few channels tell
constexpr int kLongFit = 30;                // sweeps
constexpr double kBetter = 3.0;             // nats: what is better by less is as good
constexpr double kAsGood = 3.0;             // nats: explanations this close are not told apart
constexpr double kTwoExchanges = 7.0;       // nats: what two that go together may cost
constexpr double kNeeded = 12.0;            // nats: more than a fault less is worth

using Suspects = std::vector<std::uint32_t>;
using Kept = CountState::Kept;

class Challenges {
 public:
  Challenges(CountClimb& climb, bool by_challenge)
      : climb_(climb), state_(climb.state()), by_challenge_(by_challenge) {}

  std::vector<std::vector<Exchange>> take() {
    std::vector<Exchange> all;
    for (int improved = 0; improved <= kMaxImproved; ++improved) {
      std::erase_if(all, [this](const Exchange& one) { return !state_.all_faulty(one.removed); });
      std::ranges::copy(climb_.moves().prefer_cables(all), std::back_inserter(replaced_));
      if (!by_challenge_ || !challenge_each()) break;
    }
    std::ranges::move(climb_.moves().equal_shifts(), std::back_inserter(all));
    std::ranges::move(challenged_, std::back_inserter(all));
    return in_groups(all);
  }

 private:
  bool is_large() const {
    return state_.faults().size() > kMaxSwapped || state_.problem().suspects.size() > kMaxSuspects;
  }

  /// True: the state is a better one.
  bool challenge_each() {
    challenged_.clear();
    const auto faults = state_.faults();
    if (is_large()) return false;
    const Worth best = worth_of(state_);
    const Kept kept = state_.keep();
    const double fits = state_.model().likeliest_hazards(state_.forbidden(), true).fits;
    for (const auto& forbidden : challenges(faults)) {
      if (is_needed(forbidden, fits)) continue;
      auto out = forbidden;
      std::ranges::copy(replaced_, std::back_inserter(out));
      climb_.without(out, best.probable - kAsGood);
      const Worth now = worth_of(state_);
      if (now.probable > best.probable + kBetter) {
        challenged_.clear();
        return true;
      }
      note_exchange(kept, best, now);
      state_.restore(kept);
      state_.gather_crowds();
    }
    return false;
  }

  /// However much else loses packets, these must too.
  bool is_needed(const Suspects& suspects, double fits) const {
    std::vector<bool> left_out(state_.problem().suspects.size(), false);
    for (const std::uint32_t s : suspects) left_out[s] = true;
    return state_.model().likeliest_hazards(left_out, true).fits < fits - kNeeded;
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

  /// What is worse than what was found by more than chance may do stands beside it only if it is no more
  /// faults. One in the place of one is weighed with its rivals (see weigh_answer).
  void note_exchange(const Kept& kept, const Worth& best, const Worth& now) {
    std::set<std::uint32_t> before, after;
    for (const auto& [fault, hazard] : kept) before.insert(fault);
    for (const std::uint32_t fault : state_.faults()) after.insert(fault);
    Exchange exchange{.less_likely = best.probable - now.probable};
    std::ranges::set_difference(before, after, std::back_inserter(exchange.removed));
    std::ranges::set_difference(after, before, std::back_inserter(exchange.added));
    // Hazards of single losses have the numbers of their suspects; those of bursts do not stand in exchanges.
    const auto is_burst = [this](std::uint32_t hazard) { return state_.model().is_burst(hazard); };
    if (std::ranges::any_of(exchange.removed, is_burst) || std::ranges::any_of(exchange.added, is_burst))
      return;
    drop_same_hosts(exchange);
    const std::size_t removed = exchange.removed.size(), added = exchange.added.size();
    if (removed == 0 || added == 0 || removed + added == 2) return;
    if (is_as_good(now, best) && (now.probable > best.probable - kAsGood || added <= removed))
      challenged_.push_back(std::move(exchange));
  }

  /// A host in the place of its own cables, or the other way round, makes no difference.
  void drop_same_hosts(Exchange& exchange) const {
    const auto hosts_of = [this](const Suspects& suspects) {
      std::set<NodeId> hosts;
      for (const std::uint32_t s : suspects)
        if (const auto& host = state_.priors().host[s]) hosts.insert(*host);
      return hosts;
    };
    const auto before = hosts_of(exchange.removed), after = hosts_of(exchange.added);
    const auto is_in_both = [&](std::uint32_t s) {
      const auto& host = state_.priors().host[s];
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
  Suspects replaced_;  // switches, by cables of theirs
  std::vector<Exchange> challenged_;
};

}  // namespace

std::vector<std::vector<Exchange>> find_exchanges(CountClimb& climb, bool by_challenge) {
  return Challenges(climb, by_challenge).take();
}

}  // namespace weft::diagnosis
