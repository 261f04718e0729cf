#include "probes/diagnosis/counts/count_search.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "probes/diagnosis/counts/count_account.hpp"
#include "probes/diagnosis/counts/count_answer.hpp"

namespace weft {
namespace {

constexpr int kMaxRounds = 8;
constexpr int kMaxMoves = 400;
constexpr std::size_t kMaxSwapped = 64;
/// Beyond so many suspects the likeliest hazards of all are no start: it is for small fabrics, whose channels
/// may be bad by the half; in large ones what is found one by one is found at once.
constexpr std::size_t kSmallProblem = 6000;
constexpr std::ptrdiff_t kTwoCables = 4;  // channels
constexpr std::size_t kSmallSwitch = 64;  // channels
constexpr double kFitsBetter = 7.0;       // nats: how much less probable cables may be that fit better
constexpr double kAsGood = 3.0;           // nats: alternatives this close are not told apart
constexpr double kEqualParts = 0.25;      // of a hazard: faults this alike may be one moved from elsewhere

class Search {
 public:
  Search(const CountProblem& problem, const CountPriors& priors, const BackgroundPrior& background)
      : state_(problem, priors, background), row_taken_(problem.row_count(), 0) {}

  /// Climbs until nothing moves; worth: see CountState::objective.
  double climb_from_none() {
    for (int round = 0; round < kMaxRounds; ++round) {
      const auto before = state_.faulty();
      if (round > 0) state_.learn();
      state_.start_round();
      climb();
      swap_all();
      if (shift_all()) climb();
      if (round > 0 && before == state_.faulty()) break;
    }
    return state_.objective();
  }

  double climb_from_likeliest() {
    state_.start_round();
    const auto hazards = state_.model().likeliest_hazards();
    const double least = 10 * state_.model().learned().mean;
    for (std::uint32_t s = 0; s < hazards.size(); ++s)
      if (hazards[s] > least) state_.add(s, std::min(hazards[s], 20.0));
    return climb_from_none();
  }

  /// A switch is named when it explains better than its cables one by one: than any two to one tier of its
  /// neighbours, whose faults look like one of its own to all that passes through, and than more of them if
  /// these, for all that more faults are less likely, are the more probable, or fit better with a cable left
  /// out: a switch that harms, harms all that crosses it.
  void prefer_cables() {
    for (const CountPriors::Around& around : state_.priors().switches) {
      if (!around.itself || !state_.is_faulty(*around.itself)) continue;
      const bool one_tier = around.sides.size() == 1;
      const double worth = state_.objective();
      const double likelihood = state_.likelihood();
      double best = -1e300;
      Kept chosen;
      const Kept kept = keep();
      const auto choices = cables_for(around);
      for (const auto& cables : choices) {
        // What passes from side to side of one tier crosses two of its channels.
        const double hazard = state_.model().hazard(*around.itself) * (one_tier ? 0.5 : 1.0);
        state_.remove(*around.itself);
        for (const std::uint32_t s : cables) state_.add(s, state_.model().hazard(s) + hazard);
        for (int round = 0; round < 4; ++round) {
          state_.refit(3);
          remove_refuted();
        }
        if (one_tier) join_in_series(around.sides.front());
        const auto count = std::ranges::count_if(cables, [&](auto s) { return state_.is_faulty(s); });
        const bool all = one_tier && count == std::ssize(choices.front());
        const double gained = state_.objective() - worth;
        const double fits = state_.likelihood() - likelihood;
        const bool better =
            count <= kTwoCables || (!all && (gained > kAsGood || (fits > kAsGood && gained > -kFitsBetter)));
        if (better && fits > -kAsGood && state_.objective() > best)
          best = state_.objective(), chosen = keep();
        restore(kept);
      }
      if (!chosen.empty()) restore(chosen);
    }
  }

  CountState& state() { return state_; }

  /// What the channels into a switch from one tier lose and what those out of it to one tier lose can be told
  /// apart only by traffic that ends there, or goes another way: the same loss moved from all of the ones to
  /// all of the others may fit as well.
  std::vector<std::vector<std::vector<std::uint32_t>>> alternatives() {
    std::vector<std::vector<std::vector<std::uint32_t>>> all;
    const double worth = state_.objective();
    for (const CountPriors::Around& around : state_.priors().switches)
      for_each_shift(around, [&](const auto& from, const auto& to) {
        if (from.size() < 2 || !all_faulty(from) || any_faulty(to)) return;
        const Kept kept = keep();
        if (!shift(from, to)) return;
        std::vector<std::uint32_t> moved;
        for (const std::uint32_t s : from)
          if (!state_.is_faulty(s)) moved.push_back(s);
        state_.refit(2);
        const double other = state_.objective();
        if (!moved.empty() && other > worth - kAsGood) all.push_back({moved, to});
        restore(kept);
      });
    return all;
  }

