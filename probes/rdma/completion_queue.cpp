#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "probes/rdma/queue_pair.hpp"

namespace weft::rdma {

std::string describe_status(int status) {
  // ibv_poll_cq(3); in the words of ibv_wc_status_str.
  static constexpr std::array<const char*, 22> kWords{"success",
                                                      "local length error",
                                                      "local QP operation error",
                                                      "local EE context operation error",
                                                      "local protection error",
                                                      "work request flushed",
                                                      "memory window bind error",
                                                      "bad response",
                                                      "local access error",
                                                      "remote invalid request",
                                                      "remote access error",
                                                      "remote operation error",
                                                      "transport retry counter exceeded",
                                                      "receiver-not-ready retry counter exceeded",
                                                      "local RDD violation",
                                                      "remote invalid RD request",
                                                      "aborted",
                                                      "invalid EE context number",
                                                      "invalid EE context state",
                                                      "fatal error",
                                                      "response timeout",
                                                      "general error"};
  const bool known = status >= 0 && static_cast<std::size_t>(status) < kWords.size();
  return fmt::format("{} (status {})", known ? kWords[static_cast<std::size_t>(status)] : "unknown", status);
}

bool is_of_sender(int status) {
  switch (status) {
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR:
    case IBV_WC_LOC_EEC_OP_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_MW_BIND_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_LOC_RDD_VIOL_ERR:
    case IBV_WC_INV_EECN_ERR:
    case IBV_WC_INV_EEC_STATE_ERR:
    case IBV_WC_FATAL_ERR:  // "not transport related"
      return true;
    default:
      return false;
  }
}

namespace {

constexpr std::size_t kAtOnce = 32;

/// Null where the device stamps nothing, or refuses.
ibv_cq_ex* make_stamped(const VerbsDevice& device, ibv_comp_channel* channel, int entries) {
  if (!device.clock()) return nullptr;
  verbs_context* ops = verbs_get_ctx_op(device.context(), create_cq_ex);
  if (ops == nullptr) return nullptr;
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = static_cast<std::uint32_t>(entries);
  wanted.channel = channel;
  wanted.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  return ops->create_cq_ex(device.context(), &wanted);
}

/// Between two looks: leaves the other thread of the processor's core more of what they share.
void ease_off() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

tl::unexpected<Error> overran(const VerbsDevice& device) {
  return fail(ErrorKind::internal, "{}: the completion queue overran or its device has gone", device.name());
}

}  // namespace

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::make(std::shared_ptr<const VerbsDevice> device,
                                                               int entries) {
  const VerbsLibrary& library = device->library();
  ibv_comp_channel* channel = library.create_comp_channel(device->context());
  if (channel == nullptr)
    return fail(ErrorKind::absent, "{}: no completion channel: {}", device->name(), std::strerror(errno));
  fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  ibv_cq_ex* stamped = make_stamped(*device, channel, entries);
  ibv_cq* cq = stamped != nullptr ? ibv_cq_ex_to_cq(stamped)
                                  : library.create_cq(device->context(), entries, nullptr, channel, 0);
  if (cq == nullptr) {
    const int error = errno;
    library.destroy_comp_channel(channel);
    return fail(ErrorKind::absent, "{}: no completion queue of {} entries: {}", device->name(), entries,
                std::strerror(error));
  }
  std::unique_ptr<CompletionQueue> made(new CompletionQueue(std::move(device), channel, cq));
  made->stamped_ = stamped;
  if (stamped != nullptr) made->clock_ = made->device_->clock();
  return made;
}

CompletionQueue::~CompletionQueue() {
  device_->library().destroy_cq(cq_);
  device_->library().destroy_comp_channel(channel_);
}

Result<std::span<const Completion>> CompletionQueue::poll(int looks) {
  done_.clear();
  for (; looks > 0 && done_.empty(); --looks) {
    WEFT_TRY_VOID(stamped_ != nullptr ? poll_stamped() : poll_once());
    if (done_.empty() && looks > 1) ease_off();
  }
  return std::span<const Completion>(done_);
}

Result<void> CompletionQueue::poll_once() {
  std::array<ibv_wc, kAtOnce> entries;  // as many as are counted are written
  const int count = ibv_poll_cq(cq_, static_cast<int>(entries.size()), entries.data());
  if (count < 0) return overran(*device_);
  for (int i = 0; i < count; ++i) {
    const ibv_wc& entry = entries[static_cast<std::size_t>(i)];
    done_.push_back({.work = entry.wr_id,
                     .qp = QpNum(entry.qp_num),
                     .status = entry.status,
                     .bytes = entry.byte_len,
                     .received = (entry.opcode & IBV_WC_RECV) != 0});
  }
  return {};
}

Result<void> CompletionQueue::poll_stamped() {
  ibv_poll_cq_attr none{};
  int state = ibv_start_poll(stamped_, &none);
  if (state == ENOENT) return {};
  if (state != 0) return overran(*device_);
  while (state == 0) {
    Completion one{
        .work = stamped_->wr_id, .qp = QpNum(ibv_wc_read_qp_num(stamped_)), .status = stamped_->status};
    if (one.status == IBV_WC_SUCCESS) {  // of others nothing else may be read
      one.bytes = ibv_wc_read_byte_len(stamped_);
      one.received = (ibv_wc_read_opcode(stamped_) & IBV_WC_RECV) != 0;
      one.stamp = clock_->read(ibv_wc_read_completion_ts(stamped_));
    }
    done_.push_back(one);
    if (done_.size() == kAtOnce) break;
    state = ibv_next_poll(stamped_);
  }
  ibv_end_poll(stamped_);
  if (state != 0 && state != ENOENT) return overran(*device_);
  return {};
}

Result<void> CompletionQueue::wait(Nanoseconds limit) {
  if (!asked_) {
    if (const int error = ibv_req_notify_cq(cq_, 0); error != 0)
      return fail(ErrorKind::internal, "{}: cannot ask for completions: {}", device_->name(),
                  std::strerror(error));
    asked_ = true;
    return {};
  }
  pollfd waiting{channel_->fd, POLLIN, 0};
  constexpr Nanoseconds kMax = std::chrono::milliseconds(100);
  const timespec until{0, std::clamp(limit, Nanoseconds(0), kMax).count()};
  if (ppoll(&waiting, 1, &until, nullptr) <= 0) return {};
  ibv_cq* cq = nullptr;
  void* user = nullptr;
  while (device_->library().get_cq_event(channel_, &cq, &user) == 0) {
    device_->library().ack_cq_events(cq, 1);
    asked_ = false;
  }
  return {};
}

}  // namespace weft::rdma
