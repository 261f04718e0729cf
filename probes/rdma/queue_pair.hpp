// Queue pairs and the completions of their work. A connected QueuePair has the path label it is to use; one
// of datagrams sends along any AddressHandle. One thread at a time per completion queue.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probes/rdma/qp_route.hpp"
#include "topology/findings/flow_result.hpp"

namespace weft::rdma {

/// What became of one work request.
struct Completion {
  std::uint64_t work = 0;  // as given
  QpNum qp;
  int status = 0;  // ibv_wc_status; 0: success, 12: the peer never acknowledged
  std::uint32_t bytes = 0;
  bool received = false;
  std::optional<Nanoseconds> stamp = std::nullopt;  // of the device's clock, where it stamps
};
/// "transport retry counter exceeded (status 12)".
std::string describe_status(int status);
/// The sender's own device did not do the work: that says nothing of the way to the peer.
bool is_of_sender(int status);

/// CQ polls per iteration in busy-poll mode, before anything else is done: what is done in between delays the
/// completions that are waited for.
inline constexpr int kBusyLooks = 64;

class CompletionQueue {
 public:
  /// With the device's own time stamps where it has them.
  static Result<std::unique_ptr<CompletionQueue>> make(std::shared_ptr<const VerbsDevice> device,
                                                       int entries);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  /// What is done by now; valid until the next call. Looks up to `looks` times while nothing is. Error:
  /// internal (the queue overran, the device is gone).
  Result<std::span<const Completion>> poll(int looks = 1);
  /// Sleeps until something is done, `limit` is over, or a tenth of a second. Returns at once where the
  /// device had to be asked first to tell of it: poll until empty before each call, for nobody tells of what
  /// came before that.
  Result<void> wait(Nanoseconds limit);
  ibv_cq* get() const { return cq_; }
  /// Completions that succeeded carry the device's time stamp.
  bool stamps() const { return stamped_ != nullptr; }

 private:
  Result<void> poll_once();
  Result<void> poll_stamped();
  CompletionQueue(std::shared_ptr<const VerbsDevice> device, ibv_comp_channel* channel, ibv_cq* cq)
      : device_(std::move(device)), channel_(channel), cq_(cq) {}
  std::shared_ptr<const VerbsDevice> device_;
  ibv_comp_channel* channel_;
  ibv_cq* cq_;
  ibv_cq_ex* stamped_ = nullptr;  // the same queue, where it stamps
  std::optional<DeviceClock> clock_;
  bool asked_ = false;  // to be told of the next
  std::vector<Completion> done_;
};

enum class QpKind : std::uint8_t { reliable, unreliable, datagram };  // RC, UC, UD
/// What the device puts in front of each message that is received (ibv_post_recv(3)): of a datagram, room for
/// a GRH.
constexpr std::size_t receive_headroom(QpKind kind) { return kind == QpKind::datagram ? 40 : 0; }

struct QpShape {
  QpKind kind = QpKind::reliable;
  std::uint32_t send_depth = 16;
  std::uint32_t receive_depth = 16;
};

/// What one work request moves.
struct MemoryPiece {
  std::byte* address = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t key = 0;
};
/// One message: `work` comes back with its completion.
struct Message {
  std::uint64_t work = 0;
  MemoryPiece piece;
  std::uint64_t remote_address = 0;  // only for write and read
  std::uint32_t remote_key = 0;
  bool asks = true;  // for a completion (IBV_SEND_SIGNALED); without, done when a later one is
};

class QueuePair {
 public:
  /// A UD queue pair is ready to send and receive; an RC or UC one after connect().
  static Result<std::unique_ptr<QueuePair>> make(std::shared_ptr<const VerbsDevice> device,
                                                 CompletionQueue& sends, CompletionQueue& receives,
                                                 const QpShape& shape);
  ~QueuePair();
  QueuePair(const QueuePair&) = delete;
  QueuePair& operator=(const QueuePair&) = delete;

  QpNum number() const;
  /// The packet sequence number (PSN) of its first packet: random.
  std::uint32_t first_psn() const { return first_psn_; }
  /// The Q_Key that datagrams to it must carry: random, one for each queue pair.
  std::uint32_t queue_key() const { return queue_key_; }
  /// Changes its state to ready-to-receive (RTR) and ready-to-send (RTS).
  Result<void> connect(const QpRoute& route);
  /// rdma::relabel of this one. Error, beside its own: absent, as VerbsDevice::check_standing.
  Result<std::string> relabel(PathLabel label);
  /// The UDP source port of a connected one: that its flow label gives, as the device says when asked; where
  /// that was left to the device, by the rule of Linux's drivers (default_flow_label), soft-RoCE's among
  /// them.
  Result<UdpPort> source_port() const;

  Result<void> post_receive(std::uint64_t work, const MemoryPiece& into);
  /// Sixteen with one call of the device. Error: the first that it refused; those before it are under way.
  Result<void> post(FlowOperation operation, std::span<const Message> messages);
  /// Sends datagrams along `to`, which lives until they have completed.
  Result<void> post(const AddressHandle& to, std::span<const Message> messages);

 private:
  QueuePair(std::shared_ptr<const VerbsDevice> device, ibv_qp* qp, QpKind kind)
      : device_(std::move(device)), qp_(qp), kind_(kind) {}
  Result<void> open();
  Result<void> modify(ibv_qp_attr& attributes, int mask, const char* to);
  Result<void> post(FlowOperation operation, const AddressHandle* to, std::span<const Message> messages);

  std::shared_ptr<const VerbsDevice> device_;
  ibv_qp* qp_;
  QpKind kind_;
  std::uint32_t first_psn_ = 0;
  std::uint32_t queue_key_ = 0;
  std::uint32_t copies_ = 0;  // messages up to this size
  QpRoute route_;
};

}  // namespace weft::rdma
