#include "probes/session/sweep_load.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "probes/plan/pattern_plan.hpp"
#include "probes/session/load_stage.hpp"

namespace weft {
namespace {

constexpr double kLoadShare = 0.30;  // of the budget
constexpr std::uint32_t kTimesLoaded = 2;
// Of what a flow has a right to. Not all of it: headers would overfill a link that a healthy path crosses,
// and packets that leave one full link at its own pace meet the next full one always at the same moment of
// its turn, where one flow of several may win them all.
constexpr double kFullLoad = 0.95;
constexpr double kLightLoad = 0.25;
constexpr int kMostLoadings = 3;  // of a channel whose flows their senders held back

/// Offers that set a slow channel, which passes all that is below its ceiling and never more, apart from one
/// that is shared: just below what it passed, and up to twice a link.
Press press_for(double passes) {
  const double below = std::clamp(0.85 * passes, 0.1, 0.85);
  return {.alone = {below, 1.0, std::midpoint(below, 1.0)}, .together = {1.0, 0.75, 0.5}};
}

}  // namespace

std::unique_ptr<Stage> SweepLoad::load() {
  if (!wanted()) return nullptr;
  const SweepOptions& options = state_->options;
  const double seconds_a_round = std::chrono::duration<double>(options.load_round + options.drain).count();
  const auto most =
      static_cast<std::size_t>(std::max(2.0, options.budget_seconds(kLoadShare) / seconds_a_round));
  rounds_ = options.pattern == LoadPattern::links
                ? plan_load_rounds(state_->fabric, state_->learner, kTimesLoaded, most, options.seed)
                // Who asks for a pattern wants every receiver, or every pair, of a small fabric, whatever the
                // budget.
                : plan_pattern_rounds(state_->fabric, state_->learner, options.pattern,
                                      std::max(most, kMostPatternNics), options.seed);
  return stage(rounds_, true);
}

std::unique_ptr<Stage> SweepLoad::load_again() {
  for (LoadRound& round : rounds_)
    std::erase_if(round, [this](const PlannedFlow& flow) {
      return !state_->takes_part(flow.pair.src) || !state_->takes_part(flow.pair.dst);
    });
  const PathTable& table = state_->learner.table();
  unloaded_ = channels_not_loaded(table, rounds_, state_->observations.loads);
  if (unloaded_.empty() || state_->options.pattern != LoadPattern::links || ++loadings_ == kMostLoadings)
    return nullptr;
  return stage(merge_rounds(table, rounds_over(table, rounds_, unloaded_)), true);
}

std::unique_ptr<Stage> SweepLoad::press(const std::vector<Doubt>& doubts) {
  if (!wanted()) return nullptr;
  std::vector<LoadRound> rounds;
  for (const Doubt& doubt : doubts)
    for (const ChannelId channel : doubt.channels) {
      if (doubt.packets > 0) continue;
      auto pressing = plan_press_rounds(state_->fabric, state_->learner, channel, press_for(doubt.passes));
      std::ranges::move(pressing, std::back_inserter(rounds));
    }
  return stage(merge_rounds(state_->learner.table(), rounds), false);
}

std::unique_ptr<Stage> SweepLoad::stage(std::vector<LoadRound> rounds, bool keeps_results) {
  if (rounds.empty()) return nullptr;
  const double share = state_->options.load == LoadLevel::light ? kLightLoad : kFullLoad;
  const auto first = std::exchange(rounds_run_, rounds_run_ + static_cast<std::uint32_t>(rounds.size()));
  return std::make_unique<LoadStage>(*state_, std::move(rounds), first, share, keeps_results);
}

}  // namespace weft
