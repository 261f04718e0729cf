#include "probes/engine/verbs/transfer_run.hpp"

#include <algorithm>
#include <chrono>

#include "probes/datapath/peer_routes.hpp"
#include "probes/engine/verbs/request_qps.hpp"
#include "probes/packet/roce.hpp"
#include "topology/os/clocks.hpp"

namespace weft::verbs {
namespace {

/// Packets of one request in memory, under way or not: 16 MB of the largest, here and where they arrive.
constexpr std::uint32_t kMaxPlaces = 4096;
/// 268 ms (QpRoute), about what SendWindow waits: a peer that is not scheduled for a while has lost nothing.
/// What is lost between others is asked for at once.
constexpr std::uint8_t kTimeoutExponent = 16;

/// What became of the packets of one spec.
struct Transfer {
  std::uint32_t packets = 0;  // to be delivered
  std::uint32_t posted = 0;
  std::uint32_t delivered = 0;
  Nanoseconds first{};  // acknowledgement, from when all were connected
  Nanoseconds last{};
  std::optional<std::string> error;  // it delivers no more
  bool runs() const { return !error && delivered < packets; }
};

class TransferRun {
 public:
  TransferRun(const datapath::TransferRequest& request, Bytes message, std::uint32_t depth)
      : request_(request), message_(message), depth_(depth), asked_(os::steady_now()), chain_(depth) {
    for (const datapath::TransferSpec& spec : request.specs) transfers_.push_back({.packets = spec.packets});
  }

  Result<void> open(const std::shared_ptr<const rdma::VerbsDevice>& device,
                    const packet::BufferFactory& buffers, rdma::VerbsTraffic traffic,
                    const PeerAccess& access) {
    const std::size_t places = transfers_.size() * depth_;
    WEFT_TRY(queue_, rdma::CompletionQueue::make(device, static_cast<int>(places + 16)));
    WEFT_TRY(slots_, Slots::make(device, buffers, places, message_));
    WEFT_TRY_VOID(fill_to_send(slots_->buffer()));
    std::vector<RequestedQp> wanted;
    for (const datapath::TransferSpec& spec : request_.specs)
      wanted.push_back({spec.peer, spec.label, spec.back_label});
    WEFT_TRY(qps_, RequestQps::connect(device, *queue_, access, request_.peers,
                                       {.batch = request_.batch,
                                        .kind = rdma::QpKind::reliable,
                                        .operation = FlowOperation::write,
                                        .message = message_,
                                        .depth = depth_,
                                        .traffic = traffic,
                                        .timeout_exponent = kTimeoutExponent,
                                        .answer_within = answer_limit()},
                                       wanted));
    for (std::uint32_t i = 0; i < transfers_.size(); ++i) transfers_[i].error = qps_->refusal(i);
    return {};
  }

  Result<void> run(const std::stop_token& stop) {
    start_ = os::steady_now();
    const Nanoseconds deadline = asked_ + request_.limit;
    for (Nanoseconds at = start_; at < deadline && !stop.stop_requested(); at = os::steady_now()) {
      const auto running = static_cast<std::uint32_t>(std::ranges::count_if(transfers_, &Transfer::runs));
      if (running == 0) break;
      const std::uint32_t share = std::clamp(request_.window / running, 1U, depth_);
      for (std::uint32_t i = 0; i < transfers_.size(); ++i) post(i, share);
      WEFT_TRY_VOID(take(deadline - at));
    }
    return {};
  }

  std::vector<datapath::TransferTally> tallies(const packet::MessageOnWire& on_wire) {
    std::vector<datapath::TransferTally> all;
    std::vector<FlowMoved> moved;
    for (std::uint32_t i = 0; i < transfers_.size(); ++i) {
      const Transfer& transfer = transfers_[i];
      all.push_back({.spec = i,
                     .sent = transfer.posted,
                     .delivered = transfer.delivered,
                     .elapsed = transfer.last,
                     .error = transfer.error});
      if (transfer.delivered > 0) all.back().first = transfer.first + (start_ - asked_);
      moved.push_back({i, transfer.delivered, transfer.delivered * on_wire.packets,
                       transfer.delivered * on_wire.bytes, transfer.last});
    }
    for (const std::uint32_t spec : qps_->close(moved)) all[spec].error = kChangedInMemory;
    for (datapath::TransferTally& tally : all) tally.took = os::steady_now() - asked_;
    return all;
  }

