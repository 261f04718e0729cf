#include "probes/engine/sim/channel_states.hpp"

#include <algorithm>
#include <cmath>

#include "probes/engine/sim/random_stream.hpp"
#include "topology/model/fabric.hpp"

namespace weft::sim {
namespace {

constexpr Bytes kQueue(60'000);       // before a port drops: what the lab's shapers hold
constexpr Bytes kAverageFrame(4096);  // of other traffic
constexpr std::uint64_t kBackgroundKey = 0xBAC6;
constexpr std::uint64_t kPhaseKey = 0x94A5E;

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

void apply(const FaultSpec& fault, ChannelState& state) {
  if (fault.loss) state.loss = both(state.loss, fault.loss->value());
  if (fault.corruption) state.corruption = both(state.corruption, fault.corruption->value());
  if (fault.rate) state.capacity = std::min(state.capacity, *fault.rate);
  if (fault.load) state.load = state.load + *fault.load;
  if (fault.delay) state.delay += *fault.delay;
  if (fault.mtu) state.mtu = std::min(state.mtu, *fault.mtu);
  if (fault.down) state.loss = 1;
}

/// What a channel's other traffic does to a few packets of ours: they wait, or are dropped with the rest.
void add_queueing(ChannelState& state) {
  if (state.load <= Bandwidth()) return;
  state.wait = wait(state);
  state.overflow = state.load > state.capacity ? 1 - state.capacity / state.load : 0;
}

}  // namespace

bool VaryingFault::is_there(Nanoseconds at) const {
  return !fault.on || (at + phase) % (*fault.on + *fault.off) < *fault.on;
}

std::optional<Nanoseconds> VaryingFault::change_after(Nanoseconds at) const {
  if (!fault.on) return std::nullopt;
  const Nanoseconds into = (at + phase) % (*fault.on + *fault.off);
  return at - into + (into < *fault.on ? *fault.on : *fault.on + *fault.off);
}

ChannelStates::ChannelStates(const Fabric& fabric, const SimOptions& options)
    : states_(fabric.channel_count()) {
  for (std::uint32_t c = 0; c < states_.size(); ++c) states_[c].capacity = fabric.rate(ChannelId(c));
  add_background(options);
  add_faults(options);
  for (auto& state : states_) add_queueing(state);
}

void ChannelStates::add_faults(const SimOptions& options) {
  for (std::size_t i = 0; i < options.faults.size(); ++i) {
    const auto& fault = options.faults[i];
    const bool varies = fault.comes_and_goes() || fault.burst;
    if (varies) {
      RandomStream random({options.seed, kPhaseKey, i});
      const Nanoseconds period = fault.comes_and_goes() ? *fault.on + *fault.off : Nanoseconds(1);
      varying_.push_back({fault, Nanoseconds(static_cast<std::int64_t>(
                                     random.uniform() * static_cast<double>(period.count())))});
    }
    for (const ChannelId channel : {Fabric::a_to_b(fault.link), Fabric::b_to_a(fault.link)}) {
      if (fault.channel && *fault.channel != channel) continue;
      if (varies)
        varying_on_[channel].push_back(varying_.size() - 1);
      else
        apply(fault, states_[channel.value()]);
    }
  }
}

void ChannelStates::add_background(const SimOptions& options) {
  const double most = options.background_loss.value();
  if (most <= 0) return;
  for (std::uint32_t c = 0; c < states_.size(); ++c) {
    RandomStream random({options.seed, kBackgroundKey, c});
    states_[c].loss = most * std::pow(10.0, -random.uniform());
  }
}

bool ChannelStates::varies(std::span<const ChannelId> path) const {
  return varies() &&
         std::ranges::any_of(path, [this](ChannelId channel) { return varying_on_.contains(channel); });
}

ChannelState ChannelStates::state(ChannelId channel, Nanoseconds at, bool with_runs) const {
  ChannelState state = states_[channel.value()];
  const auto found = varying_on_.find(channel);
  if (found == varying_on_.end()) return state;
  for (const std::size_t index : found->second) {
    if (!varying_[index].is_there(at)) continue;
    FaultSpec fault = varying_[index].fault;
    if (fault.burst && !with_runs) fault.loss.reset();
    apply(fault, state);
  }
  add_queueing(state);
  return state;
}

void ChannelStates::look(std::span<const ChannelId> path, Nanoseconds at,
                         std::vector<ChannelState>& states) const {
  for (const ChannelId channel : path) states.push_back(state(channel, at, false));
}

std::vector<LossInRuns> ChannelStates::runs_lost(std::span<const ChannelId> path, Nanoseconds at) const {
  std::vector<LossInRuns> lost;
  for (const ChannelId channel : path) {
    const auto found = varying_on_.find(channel);
    if (found == varying_on_.end()) continue;
    for (const std::size_t index : found->second)
      if (const FaultSpec& fault = varying_[index].fault; fault.burst && varying_[index].is_there(at))
        lost.push_back({fault.loss->value(), *fault.burst});
  }
  return lost;
}

Nanoseconds ChannelStates::change_after(std::span<const ChannelId> path, Nanoseconds at,
                                        Nanoseconds until) const {
  for (const ChannelId channel : path)
    if (const auto found = varying_on_.find(channel); found != varying_on_.end())
      for (const std::size_t index : found->second)
        if (const auto change = varying_[index].change_after(at)) until = std::min(until, *change);
  return until;
}

ChannelStates ChannelStates::snapshot(Nanoseconds at) const {
  ChannelStates then = *this;
  for (const auto& [channel, faults] : varying_on_) then.states_[channel.value()] = state(channel, at, true);
  then.varying_.clear();
  then.varying_on_.clear();
  return then;
}

ChannelStates ChannelStates::under(std::span<const double> traffic, Nanoseconds at) const {
  ChannelStates then = snapshot(at);
  for (std::size_t c = 0; c < traffic.size(); ++c) {
    if (traffic[c] <= 0) continue;
    then.states_[c].load = then.states_[c].load + Bandwidth::bit(traffic[c]);
    add_queueing(then.states_[c]);
  }
  return then;
}

std::optional<std::vector<Nanoseconds>> ChannelStates::changes(Nanoseconds from, Nanoseconds until,
                                                               std::size_t most) const {
  std::vector<Nanoseconds> all;
  for (const VaryingFault& fault : varying_)
    for (auto at = fault.change_after(from); at && *at < until; at = fault.change_after(*at)) {
      if (all.size() == most) return std::nullopt;
      all.push_back(*at);
    }
  std::ranges::sort(all);
  return all;
}

double probe_survival(std::span<const ChannelState> path, Bytes size) {
  double share = 1;
  for (const ChannelState& state : path)
    share *= size > state.mtu ? 0 : (1 - state.loss) * (1 - state.overflow);
  return share;
}

double corruption(std::span<const ChannelState> path) {
  double clean = 1;
  for (const ChannelState& state : path) clean *= 1 - state.corruption;
  return 1 - clean;
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
    if (fault.down && !fault.channel && !fault.comes_and_goes()) dead.push_back(fault.link);
  return dead;
}

}  // namespace weft::sim
