// What `weft trace` was asked and how it answers: paths, labels, and what queue pairs use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "cli/time_limit.hpp"
#include "probes/plan/label_map.hpp"
#include "probes/run/agent_run.hpp"
#include "probes/run/engines.hpp"
#include "probes/session/trace_script.hpp"
#include "topology/routing/switch_hash.hpp"

namespace weft::cli {

struct TraceWords {
  std::string src;
  std::string dst;
  std::uint32_t labels;
  OutputFormat output;
  session::AuditOrder audit;
  run::ExchangeBy exchange = run::ExchangeBy::coordinator;  // by which they find their peers
  std::optional<session::TimeLimit> limit = std::nullopt;
  session::MapOrder map = {};
  routing::HashOptions hash = {};  // of a simulation
};

/// The paths of a pair, in the form asked for. `map`: of its labels; null: not asked for.
void print_paths(const Fabric& fabric, const plan::PathLearner& learner, const TraceWords& words,
                 std::uint32_t tried, const plan::NicPair& pair, plan::LabelMap* map = nullptr);

/// What a script has found, or an audit; the exit status.
int answer_trace(const Fabric& fabric, session::TraceScript& script, const plan::NicPair& pair,
                 const TraceWords& words);

}  // namespace weft::cli
