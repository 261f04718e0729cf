#include "probes/rdma/queue_pair.hpp"

#include <infiniband/verbs.h>

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <random>

#include "probes/packet/roce.hpp"
#include "probes/rdma/relabel.hpp"

namespace weft::rdma {
namespace {

constexpr std::uint32_t kPsnMask = 0xFFFFFF;
constexpr std::uint8_t kRetries =
    6;  // 7 means for ever to soft-RoCE (rxe_comp.c), whatever the standard says
constexpr std::uint8_t kReceiverRetries = 7;    // for ever
constexpr std::uint8_t kReceiverTimer = 12;     // 0.64 ms, ibv_modify_qp(3)
constexpr std::size_t kMaxAtOnce = 16;          // messages in one call of the device
constexpr std::uint32_t kCopied = 128;          // bytes of a small probe
constexpr std::uint32_t kOwnKeys = 0x7FFFFFFF;  // the highest bit marks keys of the kernel
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

ibv_mtu mtu_of(Bytes size) {
  const auto bytes = static_cast<std::uint64_t>(size.count());
  return static_cast<ibv_mtu>(std::bit_width(std::clamp<std::uint64_t>(bytes, 256, 4096)) - 8);
}

ibv_qp_type type_of(QpKind kind) {
  switch (kind) {
    case QpKind::reliable:
      return IBV_QPT_RC;
    case QpKind::unreliable:
      return IBV_QPT_UC;
    case QpKind::datagram:
      return IBV_QPT_UD;
  }
  return IBV_QPT_RC;
}

ibv_wr_opcode opcode_of(FlowOperation operation) {
  switch (operation) {
    case FlowOperation::write:
      return IBV_WR_RDMA_WRITE;
    case FlowOperation::read:
      return IBV_WR_RDMA_READ;
    case FlowOperation::send:
      return IBV_WR_SEND;
  }
  return IBV_WR_SEND;
}

tl::unexpected<Error> not_posted(const VerbsDevice& device, int error) {
  if (error == ENOMEM) return fail(ErrorKind::conflict, "{}: the queue is full", device.name());
  return fail(ErrorKind::internal, "{}: work is refused: {}", device.name(), std::strerror(error));
}

}  // namespace

Result<std::unique_ptr<QueuePair>> QueuePair::make(std::shared_ptr<const VerbsDevice> device,
                                                   CompletionQueue& sends, CompletionQueue& receives,
                                                   const QpShape& shape) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = sends.get();
  wanted.recv_cq = receives.get();
  // Probes are copied as they are posted. Not flows: their memory may be a GPU's.
  wanted.cap = {shape.send_depth, shape.receive_depth, 1, 1, shape.kind == QpKind::reliable ? 0 : kCopied};
  wanted.qp_type = type_of(shape.kind);
  ibv_qp* qp = device->library().create_qp(device->pd(), &wanted);
  // No device says how much it would copy: one that refuses is asked for none.
  if (qp == nullptr && errno == EINVAL && wanted.cap.max_inline_data > 0) {
    wanted.cap = {shape.send_depth, shape.receive_depth, 1, 1, 0};
    qp = device->library().create_qp(device->pd(), &wanted);
  }
  if (qp == nullptr)
    return fail(ErrorKind::absent, "{}: no queue pair: {}", device->name(), std::strerror(errno));
  std::unique_ptr<QueuePair> made(new QueuePair(std::move(device), qp, shape.kind));
  if (shape.kind != QpKind::reliable) made->copies_ = std::min(kCopied, wanted.cap.max_inline_data);
  WEFT_TRY_VOID(made->open());
  return made;
}

/// As far as it goes without a peer.
Result<void> QueuePair::open() {
  // By chance: what still travels from a queue pair that had this number before does not fit (RFC 6528 has
  // the same of TCP).
  first_psn_ = std::random_device()() & kPsnMask;
  const bool datagram = kind_ == QpKind::datagram;
  ibv_qp_attr start{};
  start.qp_state = IBV_QPS_INIT;
  start.port_num = device_->port();
  int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (datagram)
    start.qkey = queue_key_ = std::random_device()() & kOwnKeys;
  else
    start.qp_access_flags = kAccess;
  mask |= datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
  if (const auto done = modify(start, mask, "initial"); !done || !datagram) return done;
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  if (const auto done = modify(receive, IBV_QP_STATE, "ready to receive"); !done) return done;
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = first_psn_;
  return modify(send, IBV_QP_STATE | IBV_QP_SQ_PSN, "ready to send");
}

