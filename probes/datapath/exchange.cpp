#include "probes/datapath/exchange.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "probes/datapath/pacer.hpp"
#include "probes/packet/frame_template.hpp"

namespace weft::datapath {
namespace {

constexpr std::size_t kBatch = 32;  // frames of one send at high pace: enough to make system calls cheap
// Up to this pace every probe is sent by itself, so that its send time is its own; above it, see note_sent.
constexpr double kSinglePace = 20'000;
constexpr Nanoseconds kStopCheck = std::chrono::milliseconds(20);  // how late a stop may be seen
constexpr Nanoseconds kCatchUp = std::chrono::milliseconds(5);     // of lost time that may be sent at once
constexpr Nanoseconds kQueueFull =
    std::chrono::microseconds(200);  // before a full transmit queue is tried again

Pacer pacer_of(const Pace& pace, Nanoseconds now) {
  if (pace.packets_per_second <= 0) return Pacer(Nanoseconds(0), kBatch, now);
  const auto interval = Nanoseconds(static_cast<std::int64_t>(1e9 / pace.packets_per_second));
  const auto late = interval.count() == 0 ? kBatch : static_cast<std::size_t>(kCatchUp / interval);
  return Pacer(interval, std::clamp<std::size_t>(late, 1, kBatch), now);
}

std::size_t batch_of(const Pace& pace) {
  const bool slow = pace.packets_per_second > 0 && pace.packets_per_second <= kSinglePace;
  return slow ? 1 : kBatch;
}

void set_fields(packet::ProbeRoute& route, const PacketFields& fields) {
  route.traffic_class = fields.traffic_class.value_or(route.traffic_class);
  route.queue_pair = fields.queue_pair.value_or(route.queue_pair);
  route.flow_label = fields.flow_label.value_or(route.flow_label);
}

class Exchange {
 public:
  Exchange(const ExchangeContext& context, const ExchangeRequest& request, ProbeBook& book)
      : context_(context),
        request_(request),
        book_(book),
        pacer_(pacer_of(request.pace, context.port.now())),
        batch_(batch_of(request.pace)),
        authenticator_(context.secrets.key),
        answers_(context.nic, context.secrets),
        identification_(packet::first_identification(request.batch, context.secrets.key)) {}

  Result<void> run(const std::stop_token& stop) {
    const auto deadline = context_.port.now() + request_.limit;
    while (!stop.stop_requested() && context_.port.now() < deadline) {
      if (auto result = send_due(); !result) return result;
      const auto until = wait_until();
      if (!until) return {};
      if (auto result = take_answers(*until); !result) return result;
    }
    return {};
  }

 private:
  void fill(std::size_t wanted) {
    while (queued_ < wanted) {
      const auto probe = book_.next();
      if (!probe) return;
      if (request_.next_hops[probe->peer])
        queue_[queued_++] = *probe;
      else
        book_.refused(*probe);
    }
  }

  /// The first ones of the queue are settled.
  void forget(std::size_t probes) {
    std::copy(queue_.begin() + probes, queue_.begin() + queued_, queue_.begin());
    queued_ -= probes;
  }

  ByteSpan compose(std::size_t slot, Nanoseconds now) {
    const auto& probe = queue_[slot];
    const bool v6 = context_.nic.address.is_v6();
    const auto size = packet::probe_size(probe.size, v6);
    packet::ProbeRoute route{.from_mac = context_.nic.mac,
                             .to_mac = *request_.next_hops[probe.peer],
                             .from = context_.nic.address,
                             .to = request_.peers[probe.peer].address,
                             .label = probe.label,
                             .hop_limit = probe.hop_limit,
                             .traffic_class = context_.nic.traffic_class,
                             .identification = static_cast<std::uint16_t>(identification_ + slot)};
    if (probe.fields != nullptr) set_fields(route, *probe.fields);
    const packet::ProbeHeader header{.kind = packet::ProbeKind::probe,
                                     .back_label = probe.back_label,
                                     .run = context_.secrets.run,
                                     .batch = request_.batch,
                                     .nic = context_.self,
                                     .spec = probe.spec,
                                     .sequence = probe.sequence,
                                     .sent_at = now};
    return frames_[slot].write(route, header, authenticator_, first_psn_of(header), size);
  }

