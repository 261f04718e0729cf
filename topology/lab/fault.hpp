// Faults of a lab: what is asked for (FaultSpec) and what is in force on a channel (ChannelFault).
#pragma once

#include <optional>

#include "topology/model/fabric.hpp"

namespace weft {

/// What is wrong with one channel; absent parts are not.
struct ChannelFault {
  std::optional<Fraction> loss = std::nullopt;      // of the packets
  std::optional<Bandwidth> rate = std::nullopt;     // the channel is held to it
  std::optional<Bandwidth> load = std::nullopt;     // other traffic over it, at most for kLongestLoad
  std::optional<Nanoseconds> delay = std::nullopt;  // added one way
  std::optional<Bytes> mtu = std::nullopt;          // larger IP packets vanish without an answer
  friend bool operator==(const ChannelFault&, const ChannelFault&) = default;
};

struct FaultSpec {
  LinkId link;
  std::optional<NodeId> from = std::nullopt;  // only the channel that leaves it; absent: both directions
  ChannelFault fault;
  bool down = false;  // the cable: both directions
};

}  // namespace weft
