// LoadElimination: where flows were held back, by elimination. What passed through a channel is the least
// that it carries, so a channel that carried a whole flow is fine, and a flow that was held back needs a
// culprit of which all that is seen got no more. Several culprits are ordinary.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "probes/diagnosis/load/culprits.hpp"
#include "probes/diagnosis/load/load_rounds.hpp"

namespace weft::diagnosis {

/// One question of the run: exactly one of the alternatives is true, and then all its channels are culprits.
struct LoadSuspicion {
  std::vector<std::vector<ChannelId>> alternatives;  // likeliest first, channels ascending
  double probability = 0;            // that one of them is true, and not a passing disturbance
  std::vector<std::uint32_t> flows;  // that it explains
  /// All of its flows cross this cable too, which would explain them were it slow at times.
  std::optional<LinkId> beside = std::nullopt;
  /// It passes flows whole at times: the likelier, as several others would have to be at fault in its place.
  bool comes_and_goes = false;
};

class LoadElimination {
 public:
  /// `rounds` must outlive this.
  LoadElimination(const Fabric& fabric, const LoadRounds& rounds);

  /// Those of one channel first, the surest of them first.
  const std::vector<LoadSuspicion>& suspicions() const { return suspicions_; }
  /// Flows that were held back, and by nothing that is suspected.
  const std::vector<std::uint32_t>& unexplained() const { return unexplained_; }
  /// Channels that some flow crossed, none of them whole, and that nobody suspects: each flow met a slower
  /// culprit. Ascending.
  std::vector<ChannelId> untested() const;
  /// Some flow crossed it and its flows arrived whole.
  bool is_tested(ChannelId channel) const;
  /// Each flow of the suspicion may as well have been held back by several other channels in series, were all
  /// shared with other traffic; none of them would do alone.
  bool could_be_in_series_beside(ChannelId channel, const LoadSuspicion& suspicion) const;
  /// The most that all flows of a round got over it; bits per second.
  double passes(ChannelId channel) const { return seen_[channel.value()].most; }

 private:
  /// What the rounds over a channel say of it.
  struct Seen {
    double most = 0;   // that it passed in a round
    double asked = 0;  // the most, up to what a plan offers a channel, that was offered to it
    double other = 0;  // traffic of others that it could carry at most, by what it passed of each offer
  };
  /// A flow that needs a culprit.
  struct Need {
    std::vector<ChannelId> channels;  // of its path
    std::uint32_t round = 0;
    std::uint32_t flow = 0;
    double disturbed = 0;
    std::vector<ChannelId> candidates;
  };

  void look_at(ChannelId channel);
  void add_needs();
  double disturbed(double share, bool one_path) const;
  bool had_its_share(const LoadFlow& flow) const;
  bool loses_behind(const LoadFlow& flow, ChannelId channel) const;
  bool could_hold(ChannelId channel, std::uint32_t round) const;
  bool could_scatter(ChannelId channel, std::uint32_t round) const;
  double pass_together(const LoadFlow& flow, const std::vector<ChannelId>& channels) const;
  std::vector<ChannelId> could_hold_together(const LoadFlow& flow) const;
  void suspect(double fault);
  bool take_the_sure(double fault);
  std::vector<std::vector<Need>> open_questions() const;
  void settle(std::vector<Need> needs, double fault);
  void leave_open(const std::vector<Explanation>& all, const std::vector<Need>& needs);
  void blame(const std::map<ChannelId, double>& probability);
  void explain_the_rest();
  std::map<LinkId, std::vector<std::size_t>> cables_of_all_flows() const;
  double worth_of_one_at_times(LinkId cable, const std::vector<std::size_t>& instead_of) const;
  bool prefer_one_at_times();

  const LoadRounds& rounds_;
  std::vector<Seen> seen_;
  std::vector<Need> needs_;
  std::vector<LoadSuspicion> suspicions_;
  std::map<ChannelId, std::size_t> culprits_;  // by channel, the suspicion that has it alone
  std::vector<std::uint32_t> unexplained_;
};

}  // namespace weft::diagnosis
