// What the module does with DPDK: start, open, burst, count. It decides nothing: see dpdk_device.cpp.
#include "probes/engine/dpdk/dpdk_module.h"

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "probes/engine/dpdk/dpdk_flow.hpp"

namespace {

constexpr std::uint32_t kBurst = 64;
constexpr std::uint16_t kOurs = 1, kOursAndTheDrivers = 2;

/// The buffers of one queue's bursts, kept from one to the next. The driver gives back its own hold of them
/// when it has sent them: none is freed and taken anew for each frame.
struct SendBuffers {
  std::array<rte_mbuf*, kBurst> buffers{};

  /// Puts a frame into one of them, for the driver; false where there is none or the frame is too large.
  bool fill(std::uint32_t index, rte_mempool* pool, const void* frame, std::uint32_t size) {
    rte_mbuf*& buffer = buffers[index];
    if (buffer == nullptr || rte_mbuf_refcnt_read(buffer) != kOurs) {
      rte_pktmbuf_free(buffer);  // the driver still has it: it is left to it
      buffer = rte_pktmbuf_alloc(pool);
      if (buffer == nullptr) return false;
    }
    if (size + RTE_PKTMBUF_HEADROOM > buffer->buf_len) return false;
    std::memcpy(rte_pktmbuf_mtod(buffer, void*), frame, size);
    buffer->data_len = static_cast<std::uint16_t>(size);
    buffer->pkt_len = size;
    rte_mbuf_refcnt_set(buffer, kOursAndTheDrivers);
    return true;
  }
  /// The driver did not take those from `first` to `end`.
  void take_back(std::uint32_t first, std::uint32_t end) {
    for (; first < end; ++first) rte_mbuf_refcnt_set(buffers[first], kOurs);
  }
  void release() {
    for (rte_mbuf*& buffer : buffers) rte_pktmbuf_free(std::exchange(buffer, nullptr));
  }
};

}  // namespace

struct WeftDpdkPort {
  std::uint16_t id = 0;
  std::uint16_t queues = 1;
  std::string name;
  rte_mempool* pool = nullptr;
  std::vector<SendBuffers> to_send;         // of each queue
  std::atomic<std::uint64_t> scattered{0};  // frames of several buffers: larger than was agreed
  bool isolated = false;
  int stamp_at = -1;          // where a buffer has its stamp; -1: the device stamps none
  std::uint64_t stamped = 0;  // the flag of a buffer that has one

  std::uint64_t stamp_of(rte_mbuf* buffer) const {
    if (stamp_at < 0 || (buffer->ol_flags & stamped) == 0) return 0;
    return *RTE_MBUF_DYNFIELD(buffer, stamp_at, rte_mbuf_timestamp_t*);
  }
};

