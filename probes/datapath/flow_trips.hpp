// The small probes beside flows (TripProbes) as a ping request of their own, and what came of them as a part
// of the flows' tallies. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "probes/datapath/flow_engine.hpp"

namespace weft::datapath {

/// Of one probe beside a flow, and of its echo: as small as those of idle paths, with which they are
/// compared.
inline constexpr Bytes kTripProbe(128);

struct TripRequest {
  PingRequest pings;
  std::vector<std::uint32_t> flows;  // by spec of `pings`: the spec of the flow that its probes go beside
};

/// As many probes beside each flow that has a label for their echoes, sent within the first four fifths of
/// the flows' time, so that the last echoes have come when the flows end. Absent: none are asked for, or the
/// pace leaves none for a flow.
std::optional<TripRequest> trip_request(const FlowRequest& request);

/// Puts what came of the probes into the tallies of their flows.
void add_trips(const TripRequest& request, const std::vector<PingTally>& pings,
               std::vector<FlowTally>& flows);

}  // namespace weft::datapath
