#include "topology/findings/host_delays.hpp"

#include <algorithm>

#include "topology/base/statistics.hpp"

namespace weft {

std::optional<RttQuantiles> over_paths(std::vector<RttQuantiles> paths) {
  if (paths.empty()) return std::nullopt;
  const Nanoseconds largest = std::ranges::max(paths, {}, &RttQuantiles::p99).p99;
  return RttQuantiles{median(paths, &RttQuantiles::p50).p50, largest};
}

}  // namespace weft
