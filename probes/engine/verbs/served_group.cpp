#include "probes/engine/verbs/served_group.hpp"

#include <algorithm>
#include <chrono>

#include "probes/packet/roce.hpp"
#include "topology/os/clocks.hpp"

namespace weft::verbs {
namespace {

// A work number: our answer, not a probe that came in (this bit); the group's serial number; the slot.
constexpr std::uint64_t kAnswerBit = 1ULL << 63U;
constexpr std::uint32_t kSerialMask = 0x7FFFFFFF;
constexpr std::uint32_t kDeepest = 256;
constexpr std::uint64_t kMaxProbe = 4096;  // one packet of the largest MTU

/// What a queue pair takes beside its messages: a page at least for each of its two rings; and for each
/// message that it may send and receive, a work request in each. Estimates from above: one to send has up to
/// 256 bytes with a small probe copied into it, one to receive fewer.
constexpr std::uint64_t kRings = 8192;
constexpr std::uint64_t kWorkRequests = 512;

/// What is written or read comes without a work request at this end.
std::uint32_t ring_places(const ConnectQps& offer, std::size_t qps) {
  const bool posts = offer.kind != rdma::QpKind::reliable || offer.operation == FlowOperation::send;
  return posts ? static_cast<std::uint32_t>(qps * offer.depth) : 1;
}

std::size_t place_size(const ConnectQps& offer) {
  return static_cast<std::size_t>(offer.message.count()) + receive_headroom(offer.kind);
}

}  // namespace

std::size_t ServedGroup::completions(const ConnectQps& offer) {
  const std::size_t received = offer.qps.size() * offer.depth;
  if (offer.kind != rdma::QpKind::reliable) return 2 * received;  // the probes and their answers
  return offer.operation == FlowOperation::send ? received : 0;
}

std::uint64_t ServedGroup::memory(const ConnectQps& offer) {
  const std::uint64_t places = offer.qps.size() * std::uint64_t{offer.depth};
  const bool datagram = offer.kind == rdma::QpKind::datagram;
  const std::uint64_t qps = datagram ? 1 : offer.qps.size();
  const std::uint64_t each = kRings + kWorkRequests * ring_places(offer, datagram ? offer.qps.size() : 1);
  return places * (offer.kind == rdma::QpKind::reliable ? 1 : 2) * place_size(offer) + qps * each;
}

Result<void> ServedGroup::check(const ConnectQps& offer) {
  const auto most = offer.kind == rdma::QpKind::reliable ? datapath::kMaxFlowMessageBytes : kMaxProbe;
  const auto message = static_cast<std::uint64_t>(offer.message.count());
  if (!offer.qps.empty() && offer.depth > 0 && offer.depth <= kDeepest && message >= ProbeNote::kSize &&
      message <= most)
    return {};
  return fail(ErrorKind::invalid_input, "{} queue pairs of depth {} for messages of {} bytes make no sense",
              offer.qps.size(), offer.depth, message);
}

ServedGroup::ServedGroup(PortId from, const ConnectQps& offer, std::uint32_t serial)
    : from_(from),
      offer_(offer),
      serial_(serial & kSerialMask),
      message_(static_cast<std::size_t>(offer.message.count())),
      slots_in_(offer.qps.size() * offer.depth) {}

Result<std::unique_ptr<ServedGroup>> ServedGroup::make(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                                       rdma::CompletionQueue& queue,
                                                       const VerbsMemory& memory, rdma::VerbsTraffic traffic,
                                                       PortId from, const ConnectQps& offer,
                                                       std::uint32_t serial, const TallyOf& tally_of) {
  WEFT_TRY_VOID(check(offer));
  std::unique_ptr<ServedGroup> group(new ServedGroup(from, offer, serial));
  const bool probes = group->is_probes();
  const auto each = static_cast<std::int64_t>(place_size(offer));
  WEFT_TRY(auto slots, Slots::make(device, probes ? memory.probes : memory.flows,
                                   group->slots_in_ * (probes ? 2 : 1), Bytes(each)));
  group->slots_ = std::move(slots);
  group->answers_.resize(probes ? group->slots_in_ : 0);
  for (std::size_t i = 0; i < offer.qps.size(); ++i)
    WEFT_TRY_VOID(group->add(device, queue, traffic, tally_of, i));
  return group;
}

Result<void> ServedGroup::add(const std::shared_ptr<const rdma::VerbsDevice>& device,
                              rdma::CompletionQueue& queue, rdma::VerbsTraffic traffic,
                              const TallyOf& tally_of, std::size_t index) {
  const OfferedQp& offered = offer_.qps[index];
  if (qps_.empty() || !is_datagram()) {
    const auto places = ring_places(offer_, is_datagram() ? offer_.qps.size() : 1);
    WEFT_TRY(auto made, rdma::QueuePair::make(device, queue, queue, {offer_.kind, places, places}));
    qps_.push_back(std::move(made));
  }
  auto line = std::make_unique<Line>();
  line->qp = qps_.back().get();
  if (is_probes()) line->tally = &tally_of(offered.spec);
  by_spec_[offered.spec] = line.get();
  const std::size_t first_slot = index * offer_.depth;
  if (offer_.kind == rdma::QpKind::reliable && offer_.operation == FlowOperation::read)
    if (const auto filled = fill(first_slot, offered.spec); !filled) return filled;
  const rdma::QpRoute back{.to = offer_.from,
                           .qp = offered.qp,
                           .first_psn = offered.first_psn,
                           .queue_key = offer_.queue_key,
                           .label = offered.back_label,
                           .back_label = offered.label,
                           .traffic = traffic,
                           .mtu = offer_.mtu,
                           .reads = agree(device->reads(), offer_.reads, offer_.depth)};
  if (is_datagram()) {
    WEFT_TRY(auto handle, rdma::AddressHandle::make(device, back));
    line->handle = std::move(handle);
  }
  lines_.push_back(std::move(line));
  if (receives())
    for (std::size_t slot = first_slot; slot < first_slot + offer_.depth; ++slot)
      if (const auto posted = receive_into(slot); !posted) return posted;
  return is_datagram() ? Result<void>() : qps_.back()->connect(back);
}

std::vector<QpNum> ServedGroup::numbers() const {
  std::vector<QpNum> all;
  for (const auto& qp : qps_) all.push_back(qp->number());
  return all;
}

QpsConnected ServedGroup::answer() const {
  QpsConnected answer{.memory = reinterpret_cast<std::uintptr_t>(slots_->region().address()),
                      .memory_key = slots_->region().remote_key()};
  for (const auto& line : lines_) answer.qps.push_back({line->qp->number(), line->qp->first_psn()});
  if (!qps_.empty()) answer.queue_key = qps_.front()->queue_key();
  return answer;
}

/// A slot is of the line that it was made for; the queue pair of datagrams serves all of them.
Result<void> ServedGroup::receive_into(std::size_t slot) {
  return lines_[slot / offer_.depth]->qp->post_receive(
      work(slot), slots_->piece(slot, receive_headroom(offer_.kind) + message_));
}

std::uint64_t ServedGroup::work(std::size_t slot) const {
  return std::uint64_t{serial_} << 32U | static_cast<std::uint32_t>(slot);
}

void ServedGroup::take(const rdma::Completion& completion, bool waited) {
  if (completion.status != 0) return;
  const std::size_t slot = static_cast<std::uint32_t>(completion.work);
  if ((completion.work & ~kAnswerBit) != work(slot) || slot >= slots_in_) return;
  if ((completion.work & kAnswerBit) != 0) {
    const Answer& sent = answers_[slot];
    sent.line->answered = sent.sequence;
    sent.line->turnaround = completion.stamp.value_or(os::steady_now()) - sent.arrived;
    return;
  }
  if (is_probes()) echo(completion, slot, waited);
  (void)receive_into(slot);
}

/// Null: a datagram of no spec that was offered.
ServedGroup::Line* ServedGroup::line_of(std::size_t slot, const ProbeNote& note) {
  if (!is_datagram()) return lines_[slot / offer_.depth].get();
  const auto found = by_spec_.find(spec_of(note.sequence));
  return found == by_spec_.end() ? nullptr : found->second;
}

/// Which probes are missing; and of these those that found no place to be received into, for all were full
/// while the host did not run.
void ServedGroup::note_order(Line& line, std::uint32_t sequence, bool waited) {
  datapath::ReceivedTally& tally = *line.tally;
  std::size_t& waiting = is_datagram() ? waited_ : line.waited;
  const bool was_full = waiting >= (is_datagram() ? slots_in_ : offer_.depth);
  if (was_full && sequence > line.next) tally.dropped += sequence - line.next;
  waiting = waited ? waiting + 1 : 0;
  const bool in_order = sequence == line.next && tally.missing;
  line.gaps.insert(sequence);
  if (!in_order) tally.missing = line.gaps.runs();
  line.next = std::max<std::uint64_t>(line.next, std::uint64_t{sequence} + 1);
}

void ServedGroup::echo(const rdma::Completion& completion, std::size_t slot, bool waited) {
  const Nanoseconds at = os::steady_now();
  const std::size_t headroom = receive_headroom(offer_.kind);
  const bool has_note = completion.bytes >= headroom + ProbeNote::kSize;
  const ProbeNote note = has_note ? load_note(slots_->bytes(slot).subspan(headroom)) : ProbeNote{};
  Line* line = line_of(slot, note);
  if (line == nullptr) return;
  const auto bytes =
      static_cast<std::uint32_t>(completion.bytes - std::min<std::size_t>(completion.bytes, headroom));
  datapath::ReceivedTally& tally = *line->tally;
  if (tally.packets++ == 0) tally.first = at;
  tally.last = at;
  tally.bytes += bytes + static_cast<std::uint64_t>(packet::roce_headers(false) +
                                                    (is_datagram() ? packet::kDatagramHeader : 0));
  if (!has_note) return;
  note_order(*line, static_cast<std::uint32_t>(note.sequence), waited);
  const std::size_t answer = slots_in_ + slot;
  store(slots_->bytes(answer),
        {note.sequence, line->answered, static_cast<std::uint64_t>(line->turnaround.count())});
  answers_[slot] = {line, note.sequence, completion.stamp.value_or(at)};
  // A full send queue loses the answer.
  const rdma::Message message{kAnswerBit | work(slot), slots_->piece(answer, bytes)};
  const auto posted = line->handle ? line->qp->post(*line->handle, {&message, 1})
                                   : line->qp->post(FlowOperation::send, {&message, 1});
  if (!posted)
    ++tally.unsent;
  else if (waited)
    ++tally.late;
}

/// What a flow will read.
Result<void> ServedGroup::fill(std::size_t first_slot, std::uint32_t spec) {
  const packet::BufferRange place{first_slot * message_, offer_.depth * message_};
  packet::TransferBuffer& buffer = slots_->buffer();
  const auto filled = buffer.fill(place, kFlowPattern, flow_pattern_offset(spec, offer_.depth, message_));
  return filled ? buffer.before_send(place) : filled;
}

bool ServedGroup::differs(std::size_t index, const FlowMoved& flow) {
  // A flow fills its messages' places in turn.
  const packet::BufferRange filled{index * offer_.depth * message_,
                                   std::min<std::uint64_t>(flow.messages, offer_.depth) * message_};
  packet::TransferBuffer& buffer = slots_->buffer();
  if (!buffer.after_receive(filled)) return false;  // nobody saw what came
  const auto difference =
      buffer.verify(filled, kFlowPattern, flow_pattern_offset(flow.spec, offer_.depth, message_));
  return difference && difference->bytes > 0;
}

}  // namespace weft::verbs
