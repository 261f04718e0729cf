// Repeat offenders: parts of a class that fail far more often than the others. How many there are and how
// much worse they are is fitted to all counts of the class (empirical Bayes); each part then has a rate and a
// probability of its own. A part with two failures is often one that had bad luck.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/files/rates.hpp"

namespace weft::reliability {

struct PartHistory {
  std::uint64_t events = 0;
  Hours watched{};
};

/// Two kinds of parts, by maximum likelihood; `offenders` is none where one kind explains the counts as well
/// (Bayes' information criterion).
struct OffenderFit {
  double rate = 0;  // of the others, an hour
  files::Offenders offenders;
};
/// Without an event, or with no part watched: rate 0.
OffenderFit fit_offenders(const std::vector<PartHistory>& parts);

struct PartPosterior {
  double rate = 0;      // an hour, mean
  double offender = 0;  // probability
};
PartPosterior posterior_of(const OffenderFit& fit, const PartHistory& part);

}  // namespace weft::reliability
