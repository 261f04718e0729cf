// Report: collects what the engines of the single causes found, puts it into the words of a Diagnosis (link,
// host, group, class that cannot be told apart) and joins what belongs together: both directions of a cable,
// a host's cable and the host.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "probes/diagnosis/diagnose.hpp"

namespace weft::diagnosis {

/// From `named_from` on a fault is named; below it, down to one half, the verdict is `unknown`. A wrong name
/// drains a good cable: nine are to be right for one that is not where all that count is counted packets,
/// whose law is known and whose stated probabilities hold (docs/diagnosis.md: of all names so given, no more
/// than one in a hundred is wrong even at the limit of the data); where a model of noise decides, twenty.
/// Below kSure further probes are asked for, named or not.
inline constexpr double kSure = 0.95;
inline constexpr double kSuspected = 0.5;
double named_from(Cause cause);

/// Of a set so many are listed; more are of no use to anybody.
inline constexpr std::size_t kMaxListed = 6;

/// A cause found, not yet put into words. One channel; or several that cannot be told apart; or a whole node;
/// or alternatives, of which exactly one is true and all of whose channels are then at fault (`channels` is
/// empty then, and `nodes` but for a switch: switch_around()).
struct Found {
  std::vector<ChannelId> channels;  // ids ascending
  std::vector<NodeId> nodes;        // a node that is the cause as a whole, or cannot be told from channels
  Cause cause = Cause::loss;
  std::optional<Estimate> estimate = std::nullopt;
  double probability = 0;
  std::vector<std::string> evidence;
  std::vector<std::vector<ChannelId>> alternatives = {};  // likeliest first
  bool more = false;                                      // alternatives that are not among these
  std::optional<Intermittence> intermittent = std::nullopt;
};

/// The host that all channels (and nodes) of it touch, if so.
std::optional<NodeId> host_of(const Fabric& fabric, const Found& found);
/// The channel a finding is about; of a host as a whole its only cable's, the way it sends.
std::optional<ChannelId> one_channel_of(const Fabric& fabric, const Found& found);

class Report {
 public:
  /// The fabric must outlive this.
  explicit Report(const Fabric& fabric) : fabric_(fabric) {}

  void add(Found found);
  /// Its sender is stopped by pause frames: what is found slow or late there from now on has that text as
  /// evidence. It changes no verdict: how long the sender stood is not known, and a cable that is slow as
  /// well looks the same.
  void note_stopped(ChannelId channel, std::string text) { stopped_.emplace(channel, std::move(text)); }
  void add(const HostEvidence& evidence);
  void add(Hypothesis hypothesis) { hypotheses_.push_back(std::move(hypothesis)); }
  void add(FabricFinding finding) { diagnosis_.fabric.push_back(std::move(finding)); }
  /// Each engine fills the lines of what it explains.
  Account& account() { return diagnosis_.account; }
  Sensitivity& sensitivity() { return diagnosis_.sensitivity; }
  /// Other traffic on a channel makes small probes wait and get lost: delay and loss found on a channel with
  /// a congestion finding are evidence of that, no faults of their own. Call when all findings are in.
  void explain_by_congestion();
  /// True when `channel` has a finding of this cause.
  bool has(ChannelId channel, Cause cause) const;
  /// True when any finding with a name (no mere suspicion) is about `channel`, alone or as one of a class.
  bool explains(ChannelId channel) const;
  /// True when anything found so far, of whatever cause and however sure, is or may be at `channel`, a host's
  /// too.
  bool speaks_of(ChannelId channel) const;

  /// All that was found so far, as it was added.
  const std::vector<Found>& found() const { return found_; }
  const std::vector<FabricFinding>& found_everywhere() const { return diagnosis_.fabric; }
  /// Loaded, but each of their flows met a slower culprit.
  void rate_untested(std::vector<ChannelId> channels) { rate_untested_ = std::move(channels); }

  /// Sorted, joined; `coverage` goes in as it is.
  Assessment finish(Coverage coverage) &&;

 private:
  Verdict verdict_of_found(const Found& found) const;
  void note_pauses(Found& found) const;
  void add_host(NodeId host, Found found);
  void add_link(Found found);
  void add_group(Found found);
  void add_set(Found& found);
  void note_ambiguous(const Found& found);
  void join_directions();
  void join_hosts();

  const Fabric& fabric_;
  Diagnosis diagnosis_;
  std::vector<Hypothesis> hypotheses_;
  std::vector<Found> found_;
  std::vector<ChannelId> rate_untested_;
  std::map<ChannelId, std::string> stopped_;
};

}  // namespace weft::diagnosis
