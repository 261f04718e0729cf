#include "probes/diagnosis/load_rounds.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "probes/diagnosis/robust.hpp"

namespace weft {
namespace {

constexpr double kLeastNoise = 0.01;  // packets are whole and rounds short: no share is finer
constexpr double kPoorRound = 0.5;    // a round whose median flow got less says nothing about single channels
constexpr double kNearRate = 0.2;     // flows of this share of a link's rate and more were meant to fill it

std::vector<ChannelId> channels_of(const PathTable& paths, PathSetId set) {
  // Of a set, only what every path crosses is sure to carry the flow.
  const auto members = paths.paths(set);
  const auto first = paths.channels(members.front());
  std::vector<ChannelId> shared(first.begin(), first.end());
  for (const PathId path : members.subspan(1)) {
    const auto other = paths.channels(path);
    std::erase_if(shared, [&](ChannelId c) { return std::ranges::find(other, c) == other.end(); });
  }
  return shared;
}

/// Rounds more than half of whose flows cross one channel (an incast): all of them may cross its fault, and
/// then what is usual in the round is the fault.
std::set<std::uint32_t> rounds_that_meet(const std::vector<LoadFlow>& flows) {
  std::map<std::uint32_t, std::size_t> all;
  std::map<std::pair<std::uint32_t, ChannelId>, std::size_t> over;
  for (const LoadFlow& flow : flows) {
    ++all[flow.round];
    for (const ChannelId channel : flow.channels) ++over[{flow.round, channel}];
  }
  std::set<std::uint32_t> meeting;
  for (const auto& [at, count] : over)
    if (2 * count > all[at.first]) meeting.insert(at.first);
  return meeting;
}

}  // namespace

LoadRounds::LoadRounds(const Fabric& fabric, const Observations& observations) : fabric_(fabric) {
  over_.resize(fabric.channel_count());
  offered_.resize(fabric.channel_count());
  std::vector<LoadFlow> flows;
  std::map<std::pair<ChannelId, std::uint32_t>, double> carried;  // by channel and round
  for (const LoadObservation& load : observations.loads) {
    if (load.offered <= Bandwidth()) continue;
    LoadFlow flow{.round = load.round, .offered = load.offered.bits_per_second()};
    flow.channels = channels_of(observations.paths, load.path);
    for (const ChannelId channel : flow.channels) note_offer(channel, load.round, flow.offered);
    flow.share = load.delivered / load.offered;
    if (flow.share > 0.9)
      for (const ChannelId channel : flow.channels) {
        const double all = carried[{channel, load.round}] += flow.offered * flow.share;
        most_carried_ = std::max(most_carried_, all);
      }
    if (!load.sender_stalled) flows.push_back(std::move(flow));
  }
  for (LoadFlow& flow : flows)
    for (const ChannelId channel : flow.channels)
      flow.predicted = std::min(flow.predicted, capacity(channel) / offered_to(channel, flow.round));
  keep(std::move(flows));
}

void LoadRounds::note_offer(ChannelId channel, std::uint32_t round, double offered) {
  auto& rounds = offered_[channel.value()];
  const auto at = std::ranges::find(rounds, round, &std::pair<std::uint32_t, double>::first);
  if (at == rounds.end()) {
    rounds.emplace_back(round, offered);
  } else {
    at->second += offered;
  }
}

/// Drops the flows of rounds that went badly as a whole, and takes each share against its round's median.
void LoadRounds::keep(std::vector<LoadFlow> flows) {
  std::map<std::uint32_t, std::vector<double>> shares;
  for (const LoadFlow& flow : flows) shares[flow.round].push_back(flow.share / flow.predicted);
  const std::size_t wide = fabric_.nics().size() / 2;  // of so many flows not most can cross a fault
  const auto meeting = rounds_that_meet(flows);
  const auto tells_the_usual = [&](std::uint32_t round) {
    return shares[round].size() >= std::max<std::size_t>(wide, 4) && !meeting.contains(round);
  };
  std::map<std::uint32_t, double> usual;
  for (auto& [round, values] : shares) usual[round] = tells_the_usual(round) ? median(values) : 1.0;
  std::vector<double> all;
  std::vector<double> pressed;
  for (LoadFlow& flow : flows) {
    if (usual[flow.round] < kPoorRound) continue;
    flow.share = std::clamp(flow.share / std::min(usual[flow.round], 1.0), 0.0, 1.2);
    // Rounds of few flows press suspects: what is usual shows where all take part.
    (tells_the_usual(flow.round) ? all : pressed).push_back(flow.share / flow.predicted);
    for (const ChannelId channel : flow.channels)
      over_[channel.value()].push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.push_back(std::move(flow));
  }
  noise_ = std::max(spread_about(all.empty() ? pressed : all, 1.0), kLeastNoise);
}

double LoadRounds::offered_to(ChannelId channel, std::uint32_t round) const {
  for (const auto& [at, offered] : offered_[channel.value()])
    if (at == round) return offered;
  return 0;
}

double LoadRounds::capacity(ChannelId channel) const {
  const double designed = fabric_.rate(channel).bits_per_second();
  const bool shaped = most_carried_ < kNearRate * designed && most_carried_ > 0;
  return shaped ? most_carried_ / 0.95 : designed;  // plans offer 95 % of a link
}

}  // namespace weft
