#include "probes/engine/verbs/ping_run.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "probes/datapath/pacer.hpp"
#include "probes/datapath/ping_book.hpp"
#include "probes/engine/verbs/ping_times.hpp"
#include "probes/engine/verbs/request_qps.hpp"
#include "probes/packet/roce.hpp"
#include "topology/os/clocks.hpp"

namespace weft::verbs {
namespace {

/// A work number is our probe's (this bit, spec, sequence) or an echo's (the spec whose place it is, slot).
constexpr std::uint64_t kSendBit = 1ULL << 63U;
constexpr std::size_t kBurst = 8;  // probes that a sender who came late may catch up with at once
/// After a probe it looks on without sleeping for so long: waking up would count as delay.
constexpr Nanoseconds kAlert = std::chrono::microseconds(500);
constexpr Nanoseconds kSendPatience = std::chrono::microseconds(50);

/// Of all specs together. A peer is probed by about as many specs as it probes others by, and its completion
/// queue must hold all of these twice (VerbsResponder): a fabric whose every NIC probes every other stays
/// within it.
constexpr std::size_t kMaxUnderWay = 4096;
constexpr std::size_t kMinUnderWay = 2;  // per spec

/// Probes under way per spec: many small ones, few large ones, so that memory stays small.
std::uint32_t depth_for(std::size_t payload, std::size_t specs) {
  const std::size_t most = payload <= 512 ? 64 : 16;
  return static_cast<std::uint32_t>(std::clamp(kMaxUnderWay / specs, kMinUnderWay, most));
}

/// Where no way back is known the plan repeats the label of the way there, and that LID is the peer's.
bool is_ours(PathLabel label, const rdma::PortAddress& port) {
  return label.value() >= port.lids().base.value() && label.value() < port.lids().end();
}

/// One spec: its queue pair and its share of the memory.
struct Line {
  std::size_t first_slot = 0;  // depth slots to receive into, then depth to send from
  std::uint32_t posted = 0;
  PingTimes times;
  std::uint32_t busy = 0;  // sends not yet completed
};

class PingRun {
 public:
  PingRun(const datapath::PingRequest& request, rdma::QpKind kind, std::size_t payload)
      : request_(request),
        kind_(kind),
        headroom_(receive_headroom(kind)),
        payload_(payload),
        depth_(depth_for(payload, request.specs.size())),
        silent_(request.peers.size()) {
    for (const datapath::PingSpec& spec : request.specs)
      order_end_ = std::max(order_end_, std::uint64_t{spec.count} * request.specs.size());
  }

