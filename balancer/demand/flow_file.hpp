// The reader of flow files: one JSON object a line, {"src": "host1", "dst": "host2/p1", "bytes": 1000000},
// with "phase": 2 where flows follow one another (from 1; without it, phase 1). A line that cannot be used is
// reported and left out; the rest is read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balancer/demand/demand.hpp"

namespace weft::demand {

/// More than this in one flow is taken for a mistake (1 PB: five hours at 400 Gb/s).
inline constexpr std::int64_t kMaxFlowBytes = 1'000'000'000'000'000;
inline constexpr std::size_t kMaxPhases = 4096;

struct RefusedFlow {
  std::string flow;  // "line 3: host1 -> host99"
  std::string why;
};

struct FlowFile {
  Demand demand;
  std::vector<RefusedFlow> refused;
};

FlowFile read_flows(const Fabric& fabric, std::string_view text);

}  // namespace weft::demand
