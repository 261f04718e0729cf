// QpSet: the queue pairs of one request towards one peer, connected, each with its label; and the peer's news
// of them.
#pragma once

#include "probes/datapath/peer_exchange.hpp"
#include "probes/engine/verbs/peer_addresses.hpp"
#include "probes/engine/verbs/qp_messages.hpp"
#include "probes/engine/verbs/slots.hpp"

namespace weft::verbs {

/// How peers are asked, and what they say of their addresses is held against.
struct PeerAccess {
  datapath::PeerExchange& exchange;
  const PeerAddresses& addresses;
};

struct WantedQp {
  std::uint32_t spec = 0;
  std::optional<PathLabel> label;
  std::optional<PathLabel> back_label;
};

struct QpSetSpec {
  BatchId batch;
  PortId peer;
  rdma::QpKind kind = rdma::QpKind::reliable;
  FlowOperation operation = FlowOperation::write;
  bool busy_poll = false;
  Bytes message;
  std::uint32_t depth = 16;  // places for messages
  rdma::VerbsTraffic traffic;
  std::uint8_t timeout_exponent = rdma::QpRoute{}.timeout_exponent;
  /// Of the peer, to each question: hundreds of queue pairs on an emulated machine take a second.
  Nanoseconds answer_within = std::chrono::seconds(10);
};

class QpSet {
 public:
  /// `sends`, `receives` and the exchange outlive it. A peer that refuses, does not answer or is not where it
  /// says gives a set without queue pairs that says why. Errors: what our own device refused.
  static Result<std::unique_ptr<QpSet>> connect(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                                rdma::CompletionQueue& sends, rdma::CompletionQueue& receives,
                                                const PeerAccess& peers, const QpSetSpec& spec,
                                                const std::vector<WantedQp>& wanted);
  /// Closes what is still open.
  ~QpSet();
  QpSet(const QpSet&) = delete;
  QpSet& operator=(const QpSet&) = delete;

  /// Why the peer made no queue pairs; there are none then.
  const std::optional<std::string>& refusal() const { return refusal_; }
  /// Of datagrams: the one of all.
  rdma::QueuePair& qp(std::size_t index) { return *qps_[handles_.empty() ? index : 0]; }
  /// A message of its own to the peer, by the label of this one.
  Result<void> send(std::size_t index, const rdma::Message& message);
  std::uint64_t memory() const { return peer_.memory; }
  std::uint32_t memory_key() const { return peer_.memory_key; }
  bool peer_stamps() const { return peer_.stamps; }
  /// Ends the queue pairs, those too that a peer made which answered too late, and tells the peer what they
  /// moved; the specs that differ in its memory.
  Result<std::vector<std::uint32_t>> close(std::vector<FlowMoved> moved);

 private:
  QpSet(datapath::PeerExchange& exchange, const QpSetSpec& spec) : exchange_(exchange), spec_(spec) {}
  Result<ConnectQps> make_ours(const std::shared_ptr<const rdma::VerbsDevice>& device,
                               rdma::CompletionQueue& sends, rdma::CompletionQueue& receives,
                               const std::vector<WantedQp>& wanted);
  Result<void> ask_peer(const rdma::VerbsDevice& device, const PeerAddresses& addresses,
                        const ConnectQps& offer);
  Result<void> add_handle(const std::shared_ptr<const rdma::VerbsDevice>& device, const rdma::QpRoute& route);
  static std::unique_ptr<QpSet> refused(std::unique_ptr<QpSet> set, const std::string& why);
  datapath::PeerExchange& exchange_;
  QpSetSpec spec_;
  std::vector<std::unique_ptr<rdma::QueuePair>> qps_;
  std::vector<std::unique_ptr<rdma::AddressHandle>> handles_;  // of datagrams
  QpsConnected peer_;
  rdma::ReadLimits reads_;   // agreed with it
  bool made_there_ = false;  // the peer may have queue pairs for this set: close() ends them
  bool answers_ = false;     // the peer did, when it was asked for them
  std::optional<std::string> refusal_;
  bool closed_ = false;
};

}  // namespace weft::verbs
