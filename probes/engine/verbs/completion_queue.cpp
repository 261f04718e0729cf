#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "probes/engine/verbs/queue_pair.hpp"

namespace weft {

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

Result<std::unique_ptr<CompletionQueue>> CompletionQueue::make(std::shared_ptr<const VerbsDevice> device,
                                                               int entries) {
  const VerbsLibrary& library = device->library();
  ibv_comp_channel* channel = library.create_comp_channel(device->context());
  if (channel == nullptr)
    return fail(ErrorKind::absent, "{}: no completion channel: {}", device->name(), std::strerror(errno));
  fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
  ibv_cq* cq = library.create_cq(device->context(), entries, nullptr, channel, 0);
  if (cq == nullptr) {
    const int error = errno;
    library.destroy_comp_channel(channel);
    return fail(ErrorKind::absent, "{}: no completion queue of {} entries: {}", device->name(), entries,
                std::strerror(error));
  }
  return std::unique_ptr<CompletionQueue>(new CompletionQueue(std::move(device), channel, cq));
}

CompletionQueue::~CompletionQueue() {
  device_->library().destroy_cq(cq_);
  device_->library().destroy_comp_channel(channel_);
}

Result<std::span<const Completion>> CompletionQueue::poll() {
  std::array<ibv_wc, 32> entries{};
  const int count = ibv_poll_cq(cq_, static_cast<int>(entries.size()), entries.data());
  if (count < 0)
    return fail(ErrorKind::internal, "{}: the completion queue overran or its device has gone",
                device_->name());
  done_.clear();
  for (int i = 0; i < count; ++i) {
    const ibv_wc& entry = entries[static_cast<std::size_t>(i)];
    done_.push_back({.work = entry.wr_id,
                     .qp = QpNum(entry.qp_num),
                     .status = entry.status,
                     .bytes = entry.byte_len,
                     .received = (entry.opcode & IBV_WC_RECV) != 0});
  }
  return std::span<const Completion>(done_);
}

Result<void> CompletionQueue::wait(Nanoseconds limit) {
  if (const int error = ibv_req_notify_cq(cq_, 0); error != 0)
    return fail(ErrorKind::internal, "{}: cannot ask for completions: {}", device_->name(),
                std::strerror(error));
  // One may have come between the last poll and the request: the next poll finds it, so do not sleep long.
  pollfd waiting{channel_->fd, POLLIN, 0};
  constexpr Nanoseconds kLongest = std::chrono::milliseconds(5);
  const auto time = std::clamp(limit, Nanoseconds(0), kLongest);
  const timespec until{0, time.count()};
  if (ppoll(&waiting, 1, &until, nullptr) <= 0) return {};
  ibv_cq* cq = nullptr;
  void* user = nullptr;
  while (device_->library().get_cq_event(channel_, &cq, &user) == 0) device_->library().ack_cq_events(cq, 1);
  return {};
}

}  // namespace weft
