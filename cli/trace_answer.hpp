// How `weft trace` answers: paths, labels, and what queue pairs use.
#pragma once

#include <cstdint>

#include "cli/trace_words.hpp"
#include "probes/plan/label_map.hpp"
#include "probes/session/trace_script.hpp"

namespace weft::cli {

/// The paths of a pair, in the form asked for. `map`: of its labels; null: not asked for.
void print_paths(const Fabric& fabric, const plan::PathLearner& learner, const TraceWords& words,
                 std::uint32_t tried, const plan::NicPair& pair, plan::LabelMap* map = nullptr);

/// What a script has found, or an audit; the exit status.
int answer_trace(const Fabric& fabric, session::TraceScript& script, const plan::NicPair& pair,
                 const TraceWords& words);

}  // namespace weft::cli
