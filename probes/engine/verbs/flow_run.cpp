#include "probes/engine/verbs/flow_run.hpp"

#include <algorithm>
#include <chrono>

#include "probes/engine/verbs/request_qps.hpp"
#include "probes/wire/flow_words.hpp"
#include "probes/wire/pacer.hpp"

namespace weft {
namespace {

constexpr std::uint32_t kDepth = 8;       // messages under way: 32 KB, less than a shallow switch port queues
constexpr std::size_t kWriteHeader = 16;  // RETH
constexpr Nanoseconds kDrain = std::chrono::milliseconds(500);

Nanoseconds now() { return std::chrono::steady_clock::now().time_since_epoch(); }

struct Flow {
  std::size_t first_slot = 0;
  Pacer pacer;
  std::uint64_t due = 0;  // messages its rate allowed
  std::uint64_t posted = 0;
  std::uint64_t acknowledged = 0;
  Nanoseconds last_acknowledged{};
  std::optional<int> error = std::nullopt;
  std::optional<PathLabel> chosen = std::nullopt;
};

class FlowRun {
 public:
  FlowRun(const FlowRequest& request, std::size_t payload, std::size_t packet)
      : request_(request), payload_(payload), packet_(packet) {}

  Result<void> open(const std::shared_ptr<const VerbsDevice>& device, const BufferFactory& buffers,
                    VerbsTraffic traffic, PeerExchange& exchange) {
    auto queue = CompletionQueue::make(device, static_cast<int>(request_.specs.size() * kDepth + 16));
    if (!queue) return pass_on(queue);
    queue_ = std::move(*queue);
    const auto message = Bytes(static_cast<std::int64_t>(payload_));
    auto slots = Slots::make(device, buffers, request_.specs.size() * kDepth, message);
    if (!slots) return pass_on(slots);
    slots_ = std::move(*slots);
    // Every message carries what stands in its place: it is written once.
    const BufferRange all{0, static_cast<std::uint64_t>(slots_->buffer().size().count())};
    if (const auto filled = slots_->buffer().fill(all, kFlowPattern, 0); !filled) return filled;
    if (const auto ready = slots_->buffer().before_send(all); !ready) return ready;
    for (std::size_t i = 0; i < request_.specs.size(); ++i) {
      flows_.push_back({.first_slot = i * kDepth, .pacer = Pacer(Nanoseconds(0), kDepth, Nanoseconds(0))});
    }
    return connect(device, traffic, exchange);
  }

  Result<void> run(const std::stop_token& stop) {
    const Nanoseconds start = now();
    const Nanoseconds end = start + request_.duration;
    for (Flow& flow : flows_) flow.pacer = Pacer(interval(flow), kDepth, start);
    Nanoseconds last = start;
    while (!stop.stop_requested() && now() < end) {
      longest_gap_ = std::max(longest_gap_, now() - last);
      last = now();
      Nanoseconds next = end;
      for (std::uint32_t i = 0; i < flows_.size(); ++i) {
        if (const auto sent = send_due(i); !sent) return sent;
        next = std::min(next, flows_[i].pacer.next());
      }
      if (const auto taken = take(next - now()); !taken) return taken;
    }
    elapsed_ = now() - start;
    // What is under way is not counted any more, but its queue pair should not be torn down under it.
    for (const Nanoseconds until = now() + kDrain; !stop.stop_requested() && now() < until && under_way();)
      if (const auto taken = take(until - now(), false); !taken) return taken;
    return {};
  }

  std::vector<FlowTally> tallies() {
    std::vector<FlowTally> all;
    std::vector<FlowMoved> moved;
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      const Flow& flow = flows_[i];
      all.push_back({.spec = i,
                     .packets = flow.due,
                     .bytes = flow.due * packet_,
                     .elapsed = elapsed_,
                     .longest_gap = longest_gap_,
                     .error = flow.error ? std::optional(describe_status(*flow.error)) : std::nullopt,
                     .chosen = flow.chosen});
      moved.push_back({i, flow.acknowledged, flow.acknowledged * packet_, elapsed_});
    }
    for (const std::uint32_t spec : qps_->close(moved))
      all[spec].error =
          fmt::format("{}: what was written into memory passed every checksum and is not what was sent",
                      kSilentCorruption);
    return all;
  }

