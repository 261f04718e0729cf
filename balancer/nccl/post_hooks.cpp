// What stands in ibv_context::ops of a job: counts, holds while a label changes, and calls the device's own.
#include <infiniband/verbs.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "balancer/nccl/tracked_qp.hpp"

namespace weft::nccl {
namespace {

struct WrappedContext {
  std::atomic<ibv_context*> context{nullptr};
  std::atomic<PostSend> post_send{nullptr};
  std::atomic<PollCq> poll_cq{nullptr};
};

constexpr std::size_t kMaxContexts = 256;  // one a NIC, for NCCL
// A context keeps its place for good: one that is closed may come again at the same address.
constinit std::array<WrappedContext, kMaxContexts> wrapped_contexts{};
constinit TrackedQps tracked_qps;
/// Where a removed one stood: it has no context and is found by nobody. Never destroyed: threads of the job
/// may still post while it exits.
TrackedQp* const gone = new TrackedQp;

// What this thread posted by: numbers of queue pairs have 24 bits.
constexpr std::uint32_t kNobody = UINT32_MAX;
constexpr std::uint32_t kSeveral = UINT32_MAX - 1;
constinit thread_local std::uint32_t posted_by = kNobody;

std::size_t place_of(const ibv_context* context) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(context) >> 6U;
  return (address ^ address >> 8U) % kMaxContexts;
}

WrappedContext* find_wrapped(const ibv_context* context) noexcept {
  std::size_t at = place_of(context);
  for (std::size_t i = 0; i < kMaxContexts; ++i, at = (at + 1) % kMaxContexts) {
    WrappedContext& wrapped = wrapped_contexts[at];
    ibv_context* const here = wrapped.context.load(std::memory_order_acquire);
    if (here == context) return &wrapped;
    if (here == nullptr) return nullptr;
  }
  return nullptr;
}

template <class T>
void add(std::atomic<T>& count, T more) noexcept {
  count.store(count.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

/// What the device took of a chain: up to `end`.
void count_posts(TrackedQp& tracked, const ibv_send_wr* chain, const ibv_send_wr* end) noexcept {
  std::uint64_t bytes = 0;
  std::uint64_t asking = 0;
  std::uint32_t behind = tracked.unanswered.load(std::memory_order_relaxed);
  std::uint32_t largest = tracked.largest.load(std::memory_order_relaxed);
  for (const ibv_send_wr* post = chain; post != end && post != nullptr; post = post->next) {
    std::uint64_t size = 0;
    for (int i = 0; i < post->num_sge; ++i) size += post->sg_list[i].length;
    bytes += size;
    largest = std::max(largest, static_cast<std::uint32_t>(std::min<std::uint64_t>(size, UINT32_MAX)));
    const bool asks = tracked.all_signaled || (post->send_flags & IBV_SEND_SIGNALED) != 0;
    asking += asks ? 1 : 0;
    behind = asks ? 0 : behind + 1;
  }
  add(tracked.bytes, bytes);
  add(tracked.posted, asking);
  tracked.unanswered.store(behind, std::memory_order_relaxed);
  tracked.largest.store(largest, std::memory_order_relaxed);
}

int hooked_post_send(ibv_qp* qp, ibv_send_wr* chain, ibv_send_wr** bad) noexcept {
  TrackedQp* const tracked = tracked_qps.find(qp->context, qp->qp_num);
  if (tracked == nullptr || tracked->qp.load(std::memory_order_relaxed) != qp) {
    const WrappedContext* const wrapped = find_wrapped(qp->context);
    return wrapped == nullptr ? EINVAL : wrapped->post_send.load(std::memory_order_relaxed)(qp, chain, bad);
  }
  posted_by = posted_by == kNobody || posted_by == qp->qp_num ? qp->qp_num : kSeveral;
  const std::scoped_lock lock(tracked->posting);
  if (tracked->holding) return tracked->held->take(chain, bad);
  const int error = tracked->post(qp, chain, bad);
  count_posts(*tracked, chain, error == 0 ? nullptr : (bad == nullptr ? chain : *bad));
  // Its completion tells that all before it has ended, too.
  if (tracked->armed && tracked->unanswered.load(std::memory_order_relaxed) == 0) tracked->holding = true;
  return error;
}

void count_completion(TrackedQp& tracked, const ibv_wc& completion, std::uint64_t& run) noexcept {
  // Of one that failed only the number and the status are said (ibv_poll_cq(3)).
  if (completion.status != IBV_WC_SUCCESS)
    tracked.errors.fetch_add(1, std::memory_order_relaxed);
  else if ((completion.opcode & IBV_WC_RECV) == 0)
    ++run;
}

int hooked_poll_cq(ibv_cq* cq, int most, ibv_wc* completions) noexcept {
  const WrappedContext* const wrapped = find_wrapped(cq->context);
  if (wrapped == nullptr) return -1;
  const int count = wrapped->poll_cq.load(std::memory_order_relaxed)(cq, most, completions);
  // Those of one queue pair that follow each other are one addition.
  TrackedQp* tracked = nullptr;
  std::uint64_t run = 0;
  for (int i = 0; i < count; ++i) {
    if (i == 0 || completions[i].qp_num != completions[i - 1].qp_num) {
      if (run > 0) tracked->completed.fetch_add(run, std::memory_order_release);
      run = 0;
      tracked = tracked_qps.find(cq->context, completions[i].qp_num);
    }
    if (tracked != nullptr) count_completion(*tracked, completions[i], run);
  }
  if (run > 0) tracked->completed.fetch_add(run, std::memory_order_release);
  return count;
}

}  // namespace

TrackedQps& qp_table() noexcept { return tracked_qps; }

std::optional<std::uint32_t> take_posted_by() noexcept {
  const std::uint32_t number = std::exchange(posted_by, kNobody);
  return number < kSeveral ? std::optional(number) : std::nullopt;
}

bool TrackedQps::insert(TrackedQp* tracked) noexcept {
  std::size_t at = slot_of(tracked->context, tracked->number);
  for (std::size_t i = 0; i < kMaxProbes; ++i, at = (at + 1) % kSlots)
    if (TrackedQp* const here = slots_[at].load(); here == nullptr || here == gone) {
      slots_[at].store(tracked, std::memory_order_release);
      return true;
    }
  return false;
}

void TrackedQps::remove(TrackedQp* tracked) noexcept {
  std::size_t at = slot_of(tracked->context, tracked->number);
  for (std::size_t i = 0; i < kMaxProbes; ++i, at = (at + 1) % kSlots)
    if (slots_[at].load() == tracked) slots_[at].store(gone, std::memory_order_release);
}

void TrackedQps::clear() noexcept {
  for (auto& slot : slots_) slot.store(nullptr);
}

PostSend wrap_context(ibv_context* context) noexcept {
  WrappedContext* place = find_wrapped(context);
  std::size_t at = place_of(context);
  for (std::size_t i = 0; i < kMaxContexts && place == nullptr; ++i, at = (at + 1) % kMaxContexts)
    if (wrapped_contexts[at].context.load() == nullptr) place = &wrapped_contexts[at];
  if (place == nullptr) return nullptr;
  auto& ops = context->ops;
  if (place->context.load() == nullptr) {
    place->post_send = ops.post_send;
    place->poll_cq = ops.poll_cq;
  } else if ((ops.post_send != hooked_post_send && ops.post_send != place->post_send) ||
             (ops.poll_cq != hooked_poll_cq && ops.poll_cq != place->poll_cq)) {
    // Another library has put itself before this one, which it calls: taken for the device's own, each would
    // call the other for ever. Or another device has come to this address.
    return nullptr;
  }
  place->context.store(context, std::memory_order_release);
  __atomic_store_n(&ops.post_send, &hooked_post_send, __ATOMIC_RELEASE);
  __atomic_store_n(&ops.poll_cq, &hooked_poll_cq, __ATOMIC_RELEASE);
  return place->post_send;
}

int release(TrackedQp& tracked) {
  tracked.armed = false;
  const int error = tracked.held == nullptr ? 0 : tracked.held->give([&](ibv_send_wr* post) {
    ibv_send_wr* bad = nullptr;
    const int refused = tracked.post(tracked.qp, post, &bad);
    count_posts(tracked, post, refused == 0 ? nullptr : post);
    return refused;
  });
  if (error == 0) drop_held(tracked);
  return error;
}

void drop_held(TrackedQp& tracked) {
  tracked.armed = tracked.holding = false;
  tracked.held.reset();
}

}  // namespace weft::nccl
