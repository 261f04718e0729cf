// What two engines say to each other (over PeerExchange) before queue pairs are connected and after they were
// used. Values, and their JSON. Pure.
#pragma once

#include <variant>
#include <vector>

#include "probes/rdma/queue_pair.hpp"

namespace weft::verbs {

/// One queue pair of the asking side and what the other side must make to match.
struct OfferedQp {
  std::uint32_t spec = 0;  // of the request it serves
  QpNum qp;
  std::uint32_t first_psn = 0;
  std::optional<PathLabel> back_label;  // for the queue pair of the other side; absent: the device chooses
  std::optional<PathLabel> label = std::nullopt;  // of this side's
  friend bool operator==(const OfferedQp&, const OfferedQp&) = default;
};
/// "Make queue pairs to match these": of probes (unreliable or datagram, echoed and counted) or of flows
/// (reliable). Datagrams of all specs share one queue pair at each end: it stands with every one of them.
struct ConnectQps {
  BatchId batch;
  rdma::QpKind kind = rdma::QpKind::reliable;
  FlowOperation operation = FlowOperation::write;  // of flows
  bool busy_poll = false;                          // of probes: PingRequest::busy_poll
  rdma::PortAddress from;
  Bytes mtu;
  Bytes message;            // largest message
  std::uint32_t depth = 0;  // places for messages, filled in turn; no more are under way
  rdma::ReadLimits reads;   // of the asking side
  std::vector<OfferedQp> qps;
  std::uint32_t queue_key = 0;  // of datagrams to the asking side
  friend bool operator==(const ConnectQps&, const ConnectQps&) = default;
};
struct MatchingQp {
  QpNum qp;
  std::uint32_t first_psn = 0;
  friend bool operator==(const MatchingQp&, const MatchingQp&) = default;
};
struct QpsConnected {
  rdma::PortAddress from;
  std::uint64_t memory = 0;  // where flows may write or read; one area for all
  std::uint32_t memory_key = 0;
  std::vector<MatchingQp> qps;  // in the order of the offer
  bool stamps = false;          // what it says of its own delay is by its device's clock
  rdma::ReadLimits reads;
  std::uint32_t queue_key = 0;  // of datagrams to it
  friend bool operator==(const QpsConnected&, const QpsConnected&) = default;
};
/// What one flow moved, as acknowledged by the responder's device: messages ever, which says what of its
/// places is filled; packets, bytes of these and their time, those of the warm-up left out.
struct FlowMoved {
  std::uint32_t spec = 0;
  std::uint64_t messages = 0;
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
  Nanoseconds elapsed{};
  friend bool operator==(const FlowMoved&, const FlowMoved&) = default;
};
/// "I am done with the queue pairs of this batch."
struct CloseQps {
  BatchId batch;
  std::vector<FlowMoved> moved;  // of flows
  friend bool operator==(const CloseQps&, const CloseQps&) = default;
};

using QpQuestion = std::variant<ConnectQps, CloseQps>;

std::string encode(const QpQuestion& question);
std::string encode(const QpsConnected& answer);
/// The answer to CloseQps: the specs of flows that differ in memory from what was sent.
std::string encode_differing(const std::vector<std::uint32_t>& specs);
Result<std::vector<std::uint32_t>> decode_differing(std::string_view text);
/// Errors: invalid_input, naming what does not fit; at most kMaxGroupQps queue pairs.
Result<QpQuestion> decode_qp_question(std::string_view text);
Result<QpsConnected> decode_qps_connected(std::string_view text);

inline constexpr std::size_t kMaxGroupQps = 4096;

}  // namespace weft::verbs