 private:
  using Kept = std::vector<std::pair<std::uint32_t, double>>;
  Kept keep() const {
    Kept kept;
    for (const std::uint32_t fault : state_.faults()) kept.emplace_back(fault, state_.model().hazard(fault));
    return kept;
  }
  void restore(const Kept& kept) {
    const auto faults = state_.faults();
    for (const std::uint32_t fault : faults)
      if (std::ranges::find(kept, fault, &Kept::value_type::first) == kept.end()) state_.remove(fault);
    for (const auto& [fault, hazard] : kept) state_.add(fault, hazard);
  }
  bool all_faulty(const std::vector<std::uint32_t>& suspects) const {
    return std::ranges::all_of(suspects, [this](std::uint32_t s) { return state_.is_faulty(s); });
  }
  bool any_faulty(const std::vector<std::uint32_t>& suspects) const {
    return std::ranges::any_of(suspects, [this](std::uint32_t s) { return state_.is_faulty(s); });
  }

  /// The channels to and from each tier of a switch's neighbours; of a small switch also all but one cable's.
  std::vector<std::vector<std::uint32_t>> cables_for(const CountPriors::Around& around) const {
    std::vector<std::vector<std::uint32_t>> all;
    for (const auto& side : around.sides) {
      all.push_back(side.in);
      all.back().insert(all.back().end(), side.out.begin(), side.out.end());
    }
    std::vector<std::uint32_t> whole;
    for (const auto& cables : all) whole.insert(whole.end(), cables.begin(), cables.end());
    if (whole.size() > kSmallSwitch) return all;
    for (const auto& side : around.sides)
      for (const std::uint32_t good : side.in) {
        auto rest = whole;
        const auto& reverse = state_.priors().reverse[good];
        std::erase_if(rest,
                      [&](auto s) { return s == good || std::ranges::find(reverse, s) != reverse.end(); });
        all.push_back(std::move(rest));
      }
    return all;
  }

  /// Moves what a channel into the switch loses to one out of it where that fits as well.
  void join_in_series(const CountPriors::Around::Side& side) {
    for (const std::uint32_t s : side.in)
      for (const std::uint32_t t : side.out) {
        if (!state_.is_faulty(s) || !state_.is_faulty(t)) continue;
        const Kept kept = keep();
        const double before = state_.likelihood();
        const double hazard = state_.model().hazard(s);
        state_.remove(s);
        state_.set_hazard(t, state_.model().hazard(t) + hazard);
        state_.refit(1);
        if (state_.likelihood() < before - 1.0) restore(kept);
      }
  }

  void climb() {
    for (int move = 0; move < kMaxMoves; ++move) {
      const bool added = add_best();
      state_.refit(2);
      state_.gather_crowds();
      const bool removed = remove_refuted();
      if (removed) state_.gather_crowds();
      if (!added && !removed) return;
    }
  }

  /// Adds, best first, every suspect with a gain that shares no lossy row with one added in this pass.
  bool add_best() {
    std::vector<std::pair<double, std::uint32_t>> candidates;
    for (std::uint32_t i = 0; i < state_.hazards(); ++i)
      if (!state_.is_faulty(i) && state_.refreshed(i).gain > 0)
        candidates.emplace_back(state_.refreshed(i).weight, i);
    std::ranges::stable_sort(candidates, std::ranges::greater{}, &std::pair<double, std::uint32_t>::first);
    ++pass_;
    bool added = false;
    for (const auto& [weight, i] : candidates) {
      const auto rows = state_.problem().rows_of(state_.model().suspect_of(i));
      const auto taken = [this](const CountProblem::Cell& cell) { return row_taken_[cell.index] == pass_; };
      const bool clash = std::ranges::any_of(rows, taken);
      for (const auto& cell : rows) row_taken_[cell.index] = pass_;
      if (clash) continue;
      state_.add(i);
      added = true;
    }
    return added;
  }

  /// Removes every fault that is one no more, the weakest first, each judged with the ones before it gone.
  bool remove_refuted() {
    std::vector<std::pair<double, std::uint32_t>> by_gain;
    for (const std::uint32_t fault : state_.faults())
      by_gain.emplace_back(state_.refreshed(fault).gain, fault);
    std::ranges::sort(by_gain);
    bool removed = false;
    for (const auto& [gain, fault] : by_gain) {
      if (gain >= 0) break;
      if (state_.refreshed(fault).gain >= 0) continue;
      state_.remove(fault);
      removed = true;
    }
    return removed;
  }

  void swap_all() {
    for (int move = 0; move < 16; ++move) {
      bool swapped = false;
      const auto faults = state_.faults();
      if (faults.size() > kMaxSwapped) return;
      for (const std::uint32_t fault : faults) {
        const std::uint32_t best = state_.stand_ins(fault).front().hazard;
        if (best == fault) continue;
        state_.remove(fault);
        state_.add(best);
        swapped = true;
      }
      if (!swapped) return;
      climb();
    }
  }

