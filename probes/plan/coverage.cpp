#include "probes/plan/coverage.hpp"

#include <vector>

#include "topology/base/check.hpp"

namespace weft {

std::uint32_t labels_to_see_all(std::uint32_t paths, Fraction confidence) {
  WEFT_CHECK(confidence.value() > 0 && confidence.value() < 1);
  if (paths <= 1) return paths;
  // seen[j]: probability that j + 1 distinct paths were seen so far. All terms are positive, so that nothing
  // cancels, as it would in the closed form by inclusion and exclusion.
  std::vector<double> seen(paths, 0.0);
  seen[0] = 1.0;
  std::uint32_t labels = 1;
  for (; seen[paths - 1] < confidence.value(); ++labels)
    for (std::uint32_t j = paths; j-- > 0;) {
      const double stays = seen[j] * (j + 1) / paths;
      const double grows = j > 0 ? seen[j - 1] * (paths - j) / paths : 0.0;
      seen[j] = stays + grows;
    }
  return labels;
}

}  // namespace weft
