// ProbeEngine: the seam for small datagrams. One engine serves one NIC of one host; an adapter (raw sockets,
// DPDK, verbs, the simulator) implements it. Calls block until done, until the deadline, or until a stop is
// requested; an engine is used by one thread at a time, except that a Responder runs beside it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"
#include "topology/base/units.hpp"
#include "topology/findings/observation.hpp"
#include "topology/model/packet_fields.hpp"
#include "topology/model/path.hpp"

namespace weft::datapath {

/// By which queue pairs probes are asked to go: datagrams (UD), unreliable connections (UC), or whichever of
/// them the device labels.
enum class ProbeTransport : std::uint8_t { by_device, datagram, connected };

/// "auto", "ud" or "uc".
std::string_view to_string(ProbeTransport wish);
std::optional<ProbeTransport> parse_probe_transport(std::string_view text);

/// The far end of a probe. `nic` is the coordinator's id of that NIC and is only echoed back.
struct Peer {
  PortId nic;
  IpAddress address;
  friend bool operator==(const Peer&, const Peer&) = default;
};

/// How fast, how long: shared by all requests.
struct Pace {
  double packets_per_second = 1000;                          // over the whole request; 0: as fast as it goes
  Nanoseconds answer_wait = std::chrono::milliseconds(200);  // after the last packet
  friend bool operator==(const Pace&, const Pace&) = default;
};

/// How much longer than that echoes are waited for that may come late.
inline constexpr Nanoseconds kMaxLate = std::chrono::seconds(2);
/// An echo is late that leaves so long after its probe came: half of the shortest time that one is waited
/// for.
inline constexpr Nanoseconds kLateEcho = std::chrono::milliseconds(100);

/// TTL-limited probes of the flow (source NIC, peer, label): hops first_hop..max_hops; the answer to the hop
/// beyond the last switch is the peer's own echo.
struct TraceSpec {
  std::uint32_t peer = 0;  // index into TraceRequest::peers
  PathLabel label;
  std::uint8_t max_hops = 5;
  std::uint8_t first_hop = 1;
  bool to_peer = true;  // the last of these hops is the peer's place; else a switch's, and no echo is due
  PacketFields fields = {};
  /// Hops asked. Precondition: first_hop is one of 1..max_hops.
  std::uint32_t hops() const { return max_hops - first_hop + 1u; }
  friend bool operator==(const TraceSpec&, const TraceSpec&) = default;
};
struct TraceRequest {
  RunId run;
  BatchId batch;
  std::vector<Peer> peers;
  std::vector<TraceSpec> specs;
  std::uint8_t attempts = 2;  // a hop that does not answer is asked this often in all
  Pace pace;
  friend bool operator==(const TraceRequest&, const TraceRequest&) = default;
};
struct HopAnswer {
  std::uint32_t spec = 0;  // index into TraceRequest::specs
  std::uint8_t hop = 0;    // from 1
  bool is_peer = false;    // the echo of the peer itself, not a switch
  IpAddress from;          // the interface that the probe came in by
  Nanoseconds rtt{};
  friend bool operator==(const HopAnswer&, const HopAnswer&) = default;
};

/// Echoed probes: `count` packets of `size` with `label`; the peer counts them and answers with `back_label`.
struct PingSpec {
  std::uint32_t peer = 0;
  PathLabel label;
  PathLabel back_label;
  std::uint32_t count = 100;
  Bytes size = Bytes(128);  // of the IP packet; the echo has the same size
  friend bool operator==(const PingSpec&, const PingSpec&) = default;
};
struct PingRequest {
  RunId run;
  BatchId batch;
  std::vector<Peer> peers;
  std::vector<PingSpec> specs;
  Pace pace;
  /// Queue pairs only. Both ends look for packets without ever sleeping: no waking up in the figures, at the
  /// price of a core each. At a pace of 0, each probe goes as the one before it is answered, or `answer_wait`
  /// after it.
  bool busy_poll = false;
  /// InfiniBand alone: the management agent of the port that a label names is asked, which answers by itself;
  /// nobody counts there, and the answer goes to the first LID of the one who asks. The one peer of such a
  /// request is the asking NIC itself: the port need not be one of the run.
  bool by_management = false;
  friend bool operator==(const PingRequest&, const PingRequest&) = default;
};
/// The hosts' own shares of a round trip, told apart from the network's by the timestamps of both ends.
struct PingDelays {
  RttQuantiles prober;
  RttQuantiles responder;
  RttQuantiles whole;        // as the prober's program sees it, hosts included
  bool by_hardware = false;  // stamped by the device; else by the host's clock as completions were seen
  friend bool operator==(const PingDelays&, const PingDelays&) = default;
};
struct PingTally {
  std::uint32_t spec = 0;
  std::uint32_t sent = 0;      // really handed to the wire
  std::uint32_t answered = 0;  // distinct echoes that came back
  std::uint32_t corrupt = 0;   // echoes with a wrong ICRC
  std::optional<RttQuantiles> rtt = std::nullopt;
  std::optional<PingDelays> delays = std::nullopt;  // with it, `rtt` is the network's share alone
  /// Why the peer would not be probed; nothing was sent then. Queue pairs only.
  std::optional<std::string> refused = std::nullopt;
  /// From the first packet to the last, on the engine's own clock; absent: it does not tell.
  std::optional<TimeWindow> window = std::nullopt;
  /// The packets of which no echo came, not even a damaged one (loss_runs.hpp); empty where there are some:
  /// their order is not known.
  std::vector<LossRun> unanswered = {};
  /// Frames that came for this NIC's prober while the request ran and that its host dropped unread, of all
  /// specs together: the same in each tally of a request.
  std::uint64_t dropped = 0;
  std::uint32_t late = 0;  // of the answered, those that took kLateEcho and more
  friend bool operator==(const PingTally&, const PingTally&) = default;
};

/// What a responder received of one batch from one source NIC with one spec, counted without repeats.
struct ReceivedTally {
  BatchId batch;
  PortId from;             // the sender's NIC id, as carried (and authenticated) in the probe
  std::uint32_t spec = 0;  // the sender's spec index, as carried
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;    // of IP packets
  std::uint64_t corrupt = 0;  // wrong ICRC: counted here only
  Nanoseconds first{};        // receive time of the first and the last packet, on the responder's clock
  Nanoseconds last{};
  /// The packets that did not come, up to the last that did (loss_runs.hpp); absent: not known.
  std::optional<std::vector<LossRun>> missing = std::nullopt;
  /// Frames of this batch that reached the host and that it dropped unread, of all streams together: the same
  /// in each tally of a batch.
  std::uint64_t dropped = 0;
  /// Echoes of `packets` that this host's own kernel or device did not take to send.
  std::uint64_t unsent = 0;
  /// Echoes of `packets` that left kLateEcho and more after their probe came: this host did not run.
  std::uint64_t late = 0;
  friend bool operator==(const ReceivedTally&, const ReceivedTally&) = default;
};

/// Whether a count of packets and one of their bytes can both be true: so many bytes in so many IP packets of
/// 1 to 65,535 each.
constexpr bool fit(std::uint64_t bytes, std::uint64_t packets) {
  constexpr std::uint64_t kMaxPacketBytes = 65'535;
  return packets == 0 ? bytes == 0 : bytes >= packets && (bytes - 1) / kMaxPacketBytes < packets;
}

class ProbeEngine {
 public:
  virtual ~ProbeEngine() = default;
  virtual Result<std::vector<HopAnswer>> trace(const TraceRequest& request, std::stop_token stop) = 0;
  virtual Result<std::vector<PingTally>> ping(const PingRequest& request, std::stop_token stop) = 0;
  /// What the responder of this NIC received in `batch`; it goes on counting.
  virtual Result<std::vector<ReceivedTally>> received(BatchId batch) = 0;
};

/// Traces where the peer's RDMA device takes the probes itself and nothing echoes them: the switches alone,
/// whose answers are enough. A spec whose last switch answered counts as having reached its peer: there is
/// one cable left, which no label can choose and which pings will cross.
Result<std::vector<HopAnswer>> trace_without_echo(ProbeEngine& tracer, TraceRequest request,
                                                  std::stop_token stop);

}  // namespace weft::datapath