namespace {

/// Of each port: what prober and responder have not read yet (256 each), two bursts each in hand, a burst for
/// each queue that sends, and what registered threads keep in their caches.
constexpr std::uint32_t kBuffers = 1023;
constexpr std::uint32_t kCached = 64;
constexpr std::uint16_t kDescriptors = 1024;
constexpr std::size_t kMaxSaid = 400;

/// What DPDK said of errors since it was last asked: its log goes nowhere else.
class Said {
 public:
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    for (const char c : text)
      if (text_.size() < kMaxSaid) text_ += c == '\n' ? ';' : c;
  }
  std::string take() {
    const std::lock_guard lock(mutex_);
    std::string text;
    text.swap(text_);
    while (!text.empty() && (text.back() == ';' || text.back() == ' ')) text.pop_back();
    return text;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

Said& said() {
  static Said all;
  return all;
}

ssize_t write_log(void*, const char* text, std::size_t size) {
  if (rte_log_cur_msg_loglevel() <= static_cast<int>(RTE_LOG_ERR)) said().add({text, size});
  return static_cast<ssize_t>(size);
}

void catch_log() {
  std::FILE* stream = fopencookie(nullptr, "w", {nullptr, write_log, nullptr, nullptr});
  if (stream == nullptr) return;
  std::setvbuf(stream, nullptr, _IONBF, 0);
  rte_openlog_stream(stream);
}

int say(WeftDpdkError* error, int kind, const std::string& text) {
  std::snprintf(error->text, sizeof error->text, "%s", text.c_str());
  return kind;
}

struct Start {
  std::mutex mutex;
  bool tried = false;
  std::vector<std::string> arguments;
  std::string refused;  // why; empty: it runs
};

Start& start() {
  static Start one;
  return one;
}

/// rte_eal_init prints its usage on stdout and its last words on stderr; both are the program's.
class Silence {
 public:
  Silence() : out_(stdout), error_(stderr) {
    // Never closed: another thread may be writing to it.
    static std::FILE* const nowhere = std::fopen("/dev/null", "we");
    if (nowhere != nullptr) stdout = stderr = nowhere;
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() {
    stdout = out_;
    stderr = error_;
  }

 private:
  std::FILE* out_;
  std::FILE* error_;
};

/// In a thread of its own: the one that starts DPDK is bound to a CPU.
std::string try_to_start(std::vector<std::string> words) {
  std::string refused;
  std::thread([&] {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    catch_log();
    const Silence silence;
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) >= 0) return;
    const std::string why = said().take();
    refused = why.empty() ? rte_strerror(rte_errno) : why;
  }).join();
  return refused;
}

/// A thread that DPDK knows has caches of buffers; one that it cannot take works without.
struct KnownThread {
  KnownThread() : registered(rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0) {}
  KnownThread(const KnownThread&) = delete;
  KnownThread& operator=(const KnownThread&) = delete;
  ~KnownThread() {
    if (registered) rte_thread_unregister();
  }
  bool registered;
};

void know_this_thread() { static thread_local const KnownThread known; }

std::string why(int error) {
  const std::string text = said().take();
  return text.empty() ? rte_strerror(error < 0 ? -error : error) : text;
}

/// Has the device stamp what comes in, where it can.
void want_stamps(WeftDpdkPort& port, const rte_eth_dev_info& info, rte_eth_conf& conf) {
  if ((info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) == 0) return;
  if (rte_mbuf_dyn_rx_timestamp_register(&port.stamp_at, &port.stamped) == 0)
    conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_TIMESTAMP;
  else
    port.stamp_at = -1;
}

int set_up(WeftDpdkPort& port, const WeftDpdkDevice& device, WeftDpdkAbilities& has) {
  if (device.isolated != 0) {  // before the device is configured: rte_flow_isolate
    port.isolated = weft::dpdk::isolate(port.id, has.no_isolated);
  }
  rte_eth_dev_info info{};
  if (const int error = rte_eth_dev_info_get(port.id, &info); error != 0) return error;
  const auto most = std::min<std::uint32_t>(info.max_rx_queues, info.max_tx_queues);
  port.queues = static_cast<std::uint16_t>(std::clamp<std::uint32_t>(device.queues, 1, std::max(1U, most)));
  const auto room =
      static_cast<std::uint16_t>(std::max(device.room, device.max_frame) + RTE_PKTMBUF_HEADROOM);
  port.pool = rte_pktmbuf_pool_create(port.name.c_str(), kBuffers, kCached, 0, room, SOCKET_ID_ANY);
  if (port.pool == nullptr) return -rte_errno;
  port.to_send.resize(port.queues);
  rte_eth_conf conf{};
  want_stamps(port, info, conf);
  if (const int error = rte_eth_dev_configure(port.id, port.queues, port.queues, &conf); error != 0)
    return error;
  std::uint16_t in = kDescriptors, out = kDescriptors;
  if (const int error = rte_eth_dev_adjust_nb_rx_tx_desc(port.id, &in, &out); error != 0) return error;
  for (std::uint16_t queue = 0; queue < port.queues; ++queue) {
    if (const int error = rte_eth_rx_queue_setup(port.id, queue, in, SOCKET_ID_ANY, nullptr, port.pool);
        error != 0)
      return error;
    if (const int error = rte_eth_tx_queue_setup(port.id, queue, out, SOCKET_ID_ANY, nullptr); error != 0)
      return error;
  }
  if (const int error = rte_eth_dev_start(port.id); error != 0) return error;
  has.queues = port.queues;
  has.isolated = port.isolated ? 1 : 0;
  has.stamps = port.stamp_at >= 0 ? 1 : 0;
  std::uint64_t ticks = 0;
  has.reads_clock = rte_eth_read_clock(port.id, &ticks) == 0 ? 1 : 0;
  return 0;
}

}  // namespace

int weft_dpdk_interface(void) { return WEFT_DPDK_INTERFACE; }

