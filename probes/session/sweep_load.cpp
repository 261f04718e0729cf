#include "probes/session/sweep_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "probes/plan/pattern_plan.hpp"
#include "probes/session/load_stage.hpp"
#include "topology/model/fabric.hpp"

namespace weft::session {
namespace {

constexpr double kLoadShare = 0.30;  // of the budget
constexpr std::uint32_t kTimesLoaded = 2;
// Of what a flow has a right to. Not all of it: headers would overfill a link that a healthy path crosses,
// and packets that leave one full link at its own pace meet the next full one always at the same moment of
// its turn, where one flow of several may win them all.
constexpr double kFullLoad = 0.95;
constexpr double kLightLoad = 0.25;
constexpr int kMaxLoadings = 3;  // of a channel whose flows their senders held back

/// Offers that set a slow channel, which passes all that is below its ceiling and never more, apart from one
/// that is shared: just below what it passed, and up to twice a link.
plan::Press press_for(double passes) {
  const double below = std::clamp(0.85 * passes, 0.1, 0.85);
  return {.alone = {below, 1.0, std::midpoint(below, 1.0)}, .together = {1.0, 0.75, 0.5}};
}

/// A channel that is behind a culprit, or one of several suspects, shows what it carries by whole flows.
const plan::Press kShow{.alone = {1.0, 1.0}, .together = {}};
constexpr std::size_t kRepeats = 2;         // of a flow that nothing explains
constexpr int kMaxPresses = 2;              // of a channel: the first may have met another culprit unawares
constexpr std::size_t kMaxForPressing = 4;  // times the rounds that load all channels

bool is_of_load(const diagnosis::Hypothesis& hypothesis) {
  return hypothesis.packets == 0 &&
         (hypothesis.cause == Cause::rate || hypothesis.cause == Cause::congestion);
}

}  // namespace

std::set<ChannelId> slow_channels(const diagnosis::Assessment& assessment) {
  std::set<ChannelId> slow;
  const auto add = [&](LinkId link, std::optional<ChannelId> channel) {
    for (const ChannelId c : {Fabric::a_to_b(link), Fabric::b_to_a(link)})
      if (!channel || *channel == c) slow.insert(c);
  };
  for (const LinkFinding& found : assessment.diagnosis.links) add(found.link, found.channel);
  for (const HostFinding& found : assessment.diagnosis.hosts)
    if (found.link) add(*found.link, found.channel);
  for (const OpenSet& set : assessment.diagnosis.sets)
    for (const auto& alternative : set.alternatives) slow.insert(alternative.begin(), alternative.end());
  for (const diagnosis::Hypothesis& hypothesis : assessment.hypotheses)
    if (hypothesis.passes < 1) slow.insert(hypothesis.channels.begin(), hypothesis.channels.end());
  return slow;
}

std::unique_ptr<Stage> SweepLoad::load() {
  if (!wanted()) return nullptr;
  const SweepOptions& options = in_->options;
  const auto most = most_rounds();
  rounds_ = options.pattern == LoadPattern::links
                ? plan_load_rounds(in_->fabric, results_->learner, kTimesLoaded, most, options.seed)
                // Who asks for a pattern wants every receiver, or every pair, of a small fabric, whatever the
                // budget.
                : plan_pattern_rounds(in_->fabric, results_->learner, options.pattern,
                                      std::max(most, plan::kMaxPatternNics), options.seed, options.labels);
  return stage(rounds_, true);
}

std::unique_ptr<Stage> SweepLoad::load_again() {
  if (!wanted()) return nullptr;
  const SweepOptions& options = in_->options;
  const bool is_pattern = options.pattern != LoadPattern::links;
  std::vector<plan::LoadRound> beside;  // a pattern, whose flows leave channels out
  if (is_pattern) beside = plan_load_rounds(in_->fabric, results_->learner, 1, most_rounds(), options.seed);
  auto& rounds = is_pattern ? beside : rounds_;
  for (plan::LoadRound& round : rounds)
    std::erase_if(round, [this](const plan::PlannedFlow& flow) {
      return !results_->takes_part(flow.pair.src) || !results_->takes_part(flow.pair.dst);
    });
  const PathTable& table = results_->learner.table();
  const auto unloaded = channels_not_loaded(table, rounds, results_->observations.loads);
  if (unloaded.empty() || ++loadings_ == kMaxLoadings) return nullptr;
  auto again = merge_rounds(table, rounds_over(table, rounds, unloaded));
  if (is_pattern) rounds_.insert(rounds_.end(), again.begin(), again.end());
  return stage(std::move(again), !is_pattern);
}

std::optional<std::string> SweepLoad::left_out(const std::vector<ChannelId>& unloaded) const {
  if (rounds_.empty()) return std::nullopt;
  const std::size_t left = channels_left_out(results_->learner, rounds_, unloaded);
  if (left == 0) return std::nullopt;
  return fmt::format(
      "the budget allowed {} rounds of load, which left out {} channels: a longer --budget loads more, "
      "--load none asks for no rates",
      rounds_.size(), left);
}

std::size_t SweepLoad::most_rounds() const {
  const SweepOptions& options = in_->options;
  const double seconds_a_round = std::chrono::duration<double>(options.load_round + options.drain).count();
  return static_cast<std::size_t>(std::max(2.0, options.budget_seconds(kLoadShare) / seconds_a_round));
}

void SweepLoad::add_repeats(const diagnosis::Hypothesis& hypothesis,
                            std::vector<plan::LoadRound>& rounds) const {
  for (const PathSetId path : hypothesis.again)
    for (const plan::LoadRound& round : rounds_) {
      const auto same = std::ranges::find(round, path, &plan::PlannedFlow::path);
      if (same == round.end()) continue;
      rounds.insert(rounds.end(), kRepeats, {*same});
      break;
    }
}

std::unique_ptr<Stage> SweepLoad::press(const diagnosis::Assessment& assessment) {
  if (!wanted()) return nullptr;
  const auto slow = slow_channels(assessment);
  std::set<ChannelId> wanted;
  for (const diagnosis::Hypothesis& hypothesis : assessment.hypotheses)
    if (is_of_load(hypothesis)) wanted.insert(hypothesis.channels.begin(), hypothesis.channels.end());
  const plan::PressPlanner planner(in_->fabric, results_->learner, wanted, slow);
  const PathTable& table = results_->learner.table();
  std::vector<plan::LoadRound> rounds;   // that show where a fault is
  std::vector<plan::LoadRound> presses;  // that show its cause
  for (const diagnosis::Hypothesis& hypothesis : assessment.hypotheses) {
    if (!is_of_load(hypothesis)) continue;
    add_repeats(hypothesis, rounds);
    for (const ChannelId channel : hypothesis.channels) {
      const bool apart = planner.can_isolate(channel);
      if (apart) std::ranges::move(planner.rounds(channel, kShow), std::back_inserter(rounds));
      if (hypothesis.passes >= 1 || (!apart && pressed_[channel] > 0)) continue;
      if (pressed_[channel]++ == kMaxPresses) continue;
      std::ranges::move(planner.rounds(channel, press_for(hypothesis.passes)), std::back_inserter(presses));
    }
  }
  std::ranges::move(presses, std::back_inserter(rounds));
  rounds = merge_rounds(table, rounds);
  const std::size_t most = kMaxForPressing * most_rounds();
  if (rounds.size() > most) rounds.resize(most);
  return stage(std::move(rounds), false);
}

std::unique_ptr<Stage> SweepLoad::stage(std::vector<plan::LoadRound> rounds, bool keeps_results) {
  if (rounds.empty()) return nullptr;
  const double share = in_->options.load == LoadLevel::light ? kLightLoad : kFullLoad;
  const auto first = std::exchange(rounds_run_, rounds_run_ + static_cast<std::uint32_t>(rounds.size()));
  return std::make_unique<LoadStage>(*in_, *results_, std::move(rounds), first, share, keeps_results);
}

}  // namespace weft::session
