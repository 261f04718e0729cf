#include "probes/diagnosis/counts/switch_moves.hpp"

#include <map>
#include <set>

namespace weft::diagnosis {
namespace {

constexpr std::ptrdiff_t kTwoCables = 4;  // channels
constexpr std::size_t kSmallSwitch = 64;  // channels
constexpr double kFitsBetter = 7.0;       // nats: how much less probable cables may be that fit better
constexpr double kAsGood = 3.0;           // nats: alternatives this close are not told apart
constexpr double kSame = 1.0;             // nats: what is less probable must fit so well to stand beside it
constexpr double kEqualParts = 0.25;      // of a hazard: faults this alike may be one moved from elsewhere

/// All that enters a switch of few cables, and all that leaves it: what crosses it loses the same there.
std::vector<std::vector<std::uint32_t>> all_one_way(const CountPriors::Around& around) {
  std::vector<std::uint32_t> in, out;
  for (const auto& side : around.sides) {
    in.insert(in.end(), side.in.begin(), side.in.end());
    out.insert(out.end(), side.out.begin(), side.out.end());
  }
  if (around.sides.size() < 2 || std::ssize(in) > kTwoCables || std::ssize(out) > kTwoCables) return {};
  return {std::move(in), std::move(out)};
}

/// From all channels into the switch of one tier to all out of it of one, and back; both at once first,
/// for cables are often bad both ways.
template <class Visit>
void for_each_shift(const CountPriors::Around& around, Visit visit) {
  for (const auto& from : around.sides)
    for (const auto& to : around.sides) {
      if (&from != &to) visit(SwitchMoves::Shifts{{&from.in, &to.out}, {&from.out, &to.in}});
      visit(SwitchMoves::Shifts{{&from.in, &to.out}});
      visit(SwitchMoves::Shifts{{&from.out, &to.in}});
    }
}

/// The same channels' hazards of bursts.
CountPriors::Around moved_by(std::uint32_t suspects, CountPriors::Around around) {
  for (auto& side : around.sides)
    for (auto* const channels : {&side.in, &side.out})
      for (std::uint32_t& channel : *channels) channel += suspects;
  return around;
}

}  // namespace

bool is_as_good(const Worth& other, const Worth& best) {
  const double less_likely = best.probable - other.probable;
  const double worse = best.fits - other.fits;
  return worse < kAsGood && (less_likely < kAsGood || (less_likely < kFitsBetter && worse < kSame));
}

std::vector<std::uint32_t> SwitchMoves::prefer_cables(std::vector<Exchange>& open) {
  std::vector<std::uint32_t> replaced;
  for (const CountPriors::Around& around : state_.priors().switches) {
    if (!around.itself || !state_.is_faulty(*around.itself)) continue;
    const bool one_tier = around.sides.size() == 1;
    const Worth before = worth_of(state_);
    double best = -1e300;
    Kept chosen;
    std::vector<Instead> instead;
    const Kept kept = state_.keep();
    auto choices = cables_for(around);
    const std::size_t one_way_from = choices.size();
    std::ranges::move(all_one_way(around), std::back_inserter(choices));
    for (std::size_t choice = 0; choice < choices.size(); ++choice) {
      const auto& cables = choices[choice];
      const bool one_way = choice >= one_way_from;
      // What passes from side to side of one tier crosses two of its channels.
      const double hazard = state_.model().hazard(*around.itself) * (one_tier ? 0.5 : 1.0);
      state_.remove(*around.itself);
      for (const std::uint32_t s : cables) state_.add(s, state_.model().hazard(s) + hazard);
      for (int round = 0; round < 4; ++round) {
        state_.refit(3);
        state_.remove_refuted();
      }
      if (one_tier) join_in_series(around.sides.front());
      const auto count = std::ranges::count_if(cables, [&](auto s) { return state_.is_faulty(s); });
      const bool all = one_tier && count == std::ssize(choices.front());
      const Worth now = worth_of(state_);
      const double gained = now.probable - before.probable;
      const double fits = now.fits - before.fits;
      const bool simpler =
          count <= kTwoCables || (!all && (gained > kAsGood || (fits > kAsGood && gained > -kFitsBetter)));
      const bool better = one_way ? gained > -kAsGood : simpler;
      if (better && fits > -kAsGood && now.probable > best) best = now.probable, chosen = state_.keep();
      if (!all && !one_way && fits > -kAsGood && state_.lose_singly(state_.added_since(kept)))
        instead.push_back({fits, state_.added_since(kept)});
      state_.restore(kept);
    }
    if (!chosen.empty()) {
      state_.restore(chosen);
      replaced.push_back(*around.itself);
      auto cables = state_.added_since(kept);
      const double less_likely = best - before.probable;
      if (less_likely < kAsGood && pass_nothing(cables))
        open.push_back({std::move(cables), {*around.itself}, less_likely});
    } else if (!instead.empty()) {
      note_instead(*around.itself, std::move(instead), open);
    }
  }
  return replaced;
}

std::vector<Exchange> SwitchMoves::equal_shifts() {
  std::vector<Exchange> all;
  const Worth before = worth_of(state_);
  for (const CountPriors::Around& around : state_.priors().switches) {
    const auto in_bursts = moved_by(state_.model().suspects(), around);
    std::vector<Shifts> bursts;
    for_each_shift(in_bursts, [&](Shifts shifts) { bursts.push_back(std::move(shifts)); });
    std::size_t at = 0;
    for_each_shift(around, [&](Shifts shifts) {
      // What is lost one by one there, in bursts, or both ways.
      auto& burst = bursts[at++];
      const auto may_not = [this](const Shift& one) { return !may_shift(one) || state_.all_faulty(*one.to); };
      if (std::ranges::any_of(shifts, may_not)) shifts.clear();
      if (std::ranges::none_of(burst, may_not)) shifts.insert(shifts.end(), burst.begin(), burst.end());
      if (shifts.empty()) return;
      if (auto found = equal_shift(shifts, before)) all.push_back(std::move(*found));
    });
  }
  return all;
}

std::optional<Exchange> SwitchMoves::equal_shift(const Shifts& shifts, const Worth& before) {
  const Kept kept = state_.keep();
  shift(shifts);
  std::set<std::uint32_t> removed, added;  // suspects
  bool of_these = true;
  for (const auto& [i, hazard] : kept) {
    if (state_.is_faulty(i)) continue;
    of_these &= std::ranges::any_of(shifts, [i](const Shift& one) { return one.from_has(i); });
    removed.insert(state_.model().suspect_of(i));
  }
  for (const std::uint32_t i : state_.added_since(kept)) added.insert(state_.model().suspect_of(i));
  const auto remains = [this](std::uint32_t s) {
    return state_.is_faulty(s) || state_.is_faulty(s + state_.model().suspects());
  };
  const bool equal = of_these && is_as_good(worth_of(state_), before) && !removed.empty() && !added.empty() &&
                     std::ranges::none_of(removed, remains);
  state_.restore(kept);
  if (!equal) return std::nullopt;
  return Exchange{{removed.begin(), removed.end()}, {added.begin(), added.end()}};
}

bool SwitchMoves::pass_nothing(std::span<const std::uint32_t> hazards) const {
  const CountProblem& problem = state_.problem();
  return std::ranges::all_of(hazards, [&](std::uint32_t i) {
    for (std::size_t share = 0; share < problem.shares.size(); ++share)
      if (problem.survivors(state_.model().suspect_of(i), share) > 0) return false;
    return true;
  });
}

void SwitchMoves::note_instead(std::uint32_t itself, std::vector<Instead> instead,
                               std::vector<Exchange>& open) const {
  const double best = std::ranges::max(instead, {}, &Instead::fits).fits;
  std::ranges::stable_sort(instead, std::ranges::greater{}, &Instead::fits);
  for (Instead& one : instead)
    if (one.fits > best - kAsGood) open.push_back({{itself}, std::move(one.cables)});
}

/// The channels to and from each tier of a switch's neighbours; of a small switch also all but one cable's.
std::vector<std::vector<std::uint32_t>> SwitchMoves::cables_for(const CountPriors::Around& around) const {
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
void SwitchMoves::join_in_series(const CountPriors::Around::Side& side) {
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

bool SwitchMoves::may_shift(const Shift& one) const {
  return one.from->size() > 1 && !one.to->empty() && state_.all_faulty(*one.from);
}

/// Moves the least hazard of each `from` to every one of its `to`.
void SwitchMoves::shift(const Shifts& shifts) {
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

bool SwitchMoves::try_shift(const Shifts& shifts) {
  if (!std::ranges::all_of(shifts, [this](const Shift& one) { return may_shift(one); })) return false;
  const double before = state_.objective();
  const Kept kept = state_.keep();
  shift(shifts);
  if (state_.objective() > before + 1e-6) return true;
  state_.restore(kept);
  return false;
}

/// What is moved is the least of several estimates: what it leaves of the others may be their error alone.
void SwitchMoves::drop_remnants() {
  state_.refit(4);
  if (state_.remove_refuted()) state_.refit(4);
}

/// Puts `into`, none of them faulty, in the place of all of `from` that are.
bool SwitchMoves::try_merge(const std::vector<std::uint32_t>& from, const std::vector<std::uint32_t>& into) {
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
bool SwitchMoves::merge_into_cables(const CountPriors::Around& around) {
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

/// The rows that a fault explains more of than all others together.
std::vector<std::uint32_t> SwitchMoves::rows_by(std::uint32_t fault) const {
  const CountModel& model = state_.model();
  std::vector<std::uint32_t> rows;
  for (const auto& cell : state_.problem().rows_of(model.suspect_of(fault))) {
    const double all = model.is_burst(fault) ? model.row_burst(cell.index) : model.row_hazard(cell.index);
    if (2 * model.hazard(fault) * state_.problem().shares[cell.share] > all) rows.push_back(cell.index);
  }
  return rows;
}

/// A channel in the place of several faults of which it crosses every row: beside them it gains nothing, and
/// in the place of one alone perhaps not enough.
bool SwitchMoves::merge_covered() {
  const auto faults = state_.faults();
  if (faults.size() < 2 || faults.size() > kMaxSwapped) return false;
  std::map<std::uint32_t, std::vector<std::uint32_t>> covered;  // by hazard
  for (const std::uint32_t fault : faults) {
    const auto rows = rows_by(fault);
    std::map<std::uint32_t, std::size_t> crossed;
    for (const std::uint32_t row : rows)
      for (const auto& cell : state_.problem().suspects_of(row)) ++crossed[cell.index];
    const std::uint32_t own = state_.model().suspect_of(fault);
    for (const auto& [suspect, count] : crossed)
      if (count == rows.size() && suspect != own && state_.problem().suspects[suspect].is_channel())
        covered[suspect + (fault - own)].push_back(fault);
  }
  bool merged = false;
  for (const auto& [hazard, those] : covered) {
    if (those.size() < 2 || state_.is_faulty(hazard) || state_.forbidden()[state_.model().suspect_of(hazard)])
      continue;
    merged |= try_merge(those, {hazard});
  }
  return merged;
}

bool SwitchMoves::shift_all() {
  bool shifted = merge_covered();
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

}  // namespace weft::diagnosis
