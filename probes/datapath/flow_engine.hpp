// FlowEngine: the seam for load. Sends flows of real-size packets for a stated time, all at once, each paced
// to its own rate; or transfers of a stated size, as fast as their acknowledgements come. What arrived is
// counted by the peer's responder (ProbeEngine::received of the same batch).
#pragma once

#include <optional>
#include <string>

#include "probes/datapath/probe_engine.hpp"
#include "topology/findings/flow_result.hpp"
#include "topology/model/path.hpp"

namespace weft::datapath {

/// Of a live queue pair.
struct LabelChange {
  bool done = false;
  std::string how;  // by which way; or why not
  friend bool operator==(const LabelChange&, const LabelChange&) = default;
};

/// What became of a queue pair with default settings: the label that its device chose, and where it was to
/// move to another while it lived, whether it did.
struct AuditedQp {
  PathLabel chosen;                                  // by its device, as it was connected
  std::optional<PathLabel> then = std::nullopt;      // it was to move there
  std::optional<LabelChange> change = std::nullopt;  // absent: not tried
  std::optional<std::string> error = std::nullopt;   // what it said as it broke
  bool has_moved() const { return change && change->done && !error; }
};

struct FlowSpec {
  std::uint32_t peer = 0;
  std::optional<PathLabel> label;  // absent: the device's own choice; only queue pairs have one
  Bandwidth rate;                  // of IP packets
  Bytes size = Bytes(4096);        // of one IP packet
  /// Half way through the flow moves to this label, its queue pair alive; only queue pairs can.
  std::optional<PathLabel> then = std::nullopt;
  /// Of the echoes of its probes (TripProbes); absent: no probes go beside it.
  std::optional<PathLabel> back_label = std::nullopt;
  friend bool operator==(const FlowSpec&, const FlowSpec&) = default;
};
inline constexpr std::uint32_t kDeepestFlow = 64;
inline constexpr std::uint64_t kMaxFlowMessageBytes = 1 << 20;
inline constexpr std::uint64_t kMaxVolume = 1ULL << 50;
/// How queue pairs move the bytes of flows. Engines of raw packets know only the default.
struct FlowOptions {
  FlowOperation operation = FlowOperation::write;  // read: the peer's bytes come here, with the same label
  std::optional<Bytes> message = std::nullopt;     // of one; absent: what fills one packet of FlowSpec::size
  std::uint32_t depth = 8;                         // messages of a flow under way
  Nanoseconds warm_up{};                           // before `duration`, left out of all figures
  std::optional<Bytes> volume = std::nullopt;  // of a flow, in IP packets: it ends then, or with `duration`
  friend bool operator==(const FlowOptions&, const FlowOptions&) = default;
};
/// A few small probes beside the flows of a request, each over the label of its flow: what round trips take
/// under load. Engines that cannot send them send none, and tell of none.
struct TripProbes {
  BatchId batch;                  // of their own: receivers count them apart from the flows
  double packets_per_second = 0;  // of the whole request
  friend bool operator==(const TripProbes&, const TripProbes&) = default;
};
struct FlowRequest {
  RunId run;
  BatchId batch;  // one load round
  std::vector<Peer> peers;
  std::vector<FlowSpec> specs;
  Nanoseconds duration = std::chrono::milliseconds(500);
  FlowOptions flow_options = {};
  std::optional<TripProbes> trips = std::nullopt;
  friend bool operator==(const FlowRequest&, const FlowRequest&) = default;
};
/// What the queue pair of a flow acknowledged.
struct FlowMeasure {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;    // of IP packets
  LatencyHistogram messages;  // from posting to completion, of those whose completion was asked for
  friend bool operator==(const FlowMeasure&, const FlowMeasure&) = default;
};
/// What became of the probes beside a flow. No count of losses: where a flow fills a queue, they are lost as
/// its own packets are, which the flow tells better.
struct TripTally {
  std::uint32_t sent = 0;
  std::uint32_t answered = 0;
  std::optional<RttQuantiles> rtt = std::nullopt;  // absent: none was answered
  friend bool operator==(const TripTally&, const TripTally&) = default;
};
struct FlowTally {
  std::uint32_t spec = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;    // of IP packets, handed to the wire
  Nanoseconds elapsed{};      // from the first packet to the last
  Nanoseconds longest_gap{};  // that no pace asked for: a sender that was not scheduled shows here
  std::optional<std::string> error = std::nullopt;  // what its queue pair said as it broke
  bool of_sender = false;  // the error is of the device that posts it: it says nothing of the path
  std::optional<PathLabel> chosen = std::nullopt;  // by the device, where the spec left the label to it
  std::optional<FlowMeasure> measure = std::nullopt;
  std::optional<LabelChange> moved = std::nullopt;    // to its second label
  std::optional<std::string> refused = std::nullopt;  // why the peer gave it no queue pair; nothing was sent
  std::optional<Nanoseconds> started = std::nullopt;  // on the engine's own clock; absent: it does not tell
  /// It arrived by every checksum's word, and the receiver's memory holds something else: a fault of a host.
  bool corrupted = false;
  std::optional<TripTally> trips = std::nullopt;  // absent: no probes went beside it
  friend bool operator==(const FlowTally&, const FlowTally&) = default;
};

/// A QP of a job: so many packets are to reach the peer, whatever is lost on the way.
struct TransferSpec {
  std::uint32_t peer = 0;
  PathLabel label;
  PathLabel back_label;       // of the acknowledgements
  std::uint32_t packets = 0;  // to be delivered
  friend bool operator==(const TransferSpec&, const TransferSpec&) = default;
};
/// All specs at once, until the peers have acknowledged everything or `limit` is over, of which connecting
/// queue pairs is a part. At most `window` packets of the request are on their way at a time, in equal parts
/// for the QPs that still send (each may always have one): what is too fast for its path waits for its
/// acknowledgements.
struct TransferRequest {
  RunId run;
  BatchId batch;
  std::vector<Peer> peers;
  std::vector<TransferSpec> specs;
  Bytes size = Bytes(4096);  // of one IP packet
  std::uint32_t window = 8;
  Nanoseconds limit = std::chrono::seconds(30);
  friend bool operator==(const TransferRequest&, const TransferRequest&) = default;
};
struct TransferTally {
  std::uint32_t spec = 0;
  /// Packets, those sent again included; a device that does that by itself does not tell of them.
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;  // acknowledged; fewer than asked for: the limit was over, or `error`
  Nanoseconds elapsed{};        // from when the first packet could go to the last acknowledgement
  /// From the start of the request, queue pairs not connected yet, to the first acknowledgement.
  std::optional<Nanoseconds> first = std::nullopt;
  /// From the start of the request until all of it was over: whoever has the answer knows how long ago it
  /// began.
  std::optional<Nanoseconds> took = std::nullopt;
  /// Queue pairs only: why the peer gave none, what it said as it broke, or that memory holds something else.
  std::optional<std::string> error = std::nullopt;
  friend bool operator==(const TransferTally&, const TransferTally&) = default;
};

class FlowEngine {
 public:
  virtual ~FlowEngine() = default;
  virtual Result<std::vector<FlowTally>> run(const FlowRequest& request, std::stop_token stop) = 0;
  /// One tally for each spec, in their order. Engines that cannot say so.
  virtual Result<std::vector<TransferTally>> transfer(const TransferRequest& request, std::stop_token stop);
};

inline Result<std::vector<TransferTally>> FlowEngine::transfer(const TransferRequest&, std::stop_token) {
  return fail(ErrorKind::not_supported, "this engine delivers no transfers");
}

}  // namespace weft::datapath
