#include "probes/engine/sim/channel_states.hpp"

#include <algorithm>
#include <cmath>

#include "probes/engine/sim/random_stream.hpp"

namespace weft {
namespace {

constexpr Bytes kQueue(60'000);       // before a port drops: what the lab's shapers hold
constexpr Bytes kAverageFrame(4096);  // of other traffic
constexpr std::uint64_t kBackgroundKey = 0xBAC6;

double both(double one, double other) { return 1 - (1 - one) * (1 - other); }

/// What a packet waits behind other traffic. Below capacity the mean of an M/D/1 queue, bounded by its size.
Nanoseconds wait(const ChannelState& state) {
  const Nanoseconds full = state.capacity.time_for(kQueue);
  const double use = state.load / state.capacity;
  if (use >= 1) return full;
  const double frames = use / (2 * (1 - use));
  const auto mean = std::chrono::duration<double, std::nano>(state.capacity.time_for(kAverageFrame)) * frames;
  return std::min(full, std::chrono::duration_cast<Nanoseconds>(mean));
}

}  // namespace

ChannelStates::ChannelStates(const Fabric& fabric, const SimOptions& options)
    : states_(fabric.channel_count()) {
  for (std::uint32_t c = 0; c < states_.size(); ++c) states_[c].capacity = fabric.rate(ChannelId(c));
  add_background(options);
  for (const auto& fault : options.faults)
    for (const ChannelId channel : {Fabric::a_to_b(fault.link), Fabric::b_to_a(fault.link)})
      if (!fault.channel || *fault.channel == channel) apply(fault, states_[channel.value()]);
  add_queueing();
}

void ChannelStates::apply(const FaultSpec& fault, ChannelState& state) const {
  if (fault.loss) state.loss = both(state.loss, fault.loss->value());
  if (fault.corruption) state.corruption = both(state.corruption, fault.corruption->value());
  if (fault.rate) state.capacity = std::min(state.capacity, *fault.rate);
  if (fault.load) state.load = state.load + *fault.load;
  if (fault.delay) state.delay += *fault.delay;
  if (fault.mtu) state.mtu = std::min(state.mtu, *fault.mtu);
  if (fault.down) state.loss = 1;
}

void ChannelStates::add_background(const SimOptions& options) {
  const double median = options.background_loss.value();
  if (median <= 0) return;
  for (std::uint32_t c = 0; c < states_.size(); ++c) {
    RandomStream random({options.seed, kBackgroundKey, c});
    states_[c].loss = std::min(0.5, median * std::exp(options.background_spread * random.normal()));
  }
}

void ChannelStates::add_queueing() {
  for (auto& state : states_) {
    if (state.load <= Bandwidth()) continue;
    state.delay += wait(state);
    if (state.load > state.capacity) state.overflow = 1 - state.capacity / state.load;
  }
}

double ChannelStates::survival(std::span<const ChannelId> path, Bytes size) const {
  double share = 1;
  for (const ChannelId channel : path) {
    const auto& state = states_[channel.value()];
    share *= size > state.mtu ? 0 : 1 - state.loss;
  }
  return share;
}

double ChannelStates::probe_survival(std::span<const ChannelId> path, Bytes size) const {
  double share = survival(path, size);
  for (const ChannelId channel : path) share *= 1 - states_[channel.value()].overflow;
  return share;
}

double ChannelStates::corruption(std::span<const ChannelId> path) const {
  double clean = 1;
  for (const ChannelId channel : path) clean *= 1 - states_[channel.value()].corruption;
  return 1 - clean;
}

std::vector<LinkId> dead_links(const SimOptions& options) {
  std::vector<LinkId> dead;
  for (const auto& fault : options.faults)
    if (fault.down && !fault.channel) dead.push_back(fault.link);
  return dead;
}

}  // namespace weft
