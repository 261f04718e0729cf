// Load rounds in which flows share channels as those of jobs do: many to one receiver, or every NIC to
// another. Each flow offers what it has a right to: its part of every channel of its path, divided evenly, so
// that no channel is offered more than it carries and a flow that gets less was held back by somebody.
#pragma once

#include "probes/plan/load_plan.hpp"
#include "probes/plan/trace_plan.hpp"
#include "topology/findings/flow_result.hpp"

namespace weft::plan {

/// How the flows of a round get their labels. Assigned: each that whose path meets the fewest flows of the
/// round, by turns until no two share a channel or nothing is gained. Random: any known one, as switches that
/// hash leave it to chance, by the seed.
enum class LabelChoice { assigned, random };

/// The pairs whose paths a pattern needs, beside those of the map: all of a fabric of at most
/// kMaxPatternNics NICs; none in a larger one, whose patterns run over the pairs that the map has.
std::vector<NicPair> pattern_pairs(const Fabric& fabric, LoadPattern pattern,
                                   const std::vector<PortId>& without);
inline constexpr std::size_t kMaxPatternNics = 64;  // 4,032 pairs

/// Rounds over the reached routes of one known path; at most `most_rounds`, chosen by seed. Incast: a round a
/// receiver, all its known partners send. All-pairs: in each round every NIC sends to one other and receives
/// of one. Links: none, see load_plan.
std::vector<LoadRound> plan_pattern_rounds(const Fabric& fabric, const PathLearner& learner,
                                           LoadPattern pattern, std::size_t most_rounds, std::uint64_t seed,
                                           LabelChoice labels = LabelChoice::assigned);

}  // namespace weft::plan
