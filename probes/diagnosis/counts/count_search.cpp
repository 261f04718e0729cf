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
constexpr double kSame = 1.0;             // nats: what is less probable must fit so well to stand beside it
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
  /// out: a switch that harms, harms all that crosses it. Where such cables fit as well and are much less
  /// likely, which it is stays open.
  void prefer_cables() {
    for (const CountPriors::Around& around : state_.priors().switches) {
      if (!around.itself || !state_.is_faulty(*around.itself)) continue;
      const bool one_tier = around.sides.size() == 1;
      const double worth = state_.objective();
      const double likelihood = state_.likelihood();
      double best = -1e300;
      Kept chosen;
      std::vector<Instead> instead;
      const Kept kept = state_.keep();
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
          best = state_.objective(), chosen = state_.keep();
        if (!all && fits > -kAsGood && state_.lose_singly(state_.added_since(kept)))
          instead.push_back({fits, state_.added_since(kept)});
        state_.restore(kept);
      }
      if (!chosen.empty())
        state_.restore(chosen);
      else if (!instead.empty())
        note_instead(*around.itself, std::move(instead));
    }
  }

  CountState& state() { return state_; }

  /// What the channels into a switch from one tier lose and what those out of it to one tier lose can be told
  /// apart only by traffic that ends there, or goes another way: the same loss moved from all of the ones to
  /// all of the others may fit as well.
  std::vector<std::vector<std::vector<std::uint32_t>>> alternatives() {
    std::vector<std::vector<std::vector<std::uint32_t>>> all;
    const double worth = state_.objective();
    const double fits = state_.likelihood();
    for (const CountPriors::Around& around : state_.priors().switches)
      for_each_shift(around, [&](const Shifts& shifts) {
        const bool possible = std::ranges::all_of(
            shifts, [this](const Shift& one) { return may_shift(one) && !state_.all_faulty(*one.to); });
        if (!possible) return;
        const Kept kept = state_.keep();
        shift(shifts);
        std::vector<std::uint32_t> moved;
        for (const auto& [s, hazard] : kept)
          if (!state_.is_faulty(s)) moved.push_back(s);
        const auto others = state_.added_since(kept);
        const bool of_these = std::ranges::all_of(moved, [&](std::uint32_t s) {
          return std::ranges::any_of(shifts, [s](const Shift& one) { return one.from_has(s); });
        });
        const double less_likely = worth - state_.objective();
        const double worse = fits - state_.likelihood();
        const bool alike =
            worse < kAsGood && (less_likely < kAsGood || (less_likely < kFitsBetter && worse < kSame));
        if (of_these && alike && state_.lose_singly(moved) && state_.lose_singly(others))
          all.push_back({moved, others});
        state_.restore(kept);
      });
    return all;
  }

  /// Switches that are no more than one of several explanations: cables of theirs, not all, fit as well. By
  /// switch: itself, then what may be at fault instead.
  const std::vector<std::vector<std::vector<std::uint32_t>>>& doubtful_switches() const { return doubtful_; }

 private:
  using Kept = CountState::Kept;
  struct Instead {
    double fits = 0;  // nats, more than with the switch
    std::vector<std::uint32_t> cables;
  };
  void note_instead(std::uint32_t itself, std::vector<Instead> instead) {
    std::ranges::stable_sort(instead, std::ranges::greater{}, &Instead::fits);
    doubtful_.push_back({{itself}});
    for (const Instead& one : instead)
      if (one.fits > instead.front().fits - kAsGood &&
          std::ranges::find(doubtful_.back(), one.cables) == doubtful_.back().end())
        doubtful_.back().push_back(one.cables);
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
    // Of a class it may be another switch's channel.
    const auto& suspects = state_.problem().suspects;
    if (std::ranges::any_of(whole, [&](std::uint32_t s) { return suspects[s].channels.size() > 1; }))
      all.push_back(whole);
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
        const Kept kept = state_.keep();
        const double before = state_.likelihood();
        const double hazard = state_.model().hazard(s);
        state_.remove(s);
        state_.set_hazard(t, state_.model().hazard(t) + hazard);
        state_.refit(1);
        if (state_.likelihood() < before - 1.0) state_.restore(kept);
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

  /// All of `from` are faulty, and more than one.
  struct Shift {
    const std::vector<std::uint32_t>* from;
    const std::vector<std::uint32_t>* to;
    bool from_has(std::uint32_t s) const { return std::ranges::find(*from, s) != from->end(); }
  };
  using Shifts = std::vector<Shift>;
  bool may_shift(const Shift& one) const {
    return one.from->size() > 1 && !one.to->empty() && state_.all_faulty(*one.from);
  }

  /// Moves the least hazard of each `from` to every one of its `to`.
  void shift(const Shifts& shifts) {
    for (const Shift& one : shifts) {
      double least = 1e9;
      for (const std::uint32_t s : *one.from) least = std::min(least, state_.model().hazard(s));
      for (const std::uint32_t s : *one.from) {
        const double rest = state_.model().hazard(s) - least;
        if (rest < kEqualParts * least)
          state_.remove(s);
        else
          state_.set_hazard(s, rest);
      }
      for (const std::uint32_t s : *one.to) state_.add(s, state_.model().hazard(s) + least);
    }
    drop_remnants();
  }

  bool try_shift(const Shifts& shifts) {
    if (!std::ranges::all_of(shifts, [this](const Shift& one) { return may_shift(one); })) return false;
    const double before = state_.objective();
    const Kept kept = state_.keep();
    shift(shifts);
    if (state_.objective() > before + 1e-6) return true;
    state_.restore(kept);
    return false;
  }

  /// What is moved is the least of several estimates: what it leaves of the others may be their error alone.
  void drop_remnants() {
    state_.refit(4);
    if (remove_refuted()) state_.refit(4);
  }

  /// Puts `into`, none of them faulty, in the place of all of `from` that are.
  bool try_merge(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& into) {
    if (state_.any_faulty(into)) return false;
    std::vector<std::uint32_t> faulty;
    double most = 0;
    for (const std::uint32_t s : from)
      if (state_.is_faulty(s)) faulty.push_back(s), most = std::max(most, state_.model().hazard(s));
    if (faulty.size() <= into.size()) return false;
    const double before = state_.objective();
    const Kept kept = state_.keep();
    for (const std::uint32_t s : faulty) state_.remove(s);
    for (const std::uint32_t s : into) state_.add(s, most);
    drop_remnants();
    if (state_.objective() > before + 1e-6) return true;
    state_.restore(kept);
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

  /// From all channels into the switch of one tier to all out of it of one, and back; both at once first,
  /// for cables are often bad both ways.
  template <class Visit>
  static void for_each_shift(const CountPriors::Around& around, Visit visit) {
    for (const auto& from : around.sides)
      for (const auto& to : around.sides) {
        if (&from != &to) visit(Shifts{{&from.in, &to.out}, {&from.out, &to.in}});
        visit(Shifts{{&from.in, &to.out}});
        visit(Shifts{{&from.out, &to.in}});
      }
  }

  bool shift_all() {
    bool shifted = false;
    for (const CountPriors::Around& around : state_.priors().switches) {
      for_each_shift(around, [&](const Shifts& shifts) {
        const Shift& first = shifts.front();
        shifted |= try_shift(shifts) ||
                   (shifts.size() == 1 && first.to->size() == 1 && try_merge(*first.from, *first.to));
      });
      shifted |= merge_into_cables(around);
      if (!around.itself || state_.is_faulty(*around.itself)) continue;
      std::vector<std::uint32_t> in, out;
      for (const auto& side : around.sides) {
        in.insert(in.end(), side.in.begin(), side.in.end());
        out.insert(out.end(), side.out.begin(), side.out.end());
      }
      const std::vector<std::uint32_t> itself{*around.itself};
      shifted |= try_shift({{&in, &itself}}) || try_shift({{&out, &itself}});
    }
    return shifted;
  }

  CountState state_;
  std::vector<std::vector<std::vector<std::uint32_t>>> doubtful_;
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
  doubt_switches(best->doubtful_switches(), problem, result);
  if (best_is_even && result.background.mean > tolerated)
    result.even_loss = -std::expm1(-result.background.mean);
  result.account = account_of(state, result, tolerated, named_from);
  return result;
}

}  // namespace weft
