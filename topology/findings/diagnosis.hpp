// Diagnosis: what a run found. Findings name channels and hosts of one Fabric by id; files/ turns them into
// the documents people and programs read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"
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

struct LinkFinding {
  LinkId link;
  /// The faulty channel; absent when both directions are at fault, or when which one is cannot be told.
  std::optional<ChannelId> channel = std::nullopt;
  Verdict verdict = Verdict::unknown;
  Cause cause = Cause::loss;
  std::optional<Estimate> estimate = std::nullopt;
  double confidence = 0;  // posterior probability that this finding is right, 0..1
  std::vector<std::string> evidence;
};

struct HostFinding {
  NodeId host;
  std::optional<PortId> nic = std::nullopt;
  Verdict verdict = Verdict::unknown;
  std::optional<Cause> cause = std::nullopt;
  std::vector<std::string> evidence;
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

struct Coverage {
  std::size_t channels = 0;         // of the fabric
  std::size_t probed = 0;           // of these, crossed by enough probes
  std::size_t paths = 0;            // distinct paths used
  std::vector<ChannelId> missing;   // not crossed, in the order of their ids
  std::vector<ChannelId> unloaded;  // were to be loaded; all flows were held back by senders, or not counted
  bool complete = true;             // false when the run fell short of what was asked
};

struct Diagnosis {
  Verdict verdict = Verdict::unknown;
  std::vector<LinkFinding> links;  // what is not healthy, worst first
  std::vector<HostFinding> hosts;
  std::vector<GroupFinding> groups;
  /// Channels the data cannot tell apart, one of which is at fault (each class once, ids ascending).
  std::vector<std::vector<ChannelId>> ambiguous;
  Coverage coverage;
};

/// The verdict of a run: failed if any link or host failed, else degraded, else congested, else unknown when
/// the coverage fell short, else healthy.
Verdict run_verdict(const Diagnosis& diagnosis);

}  // namespace weft
