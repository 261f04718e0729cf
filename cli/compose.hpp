// Where adapters meet the session: the only place that names them.
#pragma once

#include <vector>

#include "collectors/bus/nats_bus.hpp"
#include "probes/session/work.hpp"

namespace weft {

/// Opens AF_PACKET engines for NICs that go by the interfaces and addresses of `nics`.
OpenEngines raw_engines(std::vector<NicReport> nics);

/// A new run's id and key, from the system's random source.
RunSecrets new_run_secrets();

}  // namespace weft
