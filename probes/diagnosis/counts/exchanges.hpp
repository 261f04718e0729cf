// What else may explain the same losses as what a search found.
#pragma once

#include "probes/diagnosis/counts/count_climb.hpp"

namespace weft::diagnosis {

/// In groups of which no two exchanges go together. Each fault in turn is put out of the question, then both
/// directions of each cable, and the search goes on without: where that ends better, the climb stays there;
/// where it ends about as well, what was found is no more than one explanation. Switches give way to their
/// cables first. Without `by_challenge` only what switches show is told.
std::vector<std::vector<Exchange>> find_exchanges(CountClimb& climb, bool by_challenge);

}  // namespace weft::diagnosis
