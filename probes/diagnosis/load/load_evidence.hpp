// What a channel passed of what was offered to it, in words for a finding.
#pragma once

#include <string>
#include <vector>

#include "probes/diagnosis/load/load_cause.hpp"
#include "topology/base/units.hpp"

namespace weft {

/// As "of 20M offered 20M arrived, of 47.5M 25M, of 95M 25M": rounds of about the same offer are one, and of
/// many different ones the least, the middle and the most are told. `capacity`: of which the rounds are
/// shares.
std::string offers_in_words(std::vector<PressedRound> rounds, Bandwidth capacity);

}  // namespace weft
