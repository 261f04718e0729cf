#include "probes/engine/verbs/flow_run.hpp"

#include <algorithm>
#include <chrono>

#include "probes/engine/verbs/flow_progress.hpp"
#include "probes/engine/verbs/request_qps.hpp"
#include "probes/packet/roce.hpp"
#include "topology/os/clocks.hpp"

namespace weft::verbs {
namespace {

/// Queue pairs that did not drain, each for a second: a thousand would outlast their task.
constexpr std::size_t kMaxStuck = 2;
constexpr Nanoseconds kDrain = std::chrono::milliseconds(500);
/// A flow that its device holds back, not its pace, is watched without sleeping for so long after the last
/// completion: waking up would cost more than a message takes.
constexpr Nanoseconds kAlert = std::chrono::milliseconds(2);
/// Who receives sends offers so many times the messages under way, so that its thread may be late with new
/// places without holding the flow back.
constexpr std::uint32_t kPlacesToReceive = 4;

/// What is the same for all flows of a request.
struct FlowShape {
  FlowOperation operation = FlowOperation::write;
  std::size_t message = 0;   // bytes of payload
  std::uint32_t depth = 0;   // messages under way
  std::uint32_t places = 0;  // for messages in memory, filled in turn
  packet::MessageOnWire on_wire;
};

FlowShape shape_of(const datapath::FlowRequest& request, Bytes mtu) {
  const datapath::FlowOptions& flow_options = request.flow_options;
  const bool v6 = request.peers[0].address.is_v6();
  const Bytes message = flow_options.message.value_or(
      packet::one_packet_message(flow_options.operation, request.specs[0].size, mtu, v6));
  return {.operation = flow_options.operation,
          .message = static_cast<std::size_t>(message.count()),
          .depth = flow_options.depth,
          .places = flow_options.operation == FlowOperation::send ? kPlacesToReceive * flow_options.depth
                                                                  : flow_options.depth,
          .on_wire = packet::message_on_wire(flow_options.operation, message, mtu, v6)};
}

std::optional<std::string> why_ended(const FlowProgress& flow) {
  if (flow.why_not_posted() || !flow.error()) return flow.why_not_posted();
  return rdma::describe_status(*flow.error());
}

class FlowRun {
 public:
  FlowRun(const datapath::FlowRequest& request, const FlowShape& shape)
      : request_(request), shape_(shape), chain_(shape.depth) {
    const auto volume = request.flow_options.volume;
    const auto each = static_cast<std::int64_t>(shape.on_wire.bytes);
    for (const datapath::FlowSpec& spec : request.specs)
      flows_.emplace_back(spec.rate.time_for(Bytes(each)), shape.depth,
                          volume ? std::optional((volume->count() + each - 1) / each) : std::nullopt);
  }

  Result<void> open(const std::shared_ptr<const rdma::VerbsDevice>& device,
                    const packet::BufferFactory& buffers, rdma::VerbsTraffic traffic,
                    const PeerAccess& access) {
    WEFT_TRY(auto queue,
             rdma::CompletionQueue::make(device, static_cast<int>(flows_.size() * shape_.depth + 16)));
    queue_ = std::move(queue);
    WEFT_TRY(auto slots, Slots::make(device, buffers, flows_.size() * shape_.places,
                                     Bytes(static_cast<std::int64_t>(shape_.message))));
    slots_ = std::move(slots);
    if (shape_.operation != FlowOperation::read) WEFT_TRY_VOID(fill_to_send(slots_->buffer()));
    return connect(device, traffic, access);
  }

  Result<void> run(const std::stop_token& stop) {
    const Nanoseconds start = os::steady_now();
    measured_from_ = start + request_.flow_options.warm_up;
    Nanoseconds end = measured_from_ + request_.duration;
    bool warming = request_.flow_options.warm_up > Nanoseconds(0);
    // Spread over their intervals: what all would post at once fills a queue on the way.
    for (std::size_t i = 0; i < flows_.size(); ++i)
      flows_[i].start(start + flows_[i].interval() * i / flows_.size(), warming);
    last_completion_ = start;
    Nanoseconds at = start;
    Nanoseconds meant = start;  // to be awake again by then
    for (Nanoseconds last = start; !stop.stop_requested() && at < end && !all_ended(); last = at) {
      at = os::steady_now();
      if (warming && at >= measured_from_) {
        for (FlowProgress& flow : flows_) flow.measure_from(at);
        measured_from_ = at;
        longest_gap_ = Nanoseconds(0);
        warming = false;
      } else {
        longest_gap_ = std::max(longest_gap_, at - std::max(last, meant));
      }
      if (to_move_ && !warming && at >= measured_from_ + request_.duration / 2) {
        if (const auto changed = change_labels(stop); !changed) return changed;
        end += os::steady_now() -
               at;  // their second half is as long, however long the device takes to change them
        at = os::steady_now();
      }
      Nanoseconds next = warming ? measured_from_ : end;
      for (std::uint32_t i = 0; i < flows_.size(); ++i) {
        send_due(i, at);
        next = std::min(next, flows_[i].next());
      }
      meant = next;
      const bool alert = any_held_back() && at - last_completion_ < kAlert;
      if (const auto taken = take(alert ? Nanoseconds(0) : next - at); !taken) return taken;
    }
    elapsed_ = std::max(Nanoseconds(0), os::steady_now() - measured_from_);
    return drain(stop);
  }

