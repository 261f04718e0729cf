// LoadRounds: the load observations of a run as shares of what was offered, round by round: how many flows
// and how much each channel carried, and how noisy a share is where nothing is wrong.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/findings/observation.hpp"
#include "topology/model/fabric.hpp"

namespace weft {

struct LoadFlow {
  std::uint32_t round = 0;
  double offered = 0;    // bits per second
  double share = 0;      // delivered / offered, against the median of its round; about 1 where all is well
  double predicted = 1;  // by the capacities and the faults known so far
  std::vector<ChannelId> channels;
};

class LoadRounds {
 public:
  LoadRounds(const Fabric& fabric, const Observations& observations);

  /// Flows that are evidence: their sender did not stall, their round went well on the whole.
  std::vector<LoadFlow>& flows() { return flows_; }
  const std::vector<LoadFlow>& flows() const { return flows_; }
  /// Indices of the flows that cross `channel`.
  std::span<const std::uint32_t> flows_over(ChannelId channel) const { return over_[channel.value()]; }
  /// What all flows of a round, stalled ones too, offered to a channel; bits per second.
  double offered_to(ChannelId channel, std::uint32_t round) const;
  /// Scale of the noise of a share.
  double noise() const { return noise_; }
  /// What a healthy channel carries, bits per second: the link's rate where flows come near it; in a lab that
  /// is shaped below, what flows were found to get.
  double capacity(ChannelId channel) const;

 private:
  void note_offer(ChannelId channel, std::uint32_t round, double offered);
  void keep(std::vector<LoadFlow> flows);

  const Fabric& fabric_;
  std::vector<LoadFlow> flows_;
  std::vector<std::vector<std::uint32_t>> over_;
  std::vector<std::vector<std::pair<std::uint32_t, double>>> offered_;  // by channel: round, bits per second
  double noise_ = 0;
  double most_carried_ = 0;  // by a channel in a round, of flows that got what they offered
};

}  // namespace weft
