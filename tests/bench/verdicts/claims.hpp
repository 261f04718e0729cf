// Claims: what a diagnosis names and what it leaves open, in one form: findings of links and hosts, sets and
// classes, switches.
#pragma once

#include <optional>
#include <vector>

#include "topology/findings/diagnosis.hpp"
#include "topology/model/fabric.hpp"

namespace weft::bench {

struct Name {
  std::vector<ChannelId> channels;  // one; or both of a cable, or all of a host
  std::optional<Cause> cause;
};
struct OpenClaim {
  std::vector<std::vector<ChannelId>> alternatives;
  std::optional<Cause> cause;  // absent: not stated
};
struct Claims {
  std::vector<Name> names;
  std::vector<OpenClaim> sets;
  std::vector<std::pair<NodeId, std::optional<Cause>>> switches;  // named as a whole
};

Claims claims_of(const Fabric& fabric, const Diagnosis& diagnosis);

/// A finding of cause `said` speaks of a fault of cause `is`.
bool goes_with(std::optional<Cause> said, Cause is);

bool holds(const std::vector<ChannelId>& channels, ChannelId channel);
bool holds(const OpenClaim& set, ChannelId channel);

}  // namespace weft::bench
