// RequestQps: the queue pairs of one request, one for each of its specs, connected to whatever peers these
// name.
#pragma once

#include "probes/datapath/probe_engine.hpp"
#include "probes/engine/verbs/qp_set.hpp"

namespace weft::verbs {

struct RequestedQp {
  std::uint32_t peer = 0;  // index into the request's peers
  std::optional<PathLabel> label;
  std::optional<PathLabel> back_label;
};

class RequestQps {
 public:
  /// `wanted` has one entry a spec; `like` is what they have in common, its `peer` is not looked at. `queue`
  /// takes all completions; it and the exchange outlive the queue pairs. A peer that refuses costs its own
  /// specs alone. Errors: those of QpSet::connect, with the peer's address.
  static Result<std::unique_ptr<RequestQps>> connect(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                                     rdma::CompletionQueue& queue, const PeerAccess& access,
                                                     const std::vector<datapath::Peer>& peers, QpSetSpec like,
                                                     const std::vector<RequestedQp>& wanted);

  /// Why the peer of this spec made no queue pair for it: it has none then.
  const std::optional<std::string>& refusal(std::uint32_t spec) const { return places_[spec].set->refusal(); }
  /// Of datagrams: all specs of one peer share it.
  rdma::QueuePair& qp(std::uint32_t spec) { return places_[spec].set->qp(places_[spec].index); }
  Result<void> send(std::uint32_t spec, const rdma::Message& message) {
    return places_[spec].set->send(places_[spec].index, message);
  }
  /// Of the memory that the peer keeps for this spec.
  std::uint64_t memory(std::uint32_t spec) const;
  std::uint32_t memory_key(std::uint32_t spec) const { return places_[spec].set->memory_key(); }
  /// The peer of this spec takes its times from its device.
  bool peer_stamps(std::uint32_t spec) const { return places_[spec].set->peer_stamps(); }
  /// Ends all queue pairs and tells each peer what its own moved; the specs that differ in a peer's memory. A
  /// peer that has gone says nothing: its agent is a finding of its own.
  std::vector<std::uint32_t> close(const std::vector<FlowMoved>& moved);

 private:
  struct Place {
    QpSet* set = nullptr;
    std::size_t index = 0;
  };
  RequestQps() = default;
  std::uint64_t place_size_ = 0;  // bytes that a peer keeps for one spec
  std::vector<std::unique_ptr<QpSet>> sets_;
  std::vector<Place> places_;  // by spec
};

}  // namespace weft::verbs
