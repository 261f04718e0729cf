// What the runs of one side tell of the channels of its fabric: which they crossed, where more wanted to
// cross than a channel carries, where packets waited. For code that draws it. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "collectors/compare/measured_run.hpp"

namespace weft::compare {

struct ChannelLoad {
  std::string channel;
  /// What flows would send over it if nothing but their own cables limited them, over its rate: the mean over
  /// all rounds of load of all runs.
  double load = 0;
};

struct MeasuredFabric {
  std::string fabric;                // its name
  std::vector<std::string> crossed;  // channels over which something arrived, by name
  /// Of which nobody knows whether they are healthy: named by a few runs alone, probed too little or hidden
  /// in at least half of them, or sent packets over of which none arrived.
  std::vector<std::string> unknown = {};
  std::vector<ChannelLoad> loads;   // beyond what they carry, the greatest first
  std::vector<QueuedPlace> queues;  // longest_queues
};

MeasuredFabric measured_fabric(std::string fabric, std::span<const MeasuredRun> runs);

/// Where packets waited longest under load, in at least half of the runs: three at most, by the median.
std::vector<QueuedPlace> longest_queues(std::span<const MeasuredRun> runs);

}  // namespace weft::compare