 private:
  /// However many peers are silent, connecting to all takes no longer than the request may, nor does closing.
  Nanoseconds answer_limit() const {
    const auto peers = static_cast<std::int64_t>(std::max<std::size_t>(request_.peers.size(), 1));
    return std::min<Nanoseconds>(QpSetSpec{}.answer_within, request_.limit / peers);
  }
  /// As many packets of one spec as may be under way. What the device does not take ends that spec.
  void post(std::uint32_t spec, std::uint32_t share) {
    Transfer& transfer = transfers_[spec];
    const std::uint32_t under_way = transfer.posted - transfer.delivered;
    if (!transfer.runs() || under_way >= share) return;
    const std::uint32_t count = std::min(share - under_way, transfer.packets - transfer.posted);
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::size_t place = (transfer.posted + i) % depth_;
      const auto bytes = static_cast<std::size_t>(message_.count());
      chain_[i] = {.work = spec,
                   .piece = slots_->piece(std::size_t{spec} * depth_ + place, bytes),
                   .remote_address = qps_->memory(spec) + place * bytes,
                   .remote_key = qps_->memory_key(spec)};
    }
    if (count == 0) return;
    const auto posted = qps_->qp(spec).post(FlowOperation::write, std::span(chain_).first(count));
    if (posted)
      transfer.posted += count;
    else
      transfer.error = posted.error().message;
  }

  /// A queue pair completes in order.
  Result<void> take(Nanoseconds limit) {
    WEFT_TRY(const auto done, queue_->poll());
    if (done.empty()) return queue_->wait(limit);
    const Nanoseconds at = os::steady_now() - start_;
    for (const rdma::Completion& completion : done) {
      Transfer& transfer = transfers_[completion.work];
      if (transfer.error) continue;  // the others are its consequence
      if (completion.status != 0) {
        transfer.error = rdma::describe_status(completion.status);
        continue;
      }
      if (transfer.delivered++ == 0) transfer.first = at;
      transfer.last = at;
    }
    return {};
  }

  const datapath::TransferRequest& request_;
  Bytes message_;
  std::uint32_t depth_;  // packets of one spec under way at the most
  Nanoseconds asked_;
  Nanoseconds start_{};               // all are connected
  std::vector<rdma::Message> chain_;  // of one spec, to post at once
  std::vector<Transfer> transfers_;
  std::unique_ptr<rdma::CompletionQueue> queue_;
  std::unique_ptr<Slots> slots_;
  std::unique_ptr<RequestQps> qps_;  // they go before the queue
};

}  // namespace

Result<std::vector<datapath::TransferTally>> run_transfers(
    const std::shared_ptr<const rdma::VerbsDevice>& device, const packet::BufferFactory& buffers,
    rdma::VerbsTraffic traffic, const PeerAccess& access, const datapath::TransferRequest& request,
    const std::stop_token& stop) {
  WEFT_TRY_VOID(check_transfers(request));
  if (request.specs.empty()) return std::vector<datapath::TransferTally>();
  const auto count = static_cast<std::uint32_t>(request.specs.size());
  const std::uint32_t depth =
      std::clamp(kMaxPlaces / count, 1U, std::min(request.window, std::uint32_t{datapath::kDeepestFlow}));
  const bool v6 = request.peers[0].address.is_v6();
  const Bytes mtu = device->path_mtu();
  const Bytes message = packet::one_packet_message(FlowOperation::write, request.size, mtu, v6);
  TransferRun run(request, message, depth);
  WEFT_TRY_VOID(run.open(device, buffers, traffic, access));
  WEFT_TRY_VOID(run.run(stop));
  return run.tallies(packet::message_on_wire(FlowOperation::write, message, mtu, v6));
}

}  // namespace weft::verbs