int weft_dpdk_start(const char* const* arguments, int count, WeftDpdkError* error) {
  const std::vector<std::string> words(arguments, arguments + count);
  Start& one = start();
  const std::lock_guard lock(one.mutex);
  if (!one.tried) {
    one.tried = true;
    one.arguments = words;
    one.refused = try_to_start(words);
  } else if (one.refused.empty() && one.arguments != words) {
    std::string were;
    for (const std::string& word : one.arguments) were += (were.empty() ? "" : " ") + word;
    return say(error, WEFT_DPDK_OTHER_START, were);
  }
  return one.refused.empty() ? WEFT_DPDK_DONE : say(error, WEFT_DPDK_REFUSED, one.refused);
}

int weft_dpdk_open(const WeftDpdkDevice* device, WeftDpdkPort** opened, WeftDpdkAbilities* has,
                   WeftDpdkError* error) {
  *has = {};
  static_cast<void>(said().take());
  if (const int failed = rte_eal_hotplug_add("vdev", device->name, device->arguments); failed != 0)
    return say(error, WEFT_DPDK_NO_DEVICE, why(failed));
  auto* port = new WeftDpdkPort{.name = device->name};
  int failed = rte_eth_dev_get_port_by_name(device->name, &port->id);
  if (failed == 0) failed = set_up(*port, *device, *has);
  if (failed == 0) {
    *opened = port;
    return WEFT_DPDK_DONE;
  }
  const std::string text = why(failed);
  weft_dpdk_close(port);
  return say(error, failed == -ENOMEM ? WEFT_DPDK_NO_MEMORY : WEFT_DPDK_NO_DEVICE, text);
}

void weft_dpdk_close(WeftDpdkPort* port) {
  if (port->isolated) weft::dpdk::drop_rules(port->id);
  rte_eth_dev_stop(port->id);
  for (SendBuffers& queue : port->to_send) queue.release();
  rte_eal_hotplug_remove("vdev", port->name.c_str());
  rte_mempool_free(port->pool);
  delete port;
}

int weft_dpdk_rule(WeftDpdkPort* port, const WeftDpdkRule* rule, uint32_t apply, WeftDpdkError* error) {
  return weft::dpdk::take_rule(port->id, *rule, apply != 0, *error) ? WEFT_DPDK_DONE : WEFT_DPDK_NO_RULE;
}

int weft_dpdk_clock(WeftDpdkPort* port, uint64_t* ticks) {
  return rte_eth_read_clock(port->id, ticks) == 0 ? WEFT_DPDK_DONE : WEFT_DPDK_NO_DEVICE;
}

uint32_t weft_dpdk_send(WeftDpdkPort* port, uint32_t queue, const void* const* frames, const uint32_t* sizes,
                        uint32_t count) {
  know_this_thread();
  const auto wanted = std::min(count, kBurst);
  SendBuffers& kept = port->to_send[queue];
  for (std::uint32_t i = 0; i < wanted; ++i)
    if (!kept.fill(i, port->pool, frames[i], sizes[i])) return kept.take_back(0, i), 0;
  const std::uint32_t taken = rte_eth_tx_burst(port->id, static_cast<std::uint16_t>(queue),
                                               kept.buffers.data(), static_cast<std::uint16_t>(wanted));
  kept.take_back(taken, wanted);
  return taken;
}

uint32_t weft_dpdk_receive(WeftDpdkPort* port, uint32_t queue, WeftDpdkFrame* frames, uint32_t room) {
  know_this_thread();
  rte_mbuf* buffers[kBurst];
  const auto came = rte_eth_rx_burst(port->id, static_cast<std::uint16_t>(queue), buffers,
                                     static_cast<std::uint16_t>(std::min(room, kBurst)));
  std::uint32_t given = 0;
  for (std::uint16_t i = 0; i < came; ++i) {
    if (buffers[i]->nb_segs > 1) {
      ++port->scattered;
      rte_pktmbuf_free(buffers[i]);
      continue;
    }
    frames[given++] = {rte_pktmbuf_mtod(buffers[i], const void*), buffers[i]->data_len,
                       port->stamp_of(buffers[i]), buffers[i]};
  }
  return given;
}

void weft_dpdk_release(WeftDpdkPort* port, void* const* buffers, uint32_t count) {
  // Each held a whole frame, and nobody else holds it: it goes back as the driver took it.
  rte_mempool_put_bulk(port->pool, buffers, count);
}

WeftDpdkCounts weft_dpdk_counts(WeftDpdkPort* port) {
  rte_eth_stats stats{};
  if (rte_eth_stats_get(port->id, &stats) != 0) return {};
  return {stats.imissed + stats.ierrors + stats.rx_nombuf + port->scattered, stats.oerrors};
}
