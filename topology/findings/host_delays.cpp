#include "topology/findings/host_delays.hpp"

#include <algorithm>

namespace weft {

std::optional<RttQuantiles> over_paths(std::vector<RttQuantiles> paths) {
  if (paths.empty()) return std::nullopt;
  const Nanoseconds largest = std::ranges::max(paths, {}, &RttQuantiles::p99).p99;
  const auto middle = paths.begin() + static_cast<std::ptrdiff_t>(paths.size() / 2);
  std::ranges::nth_element(paths, middle, {}, &RttQuantiles::p50);
  return RttQuantiles{middle->p50, largest};
}

}  // namespace weft