QueuePair::~QueuePair() { device_->library().destroy_qp(qp_); }

QpNum QueuePair::number() const { return QpNum(qp_->qp_num); }

Result<void> QueuePair::modify(ibv_qp_attr& attributes, int mask, const char* to) {
  auto done = modify_qp(device_->library(), qp_, attributes, mask, to);
  if (!done) WEFT_TRY_VOID(device_->check_standing());
  return done;
}

Result<void> QueuePair::connect(const QpRoute& route) {
  WEFT_TRY(const auto to, address_vector(*device_, route));
  route_ = route;
  const bool reliable = kind_ == QpKind::reliable;
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = mtu_of(std::min(route.mtu, device_->path_mtu()));
  receive.dest_qp_num = route.qp.value();
  receive.rq_psn = route.first_psn;
  receive.ah_attr = to;
  receive.max_dest_rd_atomic = route.reads.serves;
  receive.min_rnr_timer = kReceiverTimer;
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (reliable) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  if (const auto done = modify(receive, mask, "ready to receive"); !done) return done;
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = first_psn_;
  send.timeout = route.timeout_exponent;
  send.retry_cnt = kRetries;
  send.rnr_retry = kReceiverRetries;
  send.max_rd_atomic = route.reads.asks;
  mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (reliable) mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  return modify(send, mask, "ready to send");
}

Result<std::string> QueuePair::relabel(PathLabel label) {
  const auto peer = device_->is_infiniband() ? std::optional(route_.to.lids()) : std::nullopt;
  auto moved = rdma::relabel(device_->library(), qp_, label, peer);
  if (moved)
    route_.label = label;
  else
    WEFT_TRY_VOID(device_->check_standing());
  return moved;
}

Result<UdpPort> QueuePair::source_port() const {
  WEFT_TRY(const auto now, state_of_qp(device_->library(), qp_));
  const std::uint32_t label = now.ah_attr.grh.flow_label;
  return packet::udp_port_of(label != 0 ? label : packet::default_flow_label(number(), route_.qp));
}

Result<void> QueuePair::post_receive(std::uint64_t work, const MemoryPiece& into) {
  ibv_sge piece{reinterpret_cast<std::uintptr_t>(into.address), into.bytes, into.key};
  ibv_recv_wr request{};
  request.wr_id = work;
  request.sg_list = &piece;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  const int error = ibv_post_recv(qp_, &request, &bad);
  if (error != 0) return not_posted(*device_, error);
  return {};
}

Result<void> QueuePair::post(FlowOperation operation, std::span<const Message> messages) {
  return post(operation, nullptr, messages);
}

Result<void> QueuePair::post(const AddressHandle& to, std::span<const Message> messages) {
  return post(FlowOperation::send, &to, messages);
}

Result<void> QueuePair::post(FlowOperation operation, const AddressHandle* to,
                             std::span<const Message> messages) {
  struct Request {
    ibv_send_wr work;
    ibv_sge piece;
  };
  std::array<Request, kMaxAtOnce> chain;  // filled as far as it is used
  while (!messages.empty()) {
    const std::size_t count = std::min(messages.size(), chain.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Message& message = messages[i];
      Request& request = chain[i];
      request = {};
      request.piece = {reinterpret_cast<std::uintptr_t>(message.piece.address), message.piece.bytes,
                       message.piece.key};
      request.work.wr_id = message.work;
      request.work.next = i + 1 < count ? &chain[i + 1].work : nullptr;
      request.work.sg_list = &request.piece;
      request.work.num_sge = 1;
      request.work.opcode = opcode_of(operation);
      if (message.asks) request.work.send_flags |= IBV_SEND_SIGNALED;
      if (message.piece.bytes <= copies_) request.work.send_flags |= IBV_SEND_INLINE;
      if (to != nullptr)
        request.work.wr.ud = {to->get(), to->qp().value(), to->queue_key()};
      else
        request.work.wr.rdma = {message.remote_address, message.remote_key};
    }
    ibv_send_wr* bad = nullptr;
    if (const int error = ibv_post_send(qp_, &chain[0].work, &bad); error != 0)
      return not_posted(*device_, error);
    messages = messages.subspan(count);
  }
  return {};
}

}  // namespace weft::rdma