  Result<void> open(const std::shared_ptr<const rdma::VerbsDevice>& device,
                    const packet::BufferFactory& buffers, rdma::VerbsTraffic traffic,
                    const PeerAccess& access) {
    const auto entries =
        static_cast<int>(std::min<std::size_t>(2 * request_.specs.size() * depth_ + 16, 32'000));
    WEFT_TRY(auto queue, rdma::CompletionQueue::make(device, entries));
    queue_ = std::move(queue);
    WEFT_TRY(auto slots, Slots::make(device, buffers, 2 * request_.specs.size() * depth_,
                                     Bytes(static_cast<std::int64_t>(headroom_ + payload_))));
    slots_ = std::move(slots);
    for (std::size_t i = 0; i < request_.specs.size(); ++i)
      lines_.push_back(
          {.first_slot = 2 * i * depth_, .times = PingTimes(request_.specs[i].count, !queue_->stamps())});
    return connect(device, traffic, access);
  }

  Result<void> run(const std::stop_token& stop) {
    const Nanoseconds interval =
        request_.pace.packets_per_second > 0
            ? Nanoseconds(static_cast<std::int64_t>(1e9 / request_.pace.packets_per_second))
            : Nanoseconds(0);
    // Who looks all the time measures the network, not the queue that its own catching up would make.
    datapath::Pacer pacer(interval, request_.busy_poll ? 1 : kBurst, os::steady_now());
    while (!stop.stop_requested() && next_ < order_end_) {
      const Nanoseconds at = os::steady_now();
      auto allowed = at < turn_ ? 0 : pacer.allowance(at);
      for (; allowed > 0 && next_ < order_end_; --allowed) {
        if (const auto sent = send_next(); !sent) return sent;
        pacer.sent(1);
      }
      if (const auto taken = take(std::max(Nanoseconds(0), pacer.next() - at)); !taken) return taken;
    }
    return take_the_last(stop);
  }

  std::vector<datapath::PingTally> tallies() const {
    std::vector<datapath::PingTally> all;
    for (std::uint32_t i = 0; i < lines_.size(); ++i) {
      const PingTimes& times = lines_[i].times;
      datapath::PingTally tally{.spec = i,
                                .sent = times.sent_count(),
                                .answered = times.answered_count(),
                                .rtt = times.network(),
                                .window = times.window(),
                                .unanswered = times.unanswered(),
                                .late = times.late_count()};
      tally.refused = qps_->refusal(i);
      const auto prober = times.prober();
      const auto responder = times.responder();
      const auto whole = times.whole();
      if (prober && responder && whole)
        tally.delays =
            datapath::PingDelays{*prober, *responder, *whole, queue_->stamps() && qps_->peer_stamps(i)};
      all.push_back(tally);
    }
    return all;
  }

 private:
  Result<void> connect(const std::shared_ptr<const rdma::VerbsDevice>& device, rdma::VerbsTraffic traffic,
                       const PeerAccess& access) {
    std::vector<RequestedQp> wanted;
    for (const datapath::PingSpec& spec : request_.specs) {
      wanted.push_back({spec.peer, spec.label, std::nullopt});
      if (device->is_infiniband() ? is_ours(spec.back_label, device->address())
                                  : spec.back_label.value() != 0)
        wanted.back().back_label = spec.back_label;
      else if (!device->is_infiniband())  // a UDP port serves both ways, a LID is one end's
        wanted.back().back_label = spec.label;
    }
    WEFT_TRY(auto qps, RequestQps::connect(device, *queue_, access, request_.peers,
                                           {.batch = request_.batch,
                                            .kind = kind_,
                                            .busy_poll = request_.busy_poll,
                                            .message = Bytes(static_cast<std::int64_t>(payload_)),
                                            .depth = depth_,
                                            .traffic = traffic},
                                           wanted));
    qps_ = std::move(qps);
    for (std::uint32_t spec = 0; spec < lines_.size(); ++spec)
      for (std::size_t slot = lines_[spec].first_slot;
           !qps_->refusal(spec) && slot < lines_[spec].first_slot + depth_; ++slot)
        if (const auto posted = post_receive(spec, slot); !posted) return posted;
    return {};
  }

  Result<void> post_receive(std::uint32_t spec, std::size_t slot) {
    return qps_->qp(spec).post_receive(spec_number(spec, slot), slots_->piece(slot, headroom_ + payload_));
  }

  /// Specs take turns, so that a burst of loss hits all alike.
  Result<void> send_next() {
    while (next_ < order_end_) {
      const auto spec = static_cast<std::uint32_t>(next_ % request_.specs.size());
      const auto sequence = static_cast<std::uint32_t>(next_ / request_.specs.size());
      ++next_;
      if (sequence < request_.specs[spec].count && !qps_->refusal(spec)) return send(spec, sequence);
    }
    return {};
  }

  Result<void> send(std::uint32_t spec, std::uint32_t sequence) {
    Line& line = lines_[spec];
    if (line.busy >= depth_) return {};  // the device does not keep up: this one is not sent
    const std::size_t slot = line.first_slot + depth_ + sequence % depth_;
    newest_ = spec_number(spec, sequence);
    store(slots_->bytes(slot), ProbeNote{.sequence = newest_});
    const rdma::Message probe{kSendBit | newest_, slots_->piece(slot, payload_)};
    const Nanoseconds at = os::steady_now();
    if (const auto posted = qps_->send(spec, probe); !posted) return posted;
    line.times.posted(sequence, at);
    silent_.note_sent(request_.specs[spec].peer);
    alert_until_ = at + kAlert;
    if (in_turn_) turn_ = at + request_.pace.answer_wait;
    ++line.busy;
    // The device sends within microseconds: its completion, seen at once, is T2.
    for (const Nanoseconds until = os::steady_now() + kSendPatience;
         line.busy > 0 && os::steady_now() < until;)
      if (const auto polled = poll(); !polled) return polled;
    return {};
  }

  Result<void> poll() {
    WEFT_TRY(const auto done, queue_->poll(request_.busy_poll ? rdma::kBusyLooks : 1));
    taken_ = done.size();
    if (taken_ == 0) return {};
    const Nanoseconds at = os::steady_now();
    for (const rdma::Completion& completion : done) take(completion, at);
    if (not_sent_)
      return fail(ErrorKind::internal, "its device does not send probes: {}",
                  rdma::describe_status(*not_sent_));
    return {};
  }

  void take(const rdma::Completion& completion, Nanoseconds at) {
    const std::uint32_t spec = spec_of(completion.work & ~kSendBit);
    if ((completion.work & kSendBit) != 0) {
      Line& line = lines_[spec];
      --line.busy;
      const auto sequence = static_cast<std::uint32_t>(completion.work);
      if (completion.status == 0) {
        line.times.sent(sequence, completion.stamp.value_or(at));
        return;
      }
      // Nobody acknowledges probes: whatever the status, it never left.
      line.times.not_sent(sequence);
      if (rdma::is_of_sender(completion.status)) not_sent_ = completion.status;
      return;
    }
    if (completion.status != 0) return;
    const std::size_t slot = static_cast<std::uint32_t>(completion.work);
    take_echo(spec, load_note(slots_->bytes(slot).subspan(headroom_)), completion.stamp.value_or(at));
    (void)post_receive(spec, slot);
  }

  /// `place`: the spec that it was received for. Datagrams come to whichever place of their peer is next.
  void take_echo(std::uint32_t place, const ProbeNote& note, Nanoseconds at) {
    const auto is_ours = [&](std::uint32_t spec) {
      return spec == place || (kind_ == rdma::QpKind::datagram && spec < lines_.size() &&
                               request_.specs[spec].peer == request_.specs[place].peer);
    };
    const std::uint32_t spec = spec_of(note.sequence);
    if (!is_ours(spec)) return;
    if (note.sequence == newest_) turn_ = {};
    const Nanoseconds seen = os::steady_now();
    if (lines_[spec].times.answered(static_cast<std::uint32_t>(note.sequence), at, seen)) {
      silent_.note_answer(request_.specs[spec].peer);
      last_answer_ = seen;
    }
    if (note.previous_delay > 0 && spec_of(note.previous) == spec)
      lines_[spec].times.turned_around(static_cast<std::uint32_t>(note.previous),
                                       Nanoseconds(static_cast<std::int64_t>(note.previous_delay)));
  }

  Result<void> take(Nanoseconds limit) {
    if (const auto polled = poll(); !polled) return polled;
    if (taken_ > 0 || limit <= Nanoseconds(0)) return {};
    if (request_.busy_poll) return {};
    if (os::steady_now() < alert_until_) return std::this_thread::yield(), Result<void>();
    return queue_->wait(limit);
  }

  /// Of a peer that is late the echoes come one after the other, and one that fell silent may not run: more
  /// may come. What came while this host did not run is unread, and no loss.
  Result<void> take_the_last(const std::stop_token& stop) {
    const Nanoseconds sent = os::steady_now();
    const Nanoseconds most = sent + datapath::kMaxLate;
    for (bool has_looked = false; !stop.stop_requested() && !settled();) {
      const Nanoseconds now = os::steady_now();
      const Nanoseconds latest = silent_.any() ? most : std::clamp(last_answer_, sent, most);
      const Nanoseconds left = latest + request_.pace.answer_wait - now;
      const bool more = taken_ > 0 && now < most + request_.pace.answer_wait;
      if (left <= Nanoseconds(0) && has_looked && !more) break;
      if (const auto taken = take(std::max(Nanoseconds(0), left)); !taken) return taken;
      has_looked = left <= Nanoseconds(0);
    }
    return {};
  }

  bool settled() const {
    return std::ranges::all_of(lines_, [](const Line& line) { return line.times.settled(); });
  }

  const datapath::PingRequest& request_;
  rdma::QpKind kind_;
  std::size_t headroom_;
  std::size_t payload_;
  std::uint32_t depth_;
  std::unique_ptr<rdma::CompletionQueue> queue_;
  std::unique_ptr<Slots> slots_;
  std::vector<Line> lines_;
  datapath::SilentPeers silent_;
  Nanoseconds last_answer_{};  // when it was seen
  std::uint64_t next_ = 0;     // probes in turn, up to order_end_; some specs have fewer turns
  std::uint64_t order_end_ = 0;
  std::size_t taken_ = 0;
  Nanoseconds alert_until_{};
  bool in_turn_ = request_.busy_poll && request_.pace.packets_per_second <= 0;
  Nanoseconds turn_{};               // of the next probe: not before
  std::uint64_t newest_ = 0;         // the probe sent last
  std::optional<int> not_sent_;      // with this status of our own device
  std::unique_ptr<RequestQps> qps_;  // they go before the queue
};

}  // namespace

Result<std::vector<datapath::PingTally>> run_pings(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                                   rdma::QpKind kind, const packet::BufferFactory& buffers,
                                                   rdma::VerbsTraffic traffic, const PeerAccess& access,
                                                   const datapath::PingRequest& request,
                                                   const std::stop_token& stop) {
  if (request.specs.empty()) return std::vector<datapath::PingTally>();
  // One packet a probe: what is larger than the path's MTU would be several, and any lost one would be its
  // loss.
  std::int64_t size = 0;
  for (const datapath::PingSpec& spec : request.specs) size = std::max(size, spec.size.count());
  const auto headers = packet::roce_headers(request.peers[0].address.is_v6()) +
                       (kind == rdma::QpKind::datagram ? packet::kDatagramHeader : 0);
  const auto payload = std::clamp<std::int64_t>(size - headers, ProbeNote::kSize, device->path_mtu().count());
  PingRun run(request, kind, static_cast<std::size_t>(payload));
  WEFT_TRY_VOID(run.open(device, buffers, traffic, access));
  WEFT_TRY_VOID(run.run(stop));
  return run.tallies();
}

}  // namespace weft::verbs