  std::uint32_t first_psn_of(const packet::ProbeHeader& header) {
    if (header.spec >= first_psns_.size()) first_psns_.resize(header.spec + std::size_t{1});
    auto& first = first_psns_[header.spec];
    if (!first) first = first_psn(header, context_.secrets.key);
    return *first;
  }

  Result<void> send_due() {
    const auto now = context_.port.now();
    const auto wanted = std::min(pacer_.allowance(now), batch_);
    blocked_ = false;
    if (wanted == 0) return {};
    fill(wanted);
    const auto count = std::min(wanted, queued_);
    if (count == 0) return {};
    std::array<ByteSpan, kBatch> batch;
    for (std::size_t i = 0; i < count; ++i) batch[i] = compose(i, now);
    const auto before = context_.port.now();
    WEFT_TRY(const auto outcome, context_.port.send(std::span(batch).first(count)));
    note_sent(outcome, before, context_.port.now());
    blocked_ = outcome.taken < count && !outcome.too_large;
    return {};
  }

  /// A batch goes out one frame after the other: each is taken to have left when its share of the call was
  /// over.
  void note_sent(const SendOutcome& outcome, Nanoseconds before, Nanoseconds after) {
    const auto taken = outcome.taken;
    const auto share = (after - before) / std::max<std::int64_t>(1, static_cast<std::int64_t>(taken));
    auto left = before;
    for (std::size_t i = 0; i < taken; ++i, left += share) book_.sent(queue_[i], identification_++, left);
    if (taken > 0) last_sent_ = after;
    pacer_.sent(outcome.taken);
    if (outcome.too_large) book_.refused(queue_[taken]);
    forget(taken + (outcome.too_large ? 1 : 0));
  }

  /// How long to wait for answers before the next step; nothing when all is done.
  std::optional<Nanoseconds> wait_until() {
    const auto now = context_.port.now();
    if (blocked_) return now + kQueueFull;
    fill(1);
    if (queued_ > 0) return std::min(pacer_.next(), now + kStopCheck);
    // Of a peer that is late the echoes come one after the other: as long as they do, more may come. Who asks
    // for the answers allows for some seconds more.
    const auto latest = std::clamp(last_answer_, last_sent_, last_sent_ + kMaxLate);
    const auto over = last_sent_ + kMaxLate + request_.pace.answer_wait;
    const auto end = book_.awaits_silent_peer() ? over : latest + request_.pace.answer_wait;
    if (!book_.settled() && now < end) return std::min(end, now + kStopCheck);
    // What came while this host did not let the prober run is unread, and no loss.
    if (!book_.settled() && (looked_ < end || (came_ && now < over))) return now;
    return book_.again() ? std::optional(now) : std::nullopt;
  }

  Result<void> take_answers(Nanoseconds until) {
    looked_ = context_.port.now();
    WEFT_TRY(const auto arrivals, context_.port.receive(until));
    came_ = !arrivals.empty();
    bool any = false;
    for (const auto& arrival : arrivals)
      if (const auto answer = answers_.read(arrival.frame)) {
        book_.answered(*answer, arrival.at);
        any = true;
      }
    if (any) last_answer_ = context_.port.now();
    return {};
  }

  const ExchangeContext& context_;
  const ExchangeRequest& request_;
  ProbeBook& book_;
  Pacer pacer_;
  std::size_t batch_;
  packet::Authenticator authenticator_;  // of what is sent
  AnswerReader answers_;
  std::array<Outgoing, kBatch> queue_;
  std::size_t queued_ = 0;
  std::array<packet::FrameTemplate, kBatch> frames_;
  std::vector<std::optional<std::uint32_t>> first_psns_;  // by spec, from its first probe on
  std::uint16_t identification_;
  Nanoseconds last_sent_{};
  Nanoseconds last_answer_{};
  Nanoseconds looked_{};  // when the port was asked last what came
  bool came_ = false;     // it had something
  bool blocked_ = false;
};

}  // namespace

Result<void> exchange(const ExchangeContext& context, const ExchangeRequest& request, ProbeBook& book,
                      std::stop_token stop) {
  return Exchange(context, request, book).run(stop);
}

}  // namespace weft::datapath
