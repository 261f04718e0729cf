// Traces where the peer's RDMA device takes the probes itself and nothing echoes them: the switches still
// answer, and what they say is enough. Pure over the seam.
#pragma once

#include "probes/datapath/probe_engine.hpp"

namespace weft {

/// Traces the switches alone. A spec whose last switch answered counts as having reached its peer: there is
/// one cable left, which no label can choose and which pings will cross.
Result<std::vector<HopAnswer>> trace_without_echo(ProbeEngine& tracer, TraceRequest request,
                                                  std::stop_token stop);

}  // namespace weft