 private:
  Nanoseconds interval(const Flow& flow) const {
    const auto& spec = request_.specs[flow.first_slot / kDepth];
    return Nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(packet_) * 8e9 / spec.rate.bits_per_second()));
  }

  Result<void> connect(const std::shared_ptr<const VerbsDevice>& device, VerbsTraffic traffic,
                       PeerExchange& exchange) {
    std::vector<RequestedQp> wanted;
    for (const FlowSpec& spec : request_.specs) wanted.push_back({spec.peer, spec.label, spec.label});
    auto qps = RequestQps::connect(device, *queue_, exchange, request_.peers,
                                   {.batch = request_.batch,
                                    .kind = QpKind::reliable,
                                    .message = Bytes(static_cast<std::int64_t>(payload_)),
                                    .depth = kDepth,
                                    .traffic = traffic},
                                   wanted);
    if (!qps) return pass_on(qps);
    qps_ = std::move(*qps);
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      if (request_.specs[i].label || device->is_infiniband()) continue;
      const auto port = qps_->qp(i).source_port();
      if (!port) return pass_on(port);
      flows_[i].chosen = PathLabel(port->value());
    }
    return {};
  }

  Result<void> send_due(std::uint32_t spec) {
    Flow& flow = flows_[spec];
    for (auto allowed = flow.pacer.allowance(now()); allowed > 0; --allowed) {
      flow.pacer.sent(1);
      ++flow.due;
    }
    while (!flow.error && flow.posted < flow.due && flow.posted - flow.acknowledged < kDepth) {
      const std::size_t slot = flow.posted % kDepth;
      const auto posted =
          qps_->qp(spec).post(Operation::write, spec, slots_->piece(flow.first_slot + slot, payload_),
                              qps_->memory(spec) + slot * payload_, qps_->memory_key(spec));
      if (!posted) return posted;
      ++flow.posted;
    }
    return {};
  }

  Result<void> take(Nanoseconds limit, bool counts = true) {
    const auto done = queue_->poll();
    if (!done) return pass_on(done);
    for (const Completion& completion : *done) {
      Flow& flow = flows_[completion.work];
      if (completion.status != 0) {
        if (!flow.error) flow.error = completion.status;
        continue;
      }
      if (counts)
        ++flow.acknowledged;
      else
        ++drained_;
      flow.last_acknowledged = now();
    }
    if (!done->empty() || limit <= Nanoseconds(0)) return {};
    return queue_->wait(limit);
  }

  bool under_way() const {
    std::uint64_t open = 0;
    for (const Flow& flow : flows_)
      if (!flow.error) open += flow.posted - flow.acknowledged;
    return open > drained_;
  }

  const FlowRequest& request_;
  std::size_t payload_;
  std::size_t packet_;  // IP bytes of one message
  std::unique_ptr<CompletionQueue> queue_;
  std::unique_ptr<Slots> slots_;
  std::vector<Flow> flows_;
  Nanoseconds elapsed_{};
  Nanoseconds longest_gap_{};
  std::uint64_t drained_ = 0;
  std::unique_ptr<RequestQps> qps_;  // they go before the queue
};

}  // namespace

Result<std::vector<FlowTally>> run_flows(const std::shared_ptr<const VerbsDevice>& device,
                                         const BufferFactory& buffers, VerbsTraffic traffic,
                                         PeerExchange& exchange, const FlowRequest& request,
                                         const std::stop_token& stop) {
  if (request.specs.empty()) return std::vector<FlowTally>();
  const std::size_t headers = headers_of(request.peers[0].address.is_v6()) + kWriteHeader;
  const auto wanted = static_cast<std::size_t>(request.specs[0].size.count());
  const auto mtu = static_cast<std::size_t>(device->path_mtu().count());
  const std::size_t payload = std::clamp<std::size_t>(wanted > headers ? wanted - headers : 0, 64, mtu);
  FlowRun run(request, payload, payload + headers);
  if (const auto opened = run.open(device, buffers, traffic, exchange); !opened) return pass_on(opened);
  if (const auto done = run.run(stop); !done) return pass_on(done);
  return run.tallies();
}

}  // namespace weft