  /// Moves the least hazard of `from`, all faulty, to every one of `to`. False: nothing to move.
  bool shift(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& to) {
    double least = 1e9;
    for (const std::uint32_t s : from) least = std::min(least, state_.model().hazard(s));
    if (from.empty() || to.empty() || least <= 0) return false;
    for (const std::uint32_t s : from) {
      const double rest = state_.model().hazard(s) - least;
      if (rest < kEqualParts * least)
        state_.remove(s);
      else
        state_.set_hazard(s, rest);
    }
    for (const std::uint32_t s : to) state_.add(s, state_.model().hazard(s) + least);
    return true;
  }

  bool try_shift(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& to) {
    if (from.size() < 2 || !all_faulty(from)) return false;
    const double before = state_.objective();
    const Kept kept = keep();
    if (!shift(from, to)) return false;
    state_.refit(4);
    if (state_.objective() > before + 1e-6) return true;
    restore(kept);
    return false;
  }

  /// Puts `into`, none of them faulty, in the place of all of `from` that are.
  bool try_merge(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& into) {
    if (any_faulty(into)) return false;
    std::vector<std::uint32_t> faulty;
    double most = 0;
    for (const std::uint32_t s : from)
      if (state_.is_faulty(s)) faulty.push_back(s), most = std::max(most, state_.model().hazard(s));
    if (faulty.size() <= into.size()) return false;
    const double before = state_.objective();
    const Kept kept = keep();
    for (const std::uint32_t s : faulty) state_.remove(s);
    for (const std::uint32_t s : into) state_.add(s, most);
    state_.refit(4);
    if (state_.objective() > before + 1e-6) return true;
    restore(kept);
    return false;
  }

  /// A cable bad both ways, in the place of all channels beside it at a switch.
  bool merge_into_cables(const CountPriors::Around& around) {
    bool merged = false;
    for (const auto& from : around.sides)
      for (const auto& to : around.sides) {
        if (&from == &to || to.in.size() != 1 || to.out.size() != 1 || to.in == to.out) continue;
        auto both = from.in;
        both.insert(both.end(), from.out.begin(), from.out.end());
        merged |= try_merge(both, {to.out.front(), to.in.front()});
      }
    return merged;
  }

  /// From all channels into the switch of one tier to all out of it of one, and back.
  template <class Visit>
  static void for_each_shift(const CountPriors::Around& around, Visit visit) {
    for (const auto& from : around.sides)
      for (const auto& to : around.sides) {
        visit(from.in, to.out);
        visit(from.out, to.in);
      }
  }

  bool shift_all() {
    bool shifted = false;
    for (const CountPriors::Around& around : state_.priors().switches) {
      for_each_shift(around, [&](const auto& from, const auto& to) {
        shifted |= try_shift(from, to) || (to.size() == 1 && try_merge(from, to));
      });
      shifted |= merge_into_cables(around);
      if (!around.itself || state_.is_faulty(*around.itself)) continue;
      std::vector<std::uint32_t> in, out;
      for (const auto& side : around.sides) {
        in.insert(in.end(), side.in.begin(), side.in.end());
        out.insert(out.end(), side.out.begin(), side.out.end());
      }
      shifted |= try_shift(in, {*around.itself}) || try_shift(out, {*around.itself});
    }
    return shifted;
  }

  CountState state_;
  std::vector<std::uint32_t> row_taken_;
  std::uint32_t pass_ = 0;
};

}  // namespace

CountResult search_counts(const CountProblem& problem, const CountPriors& priors, double tolerated,
                          double named_from) {
  std::unique_ptr<Search> best;
  double worth = -1e300;
  bool best_is_even = false;
  const auto consider = [&](bool even, bool likeliest) {
    auto search = std::make_unique<Search>(problem, priors, BackgroundPrior{tolerated, even});
    const double its = likeliest ? search->climb_from_likeliest() : search->climb_from_none();
    if (best && its <= worth) return;
    best = std::move(search), worth = its, best_is_even = even;
  };
  consider(false, false);
  const bool crowded = 20 * best->state().faults().size() > problem.suspects.size();
  const bool at_most = best->state().model().learned().mean > 0.9 * tolerated;
  if (problem.suspects.size() < kSmallProblem && problem.row_count() > 0) consider(false, true);
  if ((crowded || at_most) && priors.may_be_even) consider(true, false);
  best->prefer_cables();
  CountState& state = best->state();
  auto alternatives = best->alternatives();
  CountResult result = weigh_answer(state);
  result.alternatives = std::move(alternatives);
  if (best_is_even && result.background.mean > tolerated)
    result.even_loss = -std::expm1(-result.background.mean);
  result.account = account_of(state, result, tolerated, named_from);
  return result;
}

}  // namespace weft
