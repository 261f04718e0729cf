// HostDelays: what the hosts themselves added to the round trips of probes, where the timestamps of both ends
// tell that apart from the network's share.
#pragma once

#include <optional>
#include <vector>

#include "topology/findings/observation.hpp"

namespace weft {

/// Of one NIC, an entry for each path that its probes, or those of others to it, took.
struct HostDelays {
  std::vector<RttQuantiles> prober;     // from the program to the wire and back again, the two together
  std::vector<RttQuantiles> responder;  // from a probe's arrival until its answer was sent
  std::vector<RttQuantiles> whole;      // round trips as the prober's program sees them, hosts included
  bool by_hardware = true;              // stamped by devices, all of them
};

/// The median of the medians and the largest of the 99 % quantiles; null of no paths.
std::optional<RttQuantiles> over_paths(std::vector<RttQuantiles> paths);

}  // namespace weft
