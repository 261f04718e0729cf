// LoadRounds: the load observations of a run as what each flow, and each channel round by round, was offered
// and passed; what is known to be lost on the way is taken out first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

class Report;

/// What is known of a channel before load is judged: the share of packets that it loses is between these.
struct KnownLoss {
  double low = 0;
  double high = 0;
};

/// What the findings so far say that each channel loses of the packets of a load round. A channel that is one
/// of several of which one is at fault may lose nothing.
std::vector<KnownLoss> known_losses(const Fabric& fabric, const Report& report);

/// What surely carries packets over the set: the channels that all of its paths cross.
std::vector<ChannelId> shared_channels(const PathTable& paths, PathSetId set);

struct LoadFlow {
  std::uint32_t round = 0;
  PathSetId path;
  std::vector<ChannelId> channels;  // sure to carry it: of a set of paths what all of them cross
  bool one_path = true;
  bool stalled = false;   // its sender held it back
  bool shared = false;    // another flow of the round would fill a channel of its path with it
  bool met_full = false;  // and they may have: what the flow lacks, the others got. Else it has a culprit
  double offered = 0;     // bits per second
  double got = 0;         // bits per second that it would have got but for the losses that are sure
  double got_raw = 0;     // that it got
  double most = 0;        // that it would have got if all possible losses were real
};

/// What all flows over a channel offered and got in one round. Together: a queue that overflows does not drop
/// from all flows alike, so only their sum tells what the channel passes.
struct ChannelRound {
  std::uint32_t round = 0;
  double offered = 0;
  double reached = 0;  // at most, of the offer: channels before carry no more than their capacity
  double got = 0;
  std::uint32_t flows = 0;
  bool whole = true;  // no sender stalled, nothing else is known to lower it
};

class LoadRounds {
 public:
  /// `losses`: by channel. The fabric must outlive this.
  LoadRounds(const Fabric& fabric, const Observations& observations, std::span<const KnownLoss> losses);

  const std::vector<LoadFlow>& flows() const { return flows_; }
  /// Indices of the flows that cross `channel`.
  std::span<const std::uint32_t> flows_over(ChannelId channel) const { return over_[channel.value()]; }
  /// Ascending by round.
  std::span<const ChannelRound> rounds_of(ChannelId channel) const { return rounds_[channel.value()]; }
  /// Null where no flow of the round crossed the channel.
  const ChannelRound* round_of(ChannelId channel, std::uint32_t round) const;
  /// Scale of the noise of a share: about one per cent, learned only from flows that got nearly all they
  /// offered, so that faults do not make themselves usual.
  double noise() const { return noise_; }
  /// Got so much of what was offered: it arrived whole.
  double whole_share() const { return 1.0 - 4.0 * noise_; }
  /// What a healthy channel carries, bits per second: the link's rate as built (a lab shapes it below that of
  /// the fabric file); of rows that do not tell, what the plan takes for it.
  double capacity(ChannelId channel) const;
  /// True when the flow got clearly less than it offered, and no loss that is known explains it.
  bool held_back(const LoadFlow& flow) const { return flow.most < whole_share() * flow.offered; }

 private:
  void learn_scale(const Observations& observations);
  void learn_noise();
  void sum_up();
  void add_up_reached();

  const Fabric& fabric_;
  std::vector<LoadFlow> flows_;
  std::vector<std::vector<std::uint32_t>> over_;
  std::vector<std::vector<ChannelRound>> rounds_;  // by channel
  double noise_ = 0;
  double scale_ = 1;
};

}  // namespace weft::diagnosis
