// What the flows of a run's load moved, flow by flow and queue pair by queue pair, and who was slow. Values
// beside the observations: the diagnosis blames channels, this tells what a job would get.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/findings/latency_histogram.hpp"
#include "topology/model/path.hpp"

namespace weft {

/// How queue pairs move bytes. A read is posted by who receives.
enum class FlowOperation : std::uint8_t { write, read, send };
std::string_view to_string(FlowOperation operation);
std::optional<FlowOperation> parse_flow_operation(std::string_view text);

/// Which flows run at the same time: such that share no channel and cross every one in turn; many to one
/// receiver after the other; every NIC to another, over all pairs in turn.
enum class LoadPattern : std::uint8_t { links, incast, all_pairs };
std::string_view to_string(LoadPattern pattern);
std::optional<LoadPattern> parse_load_pattern(std::string_view text);

/// One queue pair, measured by who posted its work: what was acknowledged, and how long each message took
/// from its posting to its completion.
struct QpResult {
  PathLabel label;
  Bandwidth delivered;
  LatencyHistogram latency;
  std::optional<std::string> error = std::nullopt;  // it ended early
};

/// One flow of one round: over one queue pair or several that share its rate. `wanted` is what it has a right
/// to.
struct FlowResult {
  std::uint32_t round = 0;
  PortId src;
  PortId dst;
  PathSetId path;
  Bandwidth wanted;
  Bandwidth delivered;
  bool sender_stalled = false;  // the sending host held it back
  std::vector<QpResult> qps;    // none where the engine has no queue pairs
};

struct FlowResults {
  LoadPattern pattern = LoadPattern::links;
  FlowOperation operation = FlowOperation::write;
  std::vector<FlowResult> flows;
};

/// A NIC most of whose flows in one direction got much less than the others did.
struct SlowNic {
  PortId nic;
  bool receives = false;  // else it is slow in sending
  std::size_t slow = 0;   // of its flows in that direction
  std::size_t flows = 0;
};

/// Below this share of what the median flow gets of its right, a flow is slow: far outside of what pacing and
/// shared queues scatter (a few per cent in labs).
inline constexpr double kSlowFlow = 0.8;

/// The fewest NICs that explain the slow flows, worst first: each with at least two flows of which half or
/// more are slow; the flows of one that was named count against nobody else.
std::vector<SlowNic> slow_nics(std::vector<FlowResult> flows);

}  // namespace weft
