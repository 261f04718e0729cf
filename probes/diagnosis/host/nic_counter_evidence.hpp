// What the counters of NICs say of the fabric, from two readings of each: errors of the cable are counts on
// the channel into the NIC; events of its link and notes of congestion are signs about the same, what it
// could not send is one about the channel out of it. What has
// several meanings (a packet missing from a sequence, an acknowledgement that came late) is no evidence here:
// the probes themselves tell loss better. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "topology/findings/nic_counters.hpp"
#include "topology/findings/observation.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

struct NicEvidence {
  std::vector<ChannelCount> counts;
  std::vector<ChannelEvidence> channels;
  std::vector<HostEvidence> hosts;
};

/// In the order given. Nothing is made of a counter that was reset.
NicEvidence nic_counter_evidence(const Fabric& fabric, const std::vector<NicCounterSteps>& nics);

}  // namespace weft::diagnosis
