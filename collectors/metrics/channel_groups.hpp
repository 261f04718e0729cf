// Channels by what they are part of: tier, rail, leaf. Pure.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "probes/watch/watch_state.hpp"
#include "topology/model/fabric.hpp"

namespace weft::metrics {

struct GroupSums {
  std::uint64_t sent = 0;  // since the watcher's start
  std::uint64_t lost = 0;
  std::array<std::uint64_t, 5> channels{};  // by Verdict
  std::uint64_t unhealthy() const { return channels[2] + channels[3] + channels[4]; }
};

struct ChannelGroups {
  std::map<std::pair<std::string, std::string>, GroupSums> by_tier;  // "leaf-spine", "up"
  std::map<std::pair<std::string, std::string>, GroupSums> by_rail;  // of hosts' cables: "3", "up"
  std::map<std::string, GroupSums> by_leaf;                          // of all cables of that leaf
};

ChannelGroups grouped(const Fabric& fabric, const std::vector<watch::ChannelState>& channels);

}  // namespace weft::metrics
