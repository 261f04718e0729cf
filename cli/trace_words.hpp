// What the command line of `weft trace` says, and the agents that follow from it.
#pragma once

#include <optional>
#include <string>

#include "cli/options.hpp"
#include "cli/time_limit.hpp"
#include "probes/run/cluster.hpp"
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
  bool every_path = false;                         // src and dst are lists
  bool fields = false;                             // which of them move the path
  std::optional<std::string> html = std::nullopt;  // of an audit: a file for the report
};

/// Error: usage, naming the option and what it takes.
Result<TraceWords> read_trace_words(const po::variables_map& values);

/// The two NICs. Errors: not_found, usage.
Result<plan::NicPair> find_pair(const Fabric& fabric, const TraceWords& words);

/// Queue pairs to audit need their engine; else each NIC is traced from as it can send.
void choose_engine(run::AgentSite& site, const TraceWords& words);

/// The agents of a live fabric that a trace needs, as the options say.
Result<run::Cluster> cluster_to_trace(const po::variables_map& values, const TraceWords& words,
                                      const files::FabricFile& file, const std::vector<NodeId>& hosts);

}  // namespace weft::cli
