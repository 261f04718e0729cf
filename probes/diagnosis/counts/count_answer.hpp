// The answer of a search for what caused the losses: the probabilities of what was found and of what could
// stand in for it, with estimates.
#pragma once

#include "probes/diagnosis/counts/count_search.hpp"
#include "probes/diagnosis/counts/switch_moves.hpp"

namespace weft::diagnosis {

/// Suspicions, rivals and background of the state that a search ended in; the rest is left empty.
CountResult weigh_answer(CountState& state);

/// What was found and may be exchanged for something else becomes one alternative of a set; where classes of
/// channels stand among these, of which one or another is at fault, no set tells them: a switch is a
/// suspicion then, and channels stay named. Of the exchanges of a group no two go together.
void leave_open(std::vector<std::vector<Exchange>> groups, const CountProblem& problem, CountResult& result);

}  // namespace weft::diagnosis
