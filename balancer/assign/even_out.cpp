#include "balancer/assign/even_out.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "balancer/assign/chains.hpp"

namespace weft::assign {
namespace {

/// Relative: levels nearer to each other than this are one.
constexpr double kTiny = 1e-6;
/// Where sizes differ, the gain in the level of a channel below which a move is not worth its time. Where all
/// are equal a move gains an item; an item below this share of the busiest channel is not worth it either.
constexpr double kMinGain = 0.002;
/// Of one search. Chains that exist are short: few are longer than three moves.
constexpr std::size_t kStepsASearch = 200;
/// Of all searches: some 30 ms on one core, and as much again for each 300,000 items.
constexpr std::uint64_t kSteps = 30'000;
constexpr double kStepsAnItem = 0.1;

class Evening {
 public:
  Evening(Placement& placement, const Routes& routes, std::vector<double> most, std::uint64_t seed)
      : placement_(placement),
        most_(std::move(most)),
        chains_(placement, seed, kStepsASearch),
        most_steps_(kSteps + static_cast<std::uint64_t>(
                                 kStepsAnItem * static_cast<double>(placement.instance().item_count()))) {
    side_of_.resize(weight().size());
    for (std::uint32_t l = 0; l < routes.leaf_count(); ++l) {
      add_side(routes.uplinks(LeafId(l)));
      add_side(routes.downlinks(LeafId(l)));
    }
    for (std::uint32_t p = 0; p < routes.pod_count(); ++p) {
      add_side(routes.core_uplinks(p));
      add_side(routes.core_downlinks(p));
    }
  }

  void run() {
    double level = next_level(std::numeric_limits<double>::infinity());
    if (step_at(level) < level * kMinGain) return;
    for (; level > 0 && !exhausted(); level = next_level(level)) lower_all(level);
  }

 private:
  const std::vector<double>& weight() const { return placement_.instance().weight; }
  bool exhausted() const { return chains_.steps_taken() > most_steps_; }
  bool loaded(std::uint32_t c) const { return weight()[c] > 0 && placement_.load(ChannelId(c)) > 0; }

  void add_side(std::span<const ChannelId> channels) {
    for (const ChannelId c : channels) side_of_[c.value()] = channels;
  }

  /// The greatest level below `level`; 0: none.
  double next_level(double level) const {
    double next = 0;
    for (std::uint32_t c = 0; c < weight().size(); ++c)
      if (loaded(c))
        if (const double own = placement_.level(ChannelId(c)); own < level * (1 - kTiny))
          next = std::max(next, own);
    return next;
  }

  /// What one move changes at a channel of this level.
  double step_at(double level) const {
    const Instance& instance = placement_.instance();
    return instance.equal ? instance.quantum : level * kMinGain;
  }

  /// The most that a channel may carry and stay below `level`.
  double below(double level, double weight) const {
    const Instance& instance = placement_.instance();
    if (!instance.equal) return level * weight * (1 - kMinGain);
    return (std::ceil(level * weight / instance.quantum * (1 - kTiny)) - 1) * instance.quantum;
  }

  /// Every item crosses exactly one channel of a side, so what one gives away another of them takes. False
  /// when none has room for that below `level`.
  bool side_has_room(ChannelId channel, double level) const {
    const auto side = side_of_[channel.value()];
    if (side.empty()) return true;
    const double step = placement_.instance().equal ? placement_.instance().quantum : 0;
    return std::ranges::any_of(side, [&](ChannelId c) {
      return c != channel && placement_.load(c) + step <= below(level, weight()[c.value()]) * (1 + kTiny);
    });
  }

  void lower_all(double level) {
    std::vector<ChannelId> high;
    std::vector<double> room(weight().size());
    for (std::uint32_t c = 0; c < room.size(); ++c) {
      room[c] = std::max(placement_.load(ChannelId(c)), std::min(most_[c], below(level, weight()[c])));
      if (loaded(c) && placement_.level(ChannelId(c)) > level * (1 - kTiny) &&
          placement_.level(ChannelId(c)) < level * (1 + kTiny))
        high.push_back(ChannelId(c));
    }
    placement_.set_room(std::move(room));
    for (bool any = true; any && !exhausted();) {
      any = false;
      std::erase_if(high, [&](ChannelId c) {
        const bool lowered = !exhausted() && side_has_room(c, level) && lower(c, level);
        any = any || lowered;
        return lowered;
      });
    }
  }

  /// True when it is below `level` now.
  bool lower(ChannelId channel, double level) {
    const double room = placement_.room(channel);
    placement_.set_room(channel, below(level, weight()[channel.value()]));
    while (placement_.over(channel))
      if (!chains_.relieve(channel)) {
        placement_.set_room(channel, room);
        return false;
      }
    return true;
  }

  Placement& placement_;
  std::vector<double> most_;  // per channel: bytes
  Chains chains_;
  std::uint64_t most_steps_;
  std::vector<std::span<const ChannelId>> side_of_;  // per channel; empty: of none
};

}  // namespace

void even_out(Placement& placement, const Routes& routes, std::vector<double> most, std::uint64_t seed) {
  if (placement.instance().item_count() > 0) Evening(placement, routes, std::move(most), seed).run();
}

}  // namespace weft::assign
