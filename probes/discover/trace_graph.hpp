// What traces say hop by hop, counted: who answered first, who last, and who came behind whom. The input of
// cabling_of_traces.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "probes/discover/traced_cabling.hpp"

namespace weft::discover {

using AddressIndex = std::uint32_t;  // of TraceGraph::addresses

struct TraceGraph {
  std::vector<IpAddress> addresses;  // all that answered, ascending
  /// By address: those that answered one hop before it, and how often. Of the rare ones nothing is kept: a
  /// route that changed in the midst of a trace looks so.
  std::vector<std::map<AddressIndex, std::uint32_t>> before;
  std::vector<bool> at_first_hop;  // by address
  std::vector<bool> at_later_hop;
  std::vector<std::set<AddressIndex>> first;  // by NIC: the hop that its traces begin with
  std::vector<std::set<AddressIndex>> last;   // by NIC: the hop before it, of traces that reached it
  /// By address: NICs whose first hop is silent in the traces where it answered second.
  std::vector<std::set<std::uint32_t>> behind_silent_first;
  std::vector<std::set<std::uint32_t>> behind_silent;  // by address: the NICs whose traces came into it from
                                                       // a hop that is silent, and not the first
  std::set<std::pair<std::uint32_t, std::uint32_t>> one_switch;  // NICs with one switch between them
  std::set<std::pair<AddressIndex, AddressIndex>> together;      // in one trace: two switches
  bool sprays = false;

  /// A NIC that enters the fabric by several switches or ports.
  bool is_bonded(std::uint32_t nic) const { return first[nic].size() > 1; }
};

TraceGraph graph_of(std::span<const TracedNic> nics, std::span<const Trace> traces);

/// The other end of this one's subnet, where it is one of these. A /30 has no addresses beside its two: where
/// one of them answered, the subnets are smaller.
std::optional<AddressIndex> sibling(const TraceGraph& graph, AddressIndex of,
                                    const std::set<AddressIndex>& among);

}  // namespace weft::discover
