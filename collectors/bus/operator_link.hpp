// The end of an operator on the bus: labels to the hosts of a fabric, and what their agents answer.
#pragma once

#include <memory>
#include <string>

#include "collectors/bus/nats_bus.hpp"
#include "probes/watch/seams.hpp"

namespace weft::bus {

/// `name`: as which this operator logs in. Errors: absent (no server), permission (it refuses the credential,
/// or it is no operator's), invalid_input (a name).
Result<std::unique_ptr<watch::OperatorLink>> connect_operator_link(const NatsAddress& address,
                                                                   const std::string& fabric,
                                                                   const std::string& name);

}  // namespace weft::bus
