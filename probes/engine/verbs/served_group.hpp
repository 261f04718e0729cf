// ServedGroup: the far end of one offer of queue pairs. Echoes and counts probes; gives flows memory to write
// into, to read from or to send to.
#pragma once

#include <functional>
#include <map>

#include "probes/datapath/flow_engine.hpp"
#include "probes/datapath/responder.hpp"
#include "probes/engine/verbs/qp_messages.hpp"
#include "probes/engine/verbs/slots.hpp"

namespace weft::verbs {

class ServedGroup {
 public:
  /// The tally of a spec's probes; it stays where it is.
  using TallyOf = std::function<datapath::ReceivedTally&(std::uint32_t spec)>;

  /// How many may complete at once.
  static std::size_t completions(const ConnectQps& offer);
  /// Bytes of memory that it needs.
  static std::uint64_t memory(const ConnectQps& offer);
  /// Error: invalid_input: an offer that makes no sense.
  static Result<void> check(const ConnectQps& offer);
  /// `queue` outlives it. `serial` marks its work: a completion that was taken off the queue before a group
  /// went may be of a number that a queue pair of the next group has. Errors: those of check, what the device
  /// refused.
  static Result<std::unique_ptr<ServedGroup>> make(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                                   rdma::CompletionQueue& queue, const VerbsMemory& memory,
                                                   rdma::VerbsTraffic traffic, PortId from,
                                                   const ConnectQps& offer, std::uint32_t serial,
                                                   const TallyOf& tally_of);

  PortId from() const { return from_; }
  const ConnectQps& offer() const { return offer_; }
  std::vector<QpNum> numbers() const;
  /// What the asking side must know of it.
  QpsConnected answer() const;
  /// One completion of its queue pairs; one that is not of its work is passed over. `waited`: it may have
  /// waited for a host that did not run.
  void take(const rdma::Completion& completion, bool waited = false);
  /// Of the flow that has this place in the offer: what it filled in memory is not what was sent.
  bool differs(std::size_t index, const FlowMoved& flow);

 private:
  struct Line {  // of one spec
    rdma::QueuePair* qp = nullptr;
    std::unique_ptr<rdma::AddressHandle> handle;  // of datagrams
    datapath::ReceivedTally* tally = nullptr;     // of probes
    std::uint64_t answered = 0;                   // the probe before, and how long its answer took
    Nanoseconds turnaround{};
    datapath::SequenceGaps gaps;
    std::uint64_t next = 0;  // one beyond the highest sequence number that came
    std::size_t waited = 0;  // probes that waited for the host, since it ran last
  };
  struct Answer {  // on its way
    Line* line = nullptr;
    std::uint64_t sequence = 0;
    Nanoseconds arrived{};
  };
  ServedGroup(PortId from, const ConnectQps& offer, std::uint32_t serial);
  bool is_datagram() const { return offer_.kind == rdma::QpKind::datagram; }
  bool is_probes() const { return offer_.kind != rdma::QpKind::reliable; }
  bool receives() const { return is_probes() || offer_.operation == FlowOperation::send; }
  Result<void> add(const std::shared_ptr<const rdma::VerbsDevice>& device, rdma::CompletionQueue& queue,
                   rdma::VerbsTraffic traffic, const TallyOf& tally_of, std::size_t index);
  Result<void> fill(std::size_t first_slot, std::uint32_t spec);
  Result<void> receive_into(std::size_t slot);
  void echo(const rdma::Completion& completion, std::size_t slot, bool waited);
  void note_order(Line& line, std::uint32_t sequence, bool waited);
  Line* line_of(std::size_t slot, const ProbeNote& note);

  std::uint64_t work(std::size_t slot) const;

  PortId from_;
  ConnectQps offer_;
  std::uint32_t serial_;
  std::size_t message_;
  std::size_t slots_in_;
  std::unique_ptr<Slots> slots_;  // as many as messages may come in, then those of answers
  std::vector<std::unique_ptr<rdma::QueuePair>> qps_;
  std::vector<std::unique_ptr<Line>> lines_;  // in the order of the offer
  std::map<std::uint32_t, Line*> by_spec_;
  std::vector<Answer> answers_;  // by slot
  std::size_t waited_ = 0;       // datagrams of all specs, as Line::waited
};

}  // namespace weft::verbs
