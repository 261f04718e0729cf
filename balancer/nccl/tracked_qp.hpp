// TrackedQp: what the interposer knows of one queue pair of the job, and TrackedQps, by which the hot path
// finds it without a lock. A TrackedQp is never freed, only used again: who still looks at one that has gone
// sees another or none, never memory that is something else.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "balancer/nccl/held_posts.hpp"
#include "balancer/steer/process_qps.hpp"

struct ibv_context;
struct ibv_cq;
struct ibv_qp;
struct ibv_send_wr;
struct ibv_wc;

namespace weft::nccl {

using PostSend = int (*)(ibv_qp* qp, ibv_send_wr* chain, ibv_send_wr** bad);
using PollCq = int (*)(ibv_cq* cq, int most, ibv_wc* completions);
using Clock = std::chrono::steady_clock;

/// One atomic exchange a post: a queue pair has one thread that posts, as a rule.
class SpinLock {
 public:
  void lock() {
    for (int tries = 0; taken_.exchange(true, std::memory_order_acquire); ++tries)
      if (tries > kSpins) sched_yield();
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  static constexpr int kSpins = 100;
  std::atomic<bool> taken_{false};
};

struct TrackedQp {
  std::atomic<ibv_context*> context{nullptr};
  std::atomic<std::uint32_t> number{0};
  std::atomic<ibv_qp*> qp{nullptr};
  PostSend post = nullptr;  // the device's own

  // Under `posting`, those that are atomic also read without it.
  SpinLock posting;
  bool armed = false;  // holds from behind the next post that asks for a completion
  bool holding = false;
  bool all_signaled = false;
  std::unique_ptr<HeldPosts> held;
  std::atomic<std::uint64_t> posted{0};  // that ask for a completion
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint32_t> largest{0};     // bytes of a post
  std::atomic<std::uint32_t> unanswered{0};  // behind the last that asks
  std::atomic<std::uint64_t> completed{0};   // by who polls
  std::atomic<std::uint32_t> errors{0};

  // Under the keeper's lock.
  struct State {
    bool connected = false;        // ready to receive at least
    bool ready = false;            // to send
    bool unseen = false;           // the program posts by ibv_wr_*
    bool is_flush = false;         // to its own GID
    bool is_acknowledged = true;   // RC
    bool retries_for_ever = true;  // while the peer has no receive buffer (rnr_retry 7), or so far as we know
    std::uint32_t calls = 0;       // of the program that change it, under way
    bool in_call = false;          // of ours to the device, without the lock: until then it stays
    std::optional<Lid> dlid;       // that the program gave it; absent on RoCE
    std::size_t index = 0;         // among those of its role between its two GIDs
    QueueRoom room;
    std::uint64_t tried = 0;                // the generation whose label was tried last
    Clock::time_point again;                // not before
    std::optional<std::uint64_t> stuck_at;  // completions when it was held in vain: not before another comes
    std::optional<LidRange> peer_lids;
    PathLabel wanted;
    bool draining = false;    // a move that has come to SQD
    bool giving = false;      // what was held, as the queue has room
    Clock::time_point since;  // it is armed, holds, drains
    bool holds = false;       // as was seen
    std::uint64_t seen_posted = 0;
    std::uint32_t seen_unanswered = 0;
    Clock::time_point posted_at;  // seen to change, so not before
    std::uint64_t seen_completed = 0;
    std::optional<Clock::time_point> completed_at;  // seen to change
    Clock::time_point progress;
    Clock::time_point looked;
    steer::QpRecord record;
  } state;
};

class TrackedQps {
 public:
  TrackedQp* find(const ibv_context* context, std::uint32_t number) const noexcept {
    std::size_t at = slot_of(context, number);
    for (std::size_t i = 0; i < kMaxProbes; ++i, at = (at + 1) % kSlots) {
      TrackedQp* tracked = slots_[at].load(std::memory_order_acquire);
      if (tracked == nullptr) return nullptr;
      if (tracked->number.load(std::memory_order_relaxed) == number &&
          tracked->context.load(std::memory_order_relaxed) == context)
        return tracked;
    }
    return nullptr;
  }
  /// False: no room near its place. One caller at a time, as for remove().
  bool insert(TrackedQp* tracked) noexcept;
  void remove(TrackedQp* tracked) noexcept;
  void clear() noexcept;

 private:
  static constexpr std::size_t kSlots = 4 * steer::kMaxQps;
  static constexpr std::size_t kMaxProbes = 32;
  static std::size_t slot_of(const ibv_context* context, std::uint32_t number) noexcept {
    // Numbers of a device follow each other; contexts are 4 KB apart or more.
    return (number + (reinterpret_cast<std::uintptr_t>(context) >> 6U) * 0x9E37u) % kSlots;
  }
  std::array<std::atomic<TrackedQp*>, kSlots> slots_{};
};

/// The queue pairs whose posts and completions are counted.
TrackedQps& qp_table() noexcept;

/// The queue pairs by which this thread has posted since it last asked: their number where they are one.
/// Absent: none, or several.
std::optional<std::uint32_t> take_posted_by() noexcept;

/// From now on what is posted by and polled from queue pairs of the context goes through this library; the
/// device's own ibv_post_send. Null: no room for another context, or another library wraps it too: nothing
/// changes.
PostSend wrap_context(ibv_context* context) noexcept;

/// Gives back what was held, under `posting`. 0: the device took all, and nothing is held any more; else what
/// it said to the first that it refused: those that are left stay held.
int release(TrackedQp& tracked);
/// Nobody will post what is held; under `posting`.
void drop_held(TrackedQp& tracked);

}  // namespace weft::nccl
