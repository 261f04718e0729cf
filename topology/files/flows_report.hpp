// What a run's load moved, with names instead of ids: the member `flows` of `weft.diagnosis/1`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/files/json_text.hpp"
#include "topology/findings/flow_result.hpp"

namespace weft {
class Fabric;
}

namespace weft::files {

struct FlowReport {
  std::uint32_t round = 0;
  std::string src;  // NICs
  std::string dst;
  std::vector<std::string> path;  // channels; none where several paths are possible
  Bandwidth wanted;
  Bandwidth delivered;
  bool sender_stalled = false;
  std::vector<QpResult> qps;
};

/// One NIC as receiver of all its flows. Incast: what they brought together; all-pairs: one on average.
struct ReceiverReport {
  std::string nic;
  std::size_t senders = 0;
  Bandwidth wanted;
  Bandwidth delivered;
  std::string slowest;       // of its senders
  double slowest_share = 0;  // of what that one has a right to
};

struct SlowNicReport {
  std::string nic;
  bool receives = false;
  std::size_t slow = 0;
  std::size_t flows = 0;
};

struct FlowsReport {
  LoadPattern pattern = LoadPattern::links;
  FlowOperation operation = FlowOperation::write;
  std::vector<FlowReport> flows;
  std::vector<ReceiverReport> receivers;  // of incast and all-pairs
  std::vector<SlowNicReport> slow;
  LatencyHistogram latency;  // of the timed messages of all queue pairs
};

FlowsReport flows_report(const Fabric& fabric, const PathTable& paths, const FlowResults& results);

/// The value of the member.
void put_flows(JsonText& out, const FlowsReport& report);

}  // namespace weft::files
