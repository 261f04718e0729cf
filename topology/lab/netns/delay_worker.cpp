#include <arpa/inet.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <linux/netfilter.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <memory>

#include "topology/lab/netns/fault.hpp"

namespace weft::lab {
namespace {

using Clock = std::chrono::steady_clock;

// 50 ms at 100,000 packets a second; a queue that is full lets packets pass undelayed rather than lose them.
constexpr std::uint32_t kMaxHeld = 5000;
constexpr unsigned kSocketBuffer = 8U << 20U;
constexpr std::uint32_t kHeaderOnly = 64;

struct Held {
  std::uint32_t id;
  Clock::time_point due;
};

struct CloseHandle {
  void operator()(nfq_handle* handle) const { nfq_close(handle); }
};
struct DestroyQueue {
  void operator()(nfq_q_handle* queue) const { nfq_destroy_queue(queue); }
};

/// One queue of the packet filter: takes packets in, lets each go when its time has come.
class DelayQueue {
 public:
  static Result<std::unique_ptr<DelayQueue>> open(const DelayWork& work);

  void run() {
    std::vector<char> buffer(65'536);
    while (wait_for_packets()) {
      const ssize_t got = recv(socket(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (got > 0) nfq_handle_packet(handle_.get(), buffer.data(), static_cast<int>(got));
      if (got < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS) return;
      release_due();
    }
  }

 private:
  explicit DelayQueue(Nanoseconds delay) : delay_(delay) {}

  static int on_packet(nfq_q_handle*, nfgenmsg*, nfq_data* packet, void* self) {
    const nfqnl_msg_packet_hdr* header = nfq_get_msg_packet_hdr(packet);
    auto* queue = static_cast<DelayQueue*>(self);
    if (header != nullptr) queue->held_.push_back({ntohl(header->packet_id), Clock::now() + queue->delay_});
    return 0;
  }

  int socket() const { return nfq_fd(handle_.get()); }

  /// Until there is something to read or the oldest packet is due; false when the socket is broken.
  bool wait_for_packets() {
    pollfd readable{.fd = socket(), .events = POLLIN, .revents = 0};
    timespec limit{};
    if (!held_.empty()) {
      const auto left = std::max(Nanoseconds(0), Nanoseconds(held_.front().due - Clock::now()));
      limit = {.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
    }
    const int ready = ppoll(&readable, 1, held_.empty() ? nullptr : &limit, nullptr);
    return (ready >= 0 || errno == EINTR) && (readable.revents & (POLLHUP | POLLNVAL)) == 0;
  }

  void release_due() {
    const auto now = Clock::now();
    for (; !held_.empty() && held_.front().due <= now; held_.pop_front())
      nfq_set_verdict(queue_.get(), held_.front().id, NF_ACCEPT, 0, nullptr);
  }

  Nanoseconds delay_;
  std::deque<Held> held_;  // in the order of their arrival, so also of their times
  std::unique_ptr<nfq_handle, CloseHandle> handle_;
  std::unique_ptr<nfq_q_handle, DestroyQueue> queue_;
};

Result<std::unique_ptr<DelayQueue>> DelayQueue::open(const DelayWork& work) {
  const auto failed = [&](const char* what) {
    return fail(ErrorKind::not_supported, "delay: {} of packet queue {}: {}", what, work.queue,
                std::strerror(errno));
  };
  std::unique_ptr<DelayQueue> self(new DelayQueue(work.delay));
  self->handle_.reset(nfq_open());
  if (!self->handle_) return failed("opening");
  nfq_bind_pf(self->handle_.get(), work.v6 ? AF_INET6 : AF_INET);  // not needed, and refused, since Linux 3.8
  self->queue_.reset(nfq_create_queue(self->handle_.get(), work.queue, &on_packet, self.get()));
  if (!self->queue_) return failed("taking");
  if (nfq_set_mode(self->queue_.get(), NFQNL_COPY_PACKET, kHeaderOnly) < 0) return failed("mode");
  // Best effort: without these the queue holds less.
  nfq_set_queue_maxlen(self->queue_.get(), kMaxHeld);
  nfq_set_queue_flags(self->queue_.get(), NFQA_CFG_F_FAIL_OPEN | NFQA_CFG_F_GSO,
                      NFQA_CFG_F_FAIL_OPEN | NFQA_CFG_F_GSO);
  nfnl_rcvbufsiz(nfq_nfnlh(self->handle_.get()), kSocketBuffer);
  return self;
}

}  // namespace

Result<os::ProcessMark> start_delay(const DelayWork& work) {
  std::unique_ptr<DelayQueue> queue;
  const auto prepare = [&]() -> Result<void> {
    WEFT_TRY(auto opened, DelayQueue::open(work));
    queue = std::move(opened);
    return {};
  };
  return os::start_worker("weft-delay", prepare, [&] { queue->run(); });
}

}  // namespace weft::lab
