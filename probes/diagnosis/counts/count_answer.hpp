// The answer of a search for what caused the losses: the probabilities of what was found and of what could
// stand in for it, with estimates.
#pragma once

#include "probes/diagnosis/counts/count_search.hpp"

namespace weft {

/// Suspicions, rivals and background of the state that a search ended in; the rest is left empty.
CountResult weigh_answer(CountState& state);

/// A switch that cables fit as well as becomes one alternative of a set; where classes of channels stand
/// among these, of which one or another is at fault, no set tells them, and the switch is a suspicion.
/// `doubtful`: by switch itself, then what may be at fault instead.
void doubt_switches(const std::vector<std::vector<std::vector<std::uint32_t>>>& doubtful,
                    const CountProblem& problem, CountResult& result);

}  // namespace weft
