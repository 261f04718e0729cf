// What the command line of `weft trace` says.
#pragma once

#include <optional>
#include <string>

#include "cli/options.hpp"
#include "cli/time_limit.hpp"
#include "probes/run/agent_options.hpp"
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
  routing::HashOptions hash = {};                        // of a simulation
  std::optional<run::EngineKind> engine = std::nullopt;  // raw or dpdk; absent: auto
  std::string dpdk_args = {};
  bool every_path = false;  // src and dst are lists
};

/// Error: usage, naming the option and what it takes.
Result<TraceWords> read_trace_words(const po::variables_map& values);

}  // namespace weft::cli
