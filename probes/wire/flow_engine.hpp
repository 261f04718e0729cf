// FlowEngine: the seam for load. Sends flows of real-size packets for a stated time, all at once, each paced
// to its own rate. What arrived is counted by the peer's responder (ProbeEngine::received of the same batch).
#pragma once

#include "probes/wire/probe_engine.hpp"

namespace weft {

struct FlowSpec {
  std::uint32_t peer = 0;
  PathLabel label;
  Bandwidth rate;            // of IP packets
  Bytes size = Bytes(4096);  // of one IP packet
  friend bool operator==(const FlowSpec&, const FlowSpec&) = default;
};
struct FlowRequest {
  RunId run;
  BatchId batch;  // one load round
  std::vector<Peer> peers;
  std::vector<FlowSpec> specs;
  Nanoseconds duration = std::chrono::milliseconds(500);
  friend bool operator==(const FlowRequest&, const FlowRequest&) = default;
};
struct FlowTally {
  std::uint32_t spec = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;    // of IP packets, handed to the wire
  Nanoseconds elapsed{};      // from the first packet to the last
  Nanoseconds longest_gap{};  // between two packets: a sender that was not scheduled shows here
  friend bool operator==(const FlowTally&, const FlowTally&) = default;
};

class FlowEngine {
 public:
  virtual ~FlowEngine() = default;
  virtual Result<std::vector<FlowTally>> run(const FlowRequest& request, std::stop_token stop) = 0;
};

}  // namespace weft