  std::vector<datapath::FlowTally> tallies() {
    std::vector<datapath::FlowTally> all;
    std::vector<FlowMoved> moved;
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      const FlowProgress& flow = flows_[i];
      const auto [packets, bytes] = shape_.on_wire;
      const Nanoseconds elapsed = flow.has_moved_its_volume() ? flow.last_done() - measured_from_ : elapsed_;
      all.push_back(
          {.spec = i,
           .packets = flow.due() * packets,
           .bytes = flow.due() * bytes,
           .elapsed = elapsed,
           .longest_gap = longest_gap_,
           .error = why_ended(flow),
           .of_sender = flow.why_not_posted() || (flow.error() && rdma::is_of_sender(*flow.error())),
           .chosen = flow.chosen,
           .measure = datapath::FlowMeasure{flow.counted() * packets, flow.counted() * bytes, flow.latency()},
           .moved = moved_[i],
           .refused = qps_->refusal(i)});
      moved.push_back({i, flow.done(), flow.counted() * packets, flow.counted() * bytes, elapsed});
    }
    auto differing = qps_->close(moved);
    if (shape_.operation == FlowOperation::read) differing = differing_here();
    for (const std::uint32_t spec : differing) {
      all[spec].corrupted = true;
      all[spec].error = kChangedInMemory;
    }
    return all;
  }

 private:
  Result<void> connect(const std::shared_ptr<const rdma::VerbsDevice>& device, rdma::VerbsTraffic traffic,
                       const PeerAccess& access) {
    std::vector<RequestedQp> wanted;
    // A UDP port serves both ways. A LID is one end's: that of the end that the bytes come to.
    const bool both = !device->is_infiniband();
    const bool to_us = shape_.operation == FlowOperation::read;
    for (const datapath::FlowSpec& spec : request_.specs)
      wanted.push_back(
          {spec.peer, both || !to_us ? spec.label : std::nullopt, both || to_us ? spec.label : std::nullopt});
    WEFT_TRY(auto qps, RequestQps::connect(device, *queue_, access, request_.peers,
                                           {.batch = request_.batch,
                                            .kind = rdma::QpKind::reliable,
                                            .operation = shape_.operation,
                                            .message = Bytes(static_cast<std::int64_t>(shape_.message)),
                                            .depth = shape_.places,
                                            .traffic = traffic},
                                           wanted));
    qps_ = std::move(qps);
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      if (qps_->refusal(i)) flows_[i].never_starts();
      if (qps_->refusal(i) || request_.specs[i].label || device->is_infiniband()) continue;
      WEFT_TRY(const auto port, qps_->qp(i).source_port());
      flows_[i].chosen = PathLabel(port.value());
    }
    return {};
  }

  /// Of the flows that are to go another way from now on. What is under way ends first: soft-RoCE 6.1 may
  /// never say that it has drained where an acknowledgement comes in as it is told to.
  Result<void> change_labels(const std::stop_token& stop) {
    to_move_ = false;
    if (const auto settled = settle(stop); !settled) return settled;
    std::size_t stuck = 0;
    for (std::uint32_t i = 0; i < flows_.size() && !stop.stop_requested(); ++i) {
      const auto& then = request_.specs[i].then;
      if (!then || flows_[i].error()) continue;
      const auto way = stuck < kMaxStuck ? qps_->qp(i).relabel(*then)
                                         : fail(ErrorKind::timeout, "not tried: others did not drain");
      moved_[i] = datapath::LabelChange{way.has_value(), way ? *way : way.error().message};
      stuck += !way && way.error().kind == ErrorKind::timeout ? 1 : 0;
    }
    return {};
  }

