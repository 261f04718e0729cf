// A fabric whose paths were learned, without packets: every route of its pairs, answered hop by hop as
// switches would.
#pragma once

#include "probes/plan/path_learner.hpp"
#include "probes/plan/trace_plan.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/fabric.hpp"

namespace weft {

/// The answers to a trace that took `path` and was cut after `hops` of them (all: the peer answers too).
inline std::vector<datapath::HopAnswer> answers_along(const Fabric& fabric, const AddressBook& addresses,
                                                      const std::vector<ChannelId>& path, std::size_t hops) {
  std::vector<datapath::HopAnswer> answers;
  for (std::size_t i = 0; i < std::min(hops, path.size()); ++i)
    answers.push_back({.hop = static_cast<std::uint8_t>(i + 1),
                       .is_peer = i + 1 == path.size(),
                       .from = *addresses.address_of(fabric.target(path[i]))});
  return answers;
}

/// A path from `src` to `dst` by the `choice`-th of the equal next hops at every switch.
inline std::vector<ChannelId> path_by_choice(const Fabric& fabric, routing::ShortestPathCache& ways,
                                             PortId src, PortId dst, std::size_t choice) {
  std::vector<ChannelId> path{*fabric.channel_from(src)};
  const NodeId goal = routing::edge_switch(fabric, dst);
  while (fabric.target_node(path.back()) != goal) {
    const auto next = ways.to(goal).next(fabric.target_node(path.back()));
    path.push_back(next[choice % next.size()]);
  }
  path.push_back(*fabric.channel_into(dst));
  return path;
}

}  // namespace weft
