// The answer of a search for what caused the losses: the probabilities of what was found and of what could
// stand in for it, with estimates.
#pragma once

#include "probes/diagnosis/counts/count_search.hpp"

namespace weft {

/// Suspicions, rivals and background of the state that a search ended in; the rest is left empty.
CountResult weigh_answer(CountState& state);

}  // namespace weft
