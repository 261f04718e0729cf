// How many labels show all paths: the coupon collector's question.
#pragma once

#include <cstdint>

#include "topology/base/units.hpp"

namespace weft {

/// The smallest number of random labels that show each of `paths` equally likely paths at least once with
/// probability `confidence` (0 < confidence < 1). Exact, by the Markov chain over the number of paths seen.
std::uint32_t labels_to_see_all(std::uint32_t paths, Fraction confidence);

}  // namespace weft
