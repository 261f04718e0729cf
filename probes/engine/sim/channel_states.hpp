// ChannelStates: what every channel of a simulated fabric does to packets, after all faults.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "probes/engine/sim/sim_options.hpp"

namespace weft {

struct ChannelState {
  double loss = 0;        // share of packets dropped at random; 1: nothing passes
  double overflow = 0;    // share of a few packets of ours dropped where other traffic fills the queue
  double corruption = 0;  // share of those that pass whose payload is changed
  Nanoseconds delay{};    // added to every packet, beyond the hop's own latency
  Bytes mtu = Bytes(std::numeric_limits<std::int64_t>::max());
  Bandwidth capacity;
  Bandwidth load;  // of other traffic
};

class ChannelStates {
 public:
  ChannelStates(const Fabric& fabric, const SimOptions& options);

  const ChannelState& operator[](ChannelId channel) const { return states_[channel.value()]; }
  std::size_t size() const { return states_.size(); }

  /// The share of packets of this size that a path's faults let through; of flows, what fits
  /// (load_sharing.hpp) is another matter.
  double survival(std::span<const ChannelId> path, Bytes size) const;
  /// The same for probes: packets so few that they take no part in filling a queue, and find it as it is.
  double probe_survival(std::span<const ChannelId> path, Bytes size) const;
  /// The share of packets let through that are changed on the way.
  double corruption(std::span<const ChannelId> path) const;

 private:
  void apply(const FaultSpec& fault, ChannelState& state) const;
  void add_background(const SimOptions& options);
  /// What a channel's other traffic does to a few packets of ours: they wait, or are dropped with the rest.
  void add_queueing();

  std::vector<ChannelState> states_;
};

/// Links whose fault takes them down in both directions: their ends see it.
std::vector<LinkId> dead_links(const SimOptions& options);

}  // namespace weft