  /// What the device does not take ends that flow alone.
  void send_due(std::uint32_t spec, Nanoseconds at) {
    FlowProgress& flow = flows_[spec];
    const auto posting = flow.post_due(at);
    if (posting.count == 0) return;
    for (std::uint64_t i = 0; i < posting.count; ++i) {
      const std::uint64_t message = posting.first + i;
      const std::size_t place = message % shape_.places;
      chain_[i] = {.work = std::uint64_t{spec} << 32U | message % shape_.depth,
                   .piece = slots_->piece(std::size_t{spec} * shape_.places + place, shape_.message),
                   .remote_address = qps_->memory(spec) + place * shape_.message,
                   .remote_key = qps_->memory_key(spec),
                   .asks = flow.asks(posting, message)};
    }
    const auto posted = qps_->qp(spec).post(shape_.operation, std::span(chain_).first(posting.count));
    if (!posted) flow.not_posted(posted.error().message);
  }

  Result<void> take(Nanoseconds limit) {
    WEFT_TRY(const auto done, queue_->poll());
    if (!done.empty()) {
      const Nanoseconds at = last_completion_ = os::steady_now();
      for (const rdma::Completion& completion : done)
        flows_[completion.work >> 32U].completed(static_cast<std::uint32_t>(completion.work),
                                                 completion.status, at);
      return {};
    }
    return limit > Nanoseconds(0) ? queue_->wait(limit) : Result<void>();
  }

  /// What is under way is not counted any more, but its queue pair should not be torn down under it.
  Result<void> drain(const std::stop_token& stop) {
    for (FlowProgress& flow : flows_) flow.stop_counting();
    return settle(stop);
  }

  Result<void> settle(const std::stop_token& stop) {
    const auto under_way = [](const FlowProgress& flow) { return flow.is_under_way(); };
    for (const Nanoseconds until = os::steady_now() + kDrain;
         !stop.stop_requested() && os::steady_now() < until && std::ranges::any_of(flows_, under_way);)
      if (const auto taken = take(until - os::steady_now()); !taken) return taken;
    return {};
  }

  bool any_held_back() const {
    return std::ranges::any_of(flows_, [](const FlowProgress& flow) { return flow.is_held_back(); });
  }
  bool all_ended() const {
    return std::ranges::all_of(flows_, [](const FlowProgress& flow) { return flow.ended(); });
  }

  /// The specs of reads that brought something else than the peer's memory holds.
  std::vector<std::uint32_t> differing_here() {
    std::vector<std::uint32_t> differing;
    for (std::uint32_t i = 0; i < flows_.size(); ++i) {
      const std::uint64_t start = flow_pattern_offset(i, shape_.places, shape_.message);
      const packet::BufferRange filled{
          start, std::min<std::uint64_t>(flows_[i].done(), shape_.places) * shape_.message};
      if (!slots_->buffer().after_receive(filled)) continue;
      const auto difference = slots_->buffer().verify(filled, kFlowPattern, start);
      if (difference && difference->bytes > 0) differing.push_back(i);
    }
    return differing;
  }

  const datapath::FlowRequest& request_;
  FlowShape shape_;
  std::vector<rdma::Message> chain_;  // of one flow, to post at once
  std::unique_ptr<rdma::CompletionQueue> queue_;
  std::unique_ptr<Slots> slots_;
  std::vector<FlowProgress> flows_;  // by spec
  Nanoseconds measured_from_{};
  Nanoseconds elapsed_{};
  bool to_move_ = std::ranges::any_of(request_.specs,
                                      [](const datapath::FlowSpec& spec) { return spec.then.has_value(); });
  std::vector<std::optional<datapath::LabelChange>> moved_{request_.specs.size()};  // to their second labels
  Nanoseconds longest_gap_{};
  Nanoseconds last_completion_{};
  std::unique_ptr<RequestQps> qps_;  // they go before the queue
};

}  // namespace

Result<std::vector<datapath::FlowTally>> run_flows(const std::shared_ptr<const rdma::VerbsDevice>& device,
                                                   const packet::BufferFactory& buffers,
                                                   rdma::VerbsTraffic traffic, const PeerAccess& access,
                                                   const datapath::FlowRequest& request,
                                                   const std::stop_token& stop) {
  if (request.specs.empty()) return std::vector<datapath::FlowTally>();
  const auto no_rate = [](const datapath::FlowSpec& spec) { return spec.rate <= Bandwidth(); };
  if (std::ranges::any_of(request.specs, no_rate) || request.flow_options.depth == 0)
    return fail(ErrorKind::invalid_input, "a flow without a rate, or with no message under way");
  FlowRun run(request, shape_of(request, device->path_mtu()));
  WEFT_TRY_VOID(run.open(device, buffers, traffic, access));
  WEFT_TRY_VOID(run.run(stop));
  return run.tallies();
}

}  // namespace weft::verbs
