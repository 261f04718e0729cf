// diagnose: from observations to a diagnosis. Pure and deterministic: the same input gives the same answer.
// assess() gives more: the suspicions that the data leave open and the further probes that would settle them,
// for a second, targeted round; feed its observations in together with those of the first.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"
#include "topology/findings/diagnosis.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/tolerance.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

/// A suspicion the data neither confirm nor dismiss. To settle it, send `packets` packets of `size` over each
/// of `channels`, by paths that cross that channel and, where such paths exist, none of the others. Where the
/// cause is rate or congestion, run load rounds instead that offer each channel less than it passes, more,
/// and much more; where `passes` is 1, only show what it carries.
struct Hypothesis {
  std::vector<ChannelId> channels;  // ids ascending
  Cause cause = Cause::loss;
  double probability = 0;             // that the fault is real and among `channels`
  std::uint64_t packets = 0;          // over each channel; 0 where load rounds are asked for
  Bytes size;                         // of one packet; zero: any
  double passes = 1.0;                // of load: the share of the channel's rate that flows got at most
  std::vector<PathSetId> again = {};  // flows over these paths were held back by nothing known: repeat them
};

struct Assessment {
  Diagnosis diagnosis;
  std::vector<Hypothesis> hypotheses;  // likeliest first
};

/// What an assessment is for. A verdict also asks of each lossy channel what else explains the same, and
/// tells both as a set; hypotheses to settle need no more than what was found.
enum class Purpose { verdict, settling };

struct AssessOptions {
  Purpose purpose = Purpose::verdict;
  /// Added to the prior log odds of losses, in nats, where a fault is less likely than in a fabric of which
  /// nothing is known yet: one that was looked at a moment ago.
  double log_prior = 0;
  /// Whether coverage and the smallest loss that would have shown are asked for, too.
  bool reach = true;
  /// Asked now and then; from when it is true on, the search for causes of losses ends with what it has: what
  /// was not held against all that may explain the same by then is left open. Empty: it takes its time.
  std::function<bool()> is_over = {};
};
Assessment assess(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance = {},
                  const AssessOptions& options = {});

/// Findings about every channel and host that `observations` can speak of; one that they cannot is not named.
/// Coverage and verdict are those of all channels of the fabric; a caller that asked for less, or for more,
/// sets coverage (coverage_of) and then verdict = verdict_of_run(...). `is_over`: see AssessOptions.
Diagnosis diagnose(const Fabric& fabric, const Observations& observations, const Tolerance& tolerance = {},
                   const std::function<bool()>& is_over = {});

/// run_verdict() of its findings; but a run that would be degraded failed where 5 % (kFailedLoss) of all
/// packets over some channel were lost, whatever lost them and whenever.
Verdict verdict_of_run(const Fabric& fabric, const Observations& observations, const Diagnosis& diagnosis);

}  // namespace weft::diagnosis
