// Where threads that serve a NIC should run: on the CPUs of its NUMA node.
#pragma once

#include <string>

#include "topology/base/result.hpp"

namespace weft::host {

/// Holds the calling thread, and those that it starts from then on, to these CPUs ("0-55,112-167"). Error: no
/// such list, or the system does not let this process run there (a container's limits).
Result<void> run_this_thread_on(const std::string& cpus);

}  // namespace weft::host
