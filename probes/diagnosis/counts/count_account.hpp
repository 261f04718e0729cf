// The account of the losses of a CountProblem: what is explained by what was found, by what may be at fault,
// by a tolerated background, and what by nothing.
#pragma once

#include "probes/diagnosis/counts/count_search.hpp"

namespace weft::diagnosis {

/// Each lost packet is shared out among the causes of its row by their hazards. What no fault explains is
/// tolerated as far as a loss of `tolerated` on every channel makes it likelier than one in a thousand, over
/// the whole run: by observation, by channel and in all; and as far as no channel must lose more than that.
/// The parts are rounded, and add up.
AccountLine account_of(const CountState& state, const CountResult& result, double tolerated,
                       double named_from);

}  // namespace weft::diagnosis
