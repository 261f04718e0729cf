// Whose finding it is when the engines of two NICs do not come together.
#pragma once

#include "probes/session/stage.hpp"

namespace weft {

/// `peer` gave `asking` no queue pairs: a finding of the peer, said once, and it takes no part any more. Who
/// asked is not to blame, and goes on with its other peers.
void note_refusal(SweepState& state, PortId asking, PortId peer, const std::string& why);

}  // namespace weft
