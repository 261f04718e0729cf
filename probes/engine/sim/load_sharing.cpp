#include "probes/engine/sim/load_sharing.hpp"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

/// A path's channels are settled one after the other, so in a fabric without loops as many rounds suffice as
/// the longest path has channels; the bound is for the others.
constexpr int kMaxRounds = 32;
constexpr double kSettled = 1e-9;

}  // namespace

std::vector<double> share_load(const ChannelStates& channels, std::span<const OfferedFlow> flows) {
  std::vector<double> passed(channels.size(), 1.0);  // share that each channel lets through
  std::vector<double> arriving(channels.size());
  for (int round = 0; round < kMaxRounds; ++round) {
    std::ranges::fill(arriving, 0.0);
    for (const auto& flow : flows) {
      double rate = flow.rate.bits_per_second();
      for (const ChannelId channel : flow.path) {
        arriving[channel.value()] += rate;
        rate *= passed[channel.value()];
      }
    }
    double change = 0;
    for (std::uint32_t c = 0; c < channels.size(); ++c) {
      if (arriving[c] <= 0) continue;
      const auto& state = channels[ChannelId(c)];
      const double total = arriving[c] + state.load.bits_per_second();
      const double share = std::min(1.0, state.capacity.bits_per_second() / total);
      change = std::max(change, std::abs(share - passed[c]));
      passed[c] = share;
    }
    if (change < kSettled) break;
  }
  std::vector<double> shares;
  shares.reserve(flows.size());
  for (const auto& flow : flows) {
    double share = 1;
    for (const ChannelId channel : flow.path) share *= passed[channel.value()];
    shares.push_back(share);
  }
  return shares;
}

}  // namespace weft
