// Intermittence: whether what a channel loses comes and goes. The packets of all observations over a channel,
// put in the order in which they were sent, are read as a sequence of two states, in one of which it loses
// (Viterbi, IEEE Trans. Inf. Theory 1967); outages are the stretches of that state.
#pragma once

#include <vector>

#include "topology/findings/diagnosis.hpp"
#include "topology/findings/observation.hpp"

namespace weft::diagnosis {

/// How the fault of `channel` comes and goes; absent where it is steady, where too little was lost, or where
/// observations do not tell when. Those that cross any of `others` (ascending) are left out.
std::optional<Intermittence> intermittence_of(const Observations& observations, ChannelId channel,
                                              const std::vector<ChannelId>& others);

/// Whether the packets of this size and more that a channel lost, all of them, were lost in outages that took
/// smaller ones as well: while they were, no smaller one passed, the five smaller ones sent just before
/// or just after were lost, and they were sent within half as long again as the longest outage that smaller
/// ones show from begin to end, if any. Of channels that all packets cross alike the first is looked at.
/// False where the times of observations do not tell.
bool met_outages(const Observations& observations, const std::vector<ChannelId>& alike, Bytes from,
                 const std::vector<ChannelId>& others);

}  // namespace weft::diagnosis
