#include "probes/diagnosis/load/load_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "probes/diagnosis/report.hpp"
#include "topology/model/fabric.hpp"

namespace weft::diagnosis {
namespace {

/// Packets are whole and rounds short: shares scatter by about this, and so many flows' worth is it believed.
constexpr double kUsualNoise = 0.01;
constexpr double kNoiseWeight = 16.0;
constexpr double kMaxNoise = 0.025;   // beyond, a fifth of a rate could be missing unseen
constexpr double kFits = 0.9;         // a flow that got so much tells of noise
constexpr double kNearRate = 0.2;     // plans offer so much of a line rate and more, or the link is shaped
constexpr double kPlanned = 0.95;     // of it
constexpr double kFilling = 0.9;      // of a channel's rate, by several flows: they fight for it
constexpr double kMaxMoved = 1.05;    // losses that may or may not be move it by no more than noise
constexpr double kMaxTakenOut = 0.5;  // of more loss than this, what would have come cannot be told

constexpr double kLoadPacket = 4096;  // bytes, of a load round's packets (probes/session/load_stage.cpp)

std::optional<KnownLoss> loss_of(Cause cause, const std::optional<Estimate>& estimate) {
  switch (cause) {
    case Cause::loss:
    case Cause::corruption:  // damaged packets are not delivered
      if (estimate) return KnownLoss{estimate->low, estimate->high};
      return KnownLoss{0, 1};
    case Cause::down:
      return KnownLoss{1, 1};
    case Cause::mtu:
      return KnownLoss{estimate && estimate->high < kLoadPacket ? 1.0 : 0.0, 1};
    case Cause::rate:
    case Cause::congestion:
    case Cause::delay:
    case Cause::counter:
      return std::nullopt;
  }
  return std::nullopt;
}

ChannelId first_channel(const PathTable& paths, const LoadObservation& load) {
  return paths.channels(paths.paths(load.path).front()).front();
}

}  // namespace

std::vector<ChannelId> shared_channels(const PathTable& paths, PathSetId set) {
  const auto members = paths.paths(set);
  const auto first = paths.channels(members.front());
  std::vector<ChannelId> shared(first.begin(), first.end());
  for (const PathId path : members.subspan(1)) {
    const auto other = paths.channels(path);
    std::erase_if(shared, [&](ChannelId c) { return std::ranges::find(other, c) == other.end(); });
  }
  return shared;
}

std::vector<KnownLoss> known_losses(const Fabric& fabric, const Report& report) {
  std::vector<KnownLoss> losses(fabric.channel_count());
  const auto add = [&](ChannelId channel, KnownLoss loss, bool sure) {
    KnownLoss& known = losses[channel.value()];
    known.low = 1 - (1 - known.low) * (1 - (sure ? loss.low : 0.0));
    known.high = 1 - (1 - known.high) * (1 - loss.high);
  };
  for (const Found& found : report.found()) {
    const auto loss = loss_of(found.cause, found.estimate);
    if (!loss) continue;
    const bool one = found.channels.size() + found.nodes.size() + found.alternatives.size() == 1;
    const bool sure = one && found.probability >= named_from(found.cause);
    for (const ChannelId channel : found.channels) add(channel, *loss, sure);
    for (const auto& alternative : found.alternatives)
      for (const ChannelId channel : alternative) add(channel, *loss, sure);
    for (const NodeId node : found.nodes)
      for (const ChannelId channel : fabric.channels_at(node)) add(channel, *loss, false);
  }
  for (const FabricFinding& found : report.found_everywhere())
    if (const auto loss = loss_of(found.cause, found.estimate))
      for (std::uint32_t c = 0; c < losses.size(); ++c) add(ChannelId(c), *loss, false);
  return losses;
}

LoadRounds::LoadRounds(const Fabric& fabric, const Observations& observations,
                       std::span<const KnownLoss> losses)
    : fabric_(fabric), over_(fabric.channel_count()), rounds_(fabric.channel_count()) {
  learn_scale(observations);
  for (const LoadObservation& load : observations.loads) {
    if (load.offered <= Bandwidth()) continue;
    LoadFlow flow{.round = load.round, .path = load.path};
    flow.channels = shared_channels(observations.paths, load.path);
    flow.one_path = observations.paths.paths(load.path).size() == 1;
    flow.stalled = load.sender_stalled;
    flow.offered = load.offered.bits_per_second();
    flow.got_raw = std::min(load.delivered.bits_per_second(), flow.offered);
    double least_passes = 1;
    double most_passes = 1;
    for (const ChannelId channel : flow.channels) {
      least_passes *= 1 - losses[channel.value()].high;
      most_passes *= 1 - losses[channel.value()].low;
    }
    const auto but_for = [&](double passes) {
      return flow.got_raw < flow.offered * passes ? flow.got_raw / passes : flow.offered;
    };
    flow.most = but_for(least_passes);
    flow.got = most_passes > 1 - kMaxTakenOut ? but_for(most_passes) : flow.got_raw;
    for (const ChannelId channel : flow.channels)
      over_[channel.value()].push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.push_back(std::move(flow));
  }
  sum_up();
  add_up_reached();
  learn_noise();
}

/// How much slower than in the fabric file all links are built, as rows tell it. Of rows that do not, only
/// hosts' cables tell what is planned for a link, all flows of a round together: a pattern may give each flow
/// a small part, others are filled beyond their rate by design, and later rounds press what is suspected.
void LoadRounds::learn_scale(const Observations& observations) {
  if (observations.loads.empty()) return;
  double built = 0;
  for (const LoadObservation& load : observations.loads)
    if (load.line_rate)
      built = std::max(built, *load.line_rate / fabric_.rate(first_channel(observations.paths, load)));
  if (built > 0) {
    scale_ = built;
    return;
  }
  const auto first = std::ranges::min(observations.loads, {}, &LoadObservation::round).round;
  const auto is_of_a_host = [&](ChannelId channel) {
    return fabric_.is_host(fabric_.source_node(channel)) || fabric_.is_host(fabric_.target_node(channel));
  };
  std::map<ChannelId, Bandwidth> planned;
  for (const LoadObservation& load : observations.loads)
    for (const ChannelId channel : shared_channels(observations.paths, load.path))
      if (load.round == first && is_of_a_host(channel)) planned[channel] = planned[channel] + load.wanted;
  double most = 0;
  for (const auto& [channel, wanted] : planned) most = std::max(most, wanted / fabric_.rate(channel));
  if (most > 0 && most < kNearRate) scale_ = most / kPlanned;
}

void LoadRounds::sum_up() {
  for (std::uint32_t c = 0; c < rounds_.size(); ++c) {
    auto& rounds = rounds_[c];
    for (const std::uint32_t i : over_[c]) {
      const LoadFlow& flow = flows_[i];
      auto at = std::ranges::lower_bound(rounds, flow.round, {}, &ChannelRound::round);
      if (at == rounds.end() || at->round != flow.round) at = rounds.insert(at, {.round = flow.round});
      at->offered += flow.offered;
      at->got += flow.got;
      at->whole &= !flow.stalled && flow.most < kMaxMoved * flow.got;
      ++at->flows;
    }
    for (const std::uint32_t i : over_[c]) {
      const ChannelRound& round = *round_of(ChannelId(c), flows_[i].round);
      const double full = kFilling * capacity(ChannelId(c));
      if (round.flows < 2 || round.offered <= full) continue;
      flows_[i].shared = true;
      if (!round.whole || round.got > kFits * full) flows_[i].met_full = true;
    }
  }
}

/// A channel that is offered more than it carries lets through as much of each flow.
void LoadRounds::add_up_reached() {
  for (const LoadFlow& flow : flows_) {
    double let_through = 1;
    for (const ChannelId channel : flow.channels) {
      auto& rounds = rounds_[channel.value()];
      ChannelRound& round = *std::ranges::lower_bound(rounds, flow.round, {}, &ChannelRound::round);
      round.reached += let_through * flow.offered;
      let_through = std::min(let_through, capacity(channel) / round.offered);
    }
  }
}

void LoadRounds::learn_noise() {
  double squares = kNoiseWeight * kUsualNoise * kUsualNoise;
  double weight = kNoiseWeight;
  for (const LoadFlow& flow : flows_) {
    const double share = flow.got / flow.offered;
    if (flow.stalled || flow.shared || share < kFits) continue;
    squares += (1 - share) * (1 - share);
    weight += 1;
  }
  noise_ = std::clamp(std::sqrt(squares / weight), kUsualNoise, kMaxNoise);
}

double LoadRounds::capacity(ChannelId channel) const {
  return scale_ * fabric_.rate(channel).bits_per_second();
}

const ChannelRound* LoadRounds::round_of(ChannelId channel, std::uint32_t round) const {
  const auto& rounds = rounds_[channel.value()];
  const auto at = std::ranges::lower_bound(rounds, round, {}, &ChannelRound::round);
  return at != rounds.end() && at->round == round ? &*at : nullptr;
}

}  // namespace weft::diagnosis
