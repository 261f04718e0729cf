// The search for what caused the losses: which suspects are faulty, several at once, and how sure that is.
// Starts from none; adds every suspect whose gain in log-posterior is above zero and the best among those it
// shares lossy paths with, removes those whose gain went, swaps one for another where that explains more, and
// learns the background anew from what is left, until no move helps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probes/diagnosis/count_model.hpp"

namespace weft {

/// Log of prior odds of a fault by kind of suspect; see count_priors.cpp.
struct CountPriors {
  std::vector<double> log_odds;    // by suspect, further evidence included
  std::vector<std::uint8_t> kind;  // by suspect: one of kSuspectKinds; faults of one kind come in crowds
};
inline constexpr std::size_t kSuspectKinds = 4;  // switch channels, host channels, nodes, sizes
/// Priors without further evidence.
CountPriors count_priors(const Fabric& fabric, const CountProblem& problem);

/// One suspect that is faulty, or may be.
struct Suspicion {
  std::uint32_t suspect = 0;
  double probability = 0;  // posterior
  double hazard = 0;       // estimate if faulty, and its 95 % interval
  double low = 0;
  double high = 0;
};

struct CountResult {
  std::vector<Suspicion> suspicions;  // likeliest first; those above a small probability
  /// Suspicions that stand for the same losses: if one is right the others are not. Indices into suspicions;
  /// each suspicion in exactly one.
  std::vector<std::vector<std::uint32_t>> rivals;
  CountModel::Learned background;
};

CountResult search_counts(const CountProblem& problem, const CountPriors& priors);

}  // namespace weft
