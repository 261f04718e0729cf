// Diagnosis: what a run found. Findings name channels and hosts of one Fabric by id; files/ turns them into
// the documents people and programs read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"
#include "topology/findings/observation.hpp"
#include "topology/findings/verdict.hpp"

namespace weft {

/// A point estimate and its interval. The unit goes by the cause: loss and corruption a share (0..1), rate
/// and congestion a share of the link's rate that a flow gets (0..1), delay seconds added one way, mtu the
/// largest packet in bytes that passed; down has none.
struct Estimate {
  double value = 0;
  double low = 0;  // 95 % interval
  double high = 0;
};

/// How a fault comes and goes, where it does.
struct Intermittence {
  double per_second = 0;  // outages
  double duration = 0;    // of one, seconds; the median
};

/// What one label of a pair of NICs lost over a channel.
struct LabelledLoss {
  LabelledPair pair;
  std::uint64_t sent = 0;
  std::uint64_t lost = 0;
};

struct LinkFinding {
  LinkId link;
  /// The faulty channel; absent when both directions are at fault, or when which one is cannot be told.
  std::optional<ChannelId> channel = std::nullopt;
  Verdict verdict = Verdict::unknown;
  Cause cause = Cause::loss;
  std::optional<Estimate> estimate = std::nullopt;
  double confidence = 0;  // posterior probability that this finding is right, 0..1
  std::vector<std::string> evidence;
  std::optional<Intermittence> intermittent = std::nullopt;
  std::vector<LabelledLoss> labels = {};  // of those that cross it, the ones that lost most, the worst first
};

struct HostFinding {
  NodeId host;
  std::optional<PortId> nic = std::nullopt;
  Verdict verdict = Verdict::unknown;
  std::optional<Cause> cause = std::nullopt;
  std::vector<std::string> evidence;
  /// Of the host's cable, where probes told, or of all its cables (no link); `channel` is absent when both
  /// directions are at fault or when which one is cannot be told.
  std::optional<LinkId> link = std::nullopt;
  std::optional<ChannelId> channel = std::nullopt;
  std::optional<Estimate> estimate = std::nullopt;
  std::optional<double> confidence = std::nullopt;
  std::optional<Intermittence> intermittent = std::nullopt;
};

/// One cause behind many channels: a switch, a line card.
struct GroupFinding {
  std::vector<NodeId> nodes;
  std::vector<ChannelId> channels;
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::unknown;
  double confidence = 0;
  std::vector<std::string> evidence;
};

/// What the data cannot tell apart: exactly one of the alternatives is true, and then all its channels are at
/// fault. At least two alternatives; ids ascending in each, the likeliest alternative first.
struct OpenSet {
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::unknown;
  std::vector<std::vector<ChannelId>> alternatives;
  double confidence = 0;  // that one of them is true, or one of those left out
  bool more = false;      // others fit as well and are left out: they were too many
};

/// What holds for the fabric as a whole and can be told of no part of it: an even loss, a delay that all
/// paths of a length share.
struct FabricFinding {
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::unknown;
  std::optional<Estimate> estimate = std::nullopt;  // of a channel
  double confidence = 0;
  std::vector<std::string> evidence;
};

/// Where the losses (late round trips, flows held back) of a run went. The parts add up to `all`.
struct AccountLine {
  std::uint64_t all = 0;
  std::uint64_t found = 0;        // explained by findings
  std::uint64_t open = 0;         // explained by a set or a suspicion that is not settled
  std::uint64_t excused = 0;      // a host dropped or held them, as it measured itself
  std::uint64_t tolerated = 0;    // no more than the tolerated background
  std::uint64_t unexplained = 0;  // above it, and by nothing that was found
  friend bool operator==(const AccountLine&, const AccountLine&) = default;
};
struct Account {
  AccountLine lost;     // packets
  AccountLine corrupt;  // packets
  AccountLine late;     // observations whose median round trip is late, or whose slowest are and lie together
  AccountLine slow;     // flows that got less than they offered
  bool unexplained() const {
    return lost.unexplained + corrupt.unexplained + late.unexplained + slow.unexplained > 0;
  }
};

/// The smallest fault that the run would have shown with .99 on the channel it knows least of, where no other
/// channel had the same: what all paths of a length share shows from what is tolerated on. Of a rate: of the
/// channels that were loaded (not Coverage::unloaded). Absent: none of any size (rates, where no load was
/// sent).
struct Sensitivity {
  std::optional<double> loss;        // share
  std::optional<Nanoseconds> delay;  // one way
  std::optional<double> rate;        // missing share of a link's rate
  std::optional<Bytes> size;         // of the largest packets sent: an MTU limit above it shows in nothing
};

/// A host, or one NIC of it, that took no part for a reason that says nothing of it: no agent came, a right
/// was missing, the bus broke.
struct NotTested {
  NodeId host;
  std::optional<PortId> nic = std::nullopt;
  std::string why;
};

struct Coverage {
  std::size_t channels = 0;      // of the fabric, or those in scope where hosts were chosen
  std::size_t out_of_scope = 0;  // no path between the chosen hosts crosses them
  std::optional<std::string> out_of_scope_told_by = std::nullopt;  // what tells of those, without probes
  std::vector<ChannelId> in_scope{};  // where hosts were chosen: all of `channels`, in the order of their ids
  std::size_t probed = 0;          // of these, crossed by probes enough to show the loss that was asked for
  std::size_t paths = 0;           // distinct paths used
  std::vector<ChannelId> missing;  // not crossed, in the order of their ids
  std::vector<ChannelId> thin;     // crossed, by too few probes
  /// In a run that loads: crossed by probes, but by no flow that tells of their rate (none whose path is
  /// known, or all held back by their senders, or not counted).
  std::vector<ChannelId> unloaded;
  std::vector<ChannelId> rate_untested;  // loaded, but each of their flows met a slower culprit
  /// Not at fault as far as is known, but of the packets over them too few met nothing that is, or may be:
  /// what is wrong with them besides may not show.
  std::vector<ChannelId> masked{};
  std::vector<NotTested> not_tested;
  std::optional<std::string> cut_short = std::nullopt;  // why the run ended before its work was done
  std::vector<std::string> fell_short{};                // of what was asked for: by what, a sentence each
  bool complete = true;                                 // false when the run fell short of what was asked
};

/// What the ports counted on a channel that no finding names: it is not enough, or probes or another counter
/// exclude it. No fault by itself.
struct CounterNote {
  ChannelId channel;
  double probability = 0;  // that the channel loses frames on the wire
  std::vector<std::string> texts;
};

struct Diagnosis {
  Verdict verdict = Verdict::unknown;
  std::vector<LinkFinding> links;  // what is not healthy, worst first
  std::vector<HostFinding> hosts;
  std::vector<GroupFinding> groups;
  /// Channels the data cannot tell apart, one of which is at fault (each class once, ids ascending).
  std::vector<std::vector<ChannelId>> ambiguous;
  std::vector<OpenSet> sets;
  std::vector<FabricFinding> fabric;
  std::vector<CounterNote> counters;  // the likeliest first
  Account account;
  Sensitivity sensitivity;
  Coverage coverage;
};

/// The verdict of a run: failed if any link or host failed, else degraded, else congested, else unknown when
/// the coverage fell short or is of nothing, something is unexplained or a set is open, else healthy.
Verdict run_verdict(const Diagnosis& diagnosis);

}  // namespace weft
