// The warmest GPU of this host, for what a standing agent tells beside the counters of its NICs. NVML is
// opened at the first reading; a host without it has no such temperature, and that is printed once.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "topology/host/nvml.hpp"

namespace weft::run {

/// Degrees Celsius; absent: no GPU of this host reports it. Not thread-safe.
using WarmestGpu = std::function<std::optional<double>()>;

/// `print`: why there is none, once for each reason. A library that cannot be opened is not tried again.
WarmestGpu warmest_gpu(std::function<Result<host::NvmlFunctions>()> open,
                       std::function<void(const std::string&)> print);

}  // namespace weft::run
