// The end of a standing agent on the bus: windows to the stream WEFT_OBS, words to and from watchers. It
// stands whether the server does or not; a connection that ends is made again.
#pragma once

#include <memory>
#include <string>

#include "collectors/bus/nats_bus.hpp"
#include "probes/watch/seams.hpp"

namespace weft::bus {

/// Waits a few seconds for the first connection; when there is none, later calls say why. Error:
/// invalid_input (a name that no subject can have, a key that is none).
Result<std::unique_ptr<watch::AgentLink>> connect_agent_link(const NatsAddress& address,
                                                             const std::string& fabric,
                                                             const std::string& host);

}  // namespace weft::bus
