// ChannelStates: what every channel of a simulated fabric does to packets, after all faults. Most channels
// are always the same; those with a fault that comes and goes, or that loses packets in runs, are asked for a
// time.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "probes/engine/sim/sim_options.hpp"

namespace weft::sim {

struct ChannelState {
  double loss = 0;        // share of packets dropped at random; 1: nothing passes
  double overflow = 0;    // share of a few packets of ours dropped where other traffic fills the queue
  double corruption = 0;  // share of those that pass whose payload is changed
  Nanoseconds delay{};    // added to every packet, beyond the hop's own latency
  Nanoseconds wait{};     // behind other traffic
  Bytes mtu = Bytes(std::numeric_limits<std::int64_t>::max());
  Bandwidth capacity;
  Bandwidth load;  // of other traffic
};

/// Packets that a channel takes away in runs of consecutive ones of a flow.
struct LossInRuns {
  double share = 0;
  std::uint32_t length = 1;
};

/// A fault that is there for a while, gone for a while, and so on; or always, where it loses in runs.
struct VaryingFault {
  FaultSpec fault;
  Nanoseconds phase{};  // of its period at time zero

  bool is_there(Nanoseconds at) const;
  /// When it comes or goes next after `at`; absent: never.
  std::optional<Nanoseconds> change_after(Nanoseconds at) const;
};

class ChannelStates {
 public:
  ChannelStates(const Fabric& fabric, const SimOptions& options);

  /// Without the faults that vary.
  const ChannelState& operator[](ChannelId channel) const { return states_[channel.value()]; }
  std::size_t size() const { return states_.size(); }

  /// The share of packets of this size that a path's faults let through; of flows, what fits
  /// (load_sharing.hpp) is another matter. Faults that vary are not counted.
  double survival(std::span<const ChannelId> path, Bytes size) const;
  /// The same for probes: packets so few that they take no part in filling a queue, and find it as it is.
  double probe_survival(std::span<const ChannelId> path, Bytes size) const;
  /// The share of packets let through that are changed on the way.
  double corruption(std::span<const ChannelId> path) const;

  bool varies() const { return !varying_.empty(); }
  bool varies(std::span<const ChannelId> path) const;
  /// The path's channels as they are at a time, one behind the other; what is lost in runs is left out.
  void look(std::span<const ChannelId> path, Nanoseconds at, std::vector<ChannelState>& states) const;
  /// What they then lose in runs.
  std::vector<LossInRuns> runs_lost(std::span<const ChannelId> path, Nanoseconds at) const;
  /// When something on the path changes next after `at`, `until` at the latest.
  Nanoseconds change_after(std::span<const ChannelId> path, Nanoseconds at, Nanoseconds until) const;
  /// All channels as they are at a time, as if they never changed; what is lost in runs is loss.
  ChannelStates snapshot(Nanoseconds at) const;
  /// The same, with this traffic besides (bits per second, by channel): few packets of ours wait behind it,
  /// or are dropped with it.
  ChannelStates under(std::span<const double> traffic, Nanoseconds at) const;
  /// When anything changes between two times, in order; absent: more often than `most`.
  std::optional<std::vector<Nanoseconds>> changes(Nanoseconds from, Nanoseconds until,
                                                  std::size_t most) const;

 private:
  ChannelState state(ChannelId channel, Nanoseconds at, bool with_runs) const;
  void add_background(const SimOptions& options);
  void add_faults(const SimOptions& options);

  std::vector<ChannelState> states_;
  std::vector<VaryingFault> varying_;
  std::unordered_map<ChannelId, std::vector<std::size_t>> varying_on_;  // into varying_
};

/// The share of probes of this size that channels in this state let through.
double probe_survival(std::span<const ChannelState> path, Bytes size);
/// The share of these that are changed on the way.
double corruption(std::span<const ChannelState> path);

/// Links whose fault takes them down in both directions for good: their ends see it.
std::vector<LinkId> dead_links(const SimOptions& options);

}  // namespace weft::sim
