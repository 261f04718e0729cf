// StandingPlan: which labels each NIC of a fabric probes all the time, once paths are known: so that every
// channel is crossed ten times a second in each direction wherever a host's rate allows. It keeps for the
// watcher over which paths the probes of each stream go and come back. A value; pure and deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "probes/plan/path_learner.hpp"
#include "probes/watch/key_epochs.hpp"
#include "topology/model/path.hpp"

namespace weft {
class Fabric;
}

namespace weft::watch {

struct PlanLimits {
  double packets_per_second = 500;   // of a host, all its NICs together
  double crossings_per_second = 10;  // of a channel, wanted
  std::uint32_t burst = 10;          // probes of a NIC that leave together
  std::size_t streams = 64;          // of a NIC: with 8 NICs a host, 512 paths
};

struct StandingStream {
  PortId peer;
  PathLabel label;
  PathLabel back_label;
  PathSetId there;
  PathSetId back;
  friend bool operator==(const StandingStream&, const StandingStream&) = default;
};

struct StandingNic {
  NodeId host;
  PortId nic;
  double packets_per_second = 0;
  std::uint32_t burst = 1;
  std::uint32_t first_row = 0;  // of its streams; rows count through the whole plan
  std::vector<StandingStream> streams;
};

struct StandingPlan {
  PathTable paths;
  std::vector<StandingNic> nics;            // ascending by host, then NIC; those without a stream too
  std::vector<std::uint32_t> first_nic;     // by node: of its NICs in `nics`; one more at the end
  std::vector<std::vector<PortId>> askers;  // by node: NICs that probe those of this host, ascending
  std::uint32_t rows = 0;
  std::vector<double> crossings;     // by channel: probes and echoes a second that cross it for certain
  std::vector<ChannelId> uncovered;  // crossed by none, ascending
  std::vector<ChannelId> thin;       // crossed, by fewer than wanted

  std::span<const StandingNic> nics_of(NodeId host) const {
    return std::span(nics).subspan(first_nic[host.value()],
                                   first_nic[host.value() + 1] - first_nic[host.value()]);
  }
  /// The NIC whose stream a row is; an index into `nics`.
  std::uint32_t nic_of(std::uint32_t row) const;
  const StandingStream& stream(std::uint32_t row) const {
    const StandingNic& nic = nics[nic_of(row)];
    return nic.streams[row - nic.first_row];
  }
};

/// Of the routes that `learner` knows, between the NICs that take part. A route whose way back is not known
/// cannot be probed. Streams that follow one another take different ways where there are some.
StandingPlan make_standing_plan(const Fabric& fabric, const plan::PathLearner& learner,
                                const std::vector<PortId>& nics, const PlanLimits& limits = {});

/// A plan of these streams over the paths of `table`, with rates, rows and what they cross; `nics` ascending
/// by host, then NIC, each with its host, NIC and streams.
StandingPlan plan_over(const Fabric& fabric, PathTable table, std::vector<StandingNic> nics,
                       const PlanLimits& limits);

/// The same without the streams between NICs that `can_probe` says no of: both ways are asked.
StandingPlan only_between(const Fabric& fabric, StandingPlan plan, const PlanLimits& limits,
                          const std::function<bool(PortId, PortId)>& can_probe);

/// The same NICs send the same labels to the same peers, over the same paths.
bool same_ways(const StandingPlan& a, const StandingPlan& b);

/// A NIC that takes part, as its agent said: what it calls it and where it is.
struct StandingEnd {
  datapath::RunNic at;
  std::string interface;
  std::optional<packet::UdPair> pair = std::nullopt;  // by which it probes; absent: by packets
};

using StandingEnds = std::unordered_map<PortId, StandingEnd>;

/// What a host is told at `now`. Precondition: `ends` has all NICs of the plan. The order of the NICs is that
/// of the plan: a window's index counts in `plan.nics_of(host)`.
Assignment assignment_of(const Fabric& fabric, const StandingPlan& plan, NodeId host, PlanVersion version,
                         const StandingEnds& ends, const KeyEpochs& keys, Nanoseconds now);

}  // namespace weft::watch
