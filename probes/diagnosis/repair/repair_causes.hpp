// Why a cable loses packets, as probabilities: which part, and at which end. Each cause says what its signs
// look like (normal distributions, with room for what is odd); Bayes' rule weighs those that were seen. Pure.
#pragma once

#include <vector>

#include "topology/findings/repair.hpp"

namespace weft::diagnosis {

/// All causes at all ends, the likeliest first; the probabilities add up to 1. Of a cable that is one part
/// with its modules, these are the cable, and nothing is dirty. What is not told counts for none. Constants
/// are judgements from published descriptions of link failures, not fitted to real repairs
/// (docs/counters.md#what-to-mend).
std::vector<RepairGuess> repair_causes(const RepairSigns& signs);

/// Whether any sign is other than at most healthy cables. Where none is, the causes are no more than how
/// often they happen anywhere.
bool departs_from_usual(const RepairSigns& signs);

/// Of these, those that share cause and end with an action: "replace the module" is one, whatever in it
/// broke. The likeliest first.
struct RepairAction {
  RepairCause cause = RepairCause::dirty_connector;  // the likeliest of those that the action mends
  std::optional<bool> at_sender = std::nullopt;
  double probability = 0;
};
std::vector<RepairAction> repair_actions(const std::vector<RepairGuess>& guesses);

}  // namespace weft::diagnosis
