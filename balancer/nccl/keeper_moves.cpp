// Queue pairs that move to other labels while they live: who can by the device's own call; the others by a
// hold, until what flies has ended, the drained state, and the posts that were held. Each step ends soon and
// keeps nobody from the lock; the device is called without it.
#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>

#include "balancer/nccl/keeper.hpp"

namespace weft::nccl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{20};
constexpr milliseconds kTickOfMoves{1};
/// What flies must have ended by then: far above a round trip, below NCCL's first time-out (4.29 s).
constexpr milliseconds kMaxHold{1000};
/// For a post that asks for a completion to come: who posts such at all while it works does so within this.
constexpr milliseconds kMaxArmed{100};
constexpr milliseconds kAgain{500};  // until one that did not is tried again: others have their turn
/// The same of one whose posts were held in vain while others of it completed: a slow network then holds it a
/// sixth of the time at most. One of which nothing completed meanwhile lost nothing by the hold, for its
/// packets are acknowledged in order; most likely it waits for the time-out of a lost one, after which all
/// ends at once.
constexpr milliseconds kAgainHeld{5000};
constexpr std::uint32_t kMaxUnderWay = 16;
/// Who answers posts credits of 64 bytes at most (NCCL 2.28, net_ib.cc); who sends, chunks of data.
constexpr std::uint32_t kMinData = 4096;

// A post without a completion has ended, one way or the other, once the queue pair has tried it for as long
// as it does: 4.096 us * 2^timeout a try, of which a device may make four times as much (IBTA vol.
// 1, 9.7.6.1.3). Without acknowledgements (UC) it ends as it has gone out.
constexpr double kTimeoutUnitNs = 4096;
constexpr std::uint8_t kMaxTimeout = 31;  // of its five bits
constexpr double kMaxOverTimeout = 4;
constexpr milliseconds kMinQuiet{50};
constexpr milliseconds kQuietUnacknowledged{1000};

/// After so long a silence nothing is under way; absent: no silence tells.
std::optional<Nanoseconds> quiet_of(const TrackedQp::State& state) {
  if (!state.is_acknowledged) return kQuietUnacknowledged;
  const auto timeout = state.record.timeout;
  const auto retries = state.record.retries;
  if (state.retries_for_ever || !timeout || *timeout == 0 || *timeout > kMaxTimeout || !retries)
    return std::nullopt;
  const double tries = kTimeoutUnitNs * static_cast<double>(1ull << *timeout) * (*retries + 1);
  return std::max<Nanoseconds>(kMinQuiet, Nanoseconds(static_cast<std::int64_t>(kMaxOverTimeout * tries)));
}

}  // namespace

void QpMover::run() {
  for (std::uint64_t seen = 0;;) {
    bool moves = false;
    try {
      moves = tick(Clock::now());
    } catch (...) {  // no memory: later, perhaps
    }
    Lock lock(control_);
    book_.await_labels(lock, moves ? kTickOfMoves : kTick, seen);
    seen = book_.generation();
  }
}

/// Who waits here waits as long as one call of the device takes, which the kernel makes him wait anyway.
TrackedQp* QpMover::find_at_rest(Lock& lock, const ibv_qp* qp) {
  TrackedQp* tracked = book_.find(qp);
  while (tracked != nullptr && tracked->state.in_call) {
    call_ended_.wait(lock);
    tracked = book_.find(qp);
  }
  return tracked;
}

void QpMover::stop(Lock& lock, TrackedQp& tracked) {
  if (tracked.state.draining) static_cast<void>(end_drain(lock, tracked, std::nullopt));
  end_move(lock, tracked, steer::Move::none);
}

/// True: something moves, so soon again.
bool QpMover::tick(Clock::time_point now) {
  bool moves = false;
  {
    const std::scoped_lock lock(control_);
    under_way_ = static_cast<std::uint32_t>(std::ranges::count_if(book_.all(), [](const TrackedQp* one) {
      return one->state.giving || one->state.record.move == steer::Move::under_way;
    }));
  }
  // The job's own calls come between two queue pairs. One that takes another's place meanwhile is seen next
  // time.
  for (std::size_t i = 0;; ++i) {
    Lock lock(control_);
    if (i >= book_.all().size()) break;
    moves = step(lock, *book_.all()[i], now) || moves;
  }
  return moves;
}

/// How far it has come, and since when.
void QpMover::observe(TrackedQp& tracked, Clock::time_point now) {
  auto& state = tracked.state;
  const auto completed = tracked.completed.load(std::memory_order_acquire);
  const std::uint64_t posted = tracked.posted;
  const std::uint32_t unanswered = tracked.unanswered;
  if (completed < posted && tracked.errors == 0) state.record.busy += now - state.looked;
  state.looked = now;
  if (completed != state.seen_completed) state.completed_at = now;
  if (completed != state.seen_completed || completed >= posted) {
    state.seen_completed = completed;
    state.progress = now;
  }
  if (posted != state.seen_posted || unanswered != state.seen_unanswered) state.posted_at = now;
  state.seen_posted = posted;
  state.seen_unanswered = unanswered;
  if (state.record.role == steer::Role::answers && tracked.largest >= kMinData) {
    state.record.role = steer::Role::sends;
    state.index = book_.free_index(tracked);
    state.tried = 0;
  }
}

/// True: it moves.
bool QpMover::step(Lock& lock, TrackedQp& tracked, Clock::time_point now) {
  auto& state = tracked.state;
  if (!state.connected || state.in_call) return state.in_call;
  observe(tracked, now);
  if (state.giving) {
    give_held(lock, tracked);
  } else if (state.record.move == steer::Move::under_way) {
    continue_move(lock, tracked, now);
  } else if (state.ready && state.calls == 0 && tracked.errors == 0 &&
             state.record.source != steer::LabelSource::program && state.tried != book_.generation() &&
             now >= state.again && state.stuck_at != state.seen_completed) {
    const auto wanted = book_.label_of(tracked);
    if (!wanted || wanted->label == state.record.label) {
      state.tried = book_.generation();
      return false;
    }
    if (under_way_ >= kMaxUnderWay) return true;  // each holds memory for a whole send queue
    state.tried = book_.generation();
    state.peer_lids = wanted->peer_lids;
    start_move(lock, tracked, wanted->label, now);
  }
  return state.giving || state.record.move == steer::Move::under_way;
}

template <class Call>
auto QpMover::without_lock(Lock& lock, TrackedQp& tracked, Call call) {
  struct Return {
    QpMover& mover;
    Lock& lock;
    TrackedQp& tracked;
    Return(QpMover& of, Lock& with, TrackedQp& qp) : mover(of), lock(with), tracked(qp) {
      tracked.state.in_call = true;
      lock.unlock();
    }
    ~Return() {
      lock.lock();
      tracked.state.in_call = false;
      mover.call_ended_.notify_all();
    }
  };
  const Return back(*this, lock, tracked);
  return call();
}

void QpMover::start_move(Lock& lock, TrackedQp& tracked, PathLabel label, Clock::time_point now) {
  auto& state = tracked.state;
  state.wanted = label;
  book_.note_change();
  const bool is_moved = !state.dlid && without_lock(lock, tracked, [&] {
    return rdma::relabel_by_device(calls_.library, tracked.qp, label);
  });
  if (is_moved) return end_move(lock, tracked, steer::Move::done);
  if (state.unseen) return end_move(lock, tracked, steer::Move::unseen);
  hold(tracked, now);
}

/// From now on, where the last post asks for a completion or is so long ago that it has ended; else from
/// behind the next that asks.
void QpMover::hold(TrackedQp& tracked, Clock::time_point now) {
  auto& state = tracked.state;
  auto held = std::make_unique<HeldPosts>(state.room);  // first: where there is no memory, nothing moves
  const auto quiet = quiet_of(state);
  state.since = now;
  state.record.move = steer::Move::under_way;
  ++under_way_;
  const std::scoped_lock lock(tracked.posting);
  const bool is_quiet = quiet && tracked.posted == state.seen_posted &&
                        tracked.unanswered == state.seen_unanswered && now - state.posted_at >= *quiet;
  tracked.held = std::move(held);
  tracked.holding = tracked.unanswered == 0 || is_quiet;
  tracked.armed = state.holds = false;
  tracked.armed = !tracked.holding;
}

/// What flew has ended; false: not yet, or not within its time, and then the move has ended.
bool QpMover::is_at_rest(Lock& lock, TrackedQp& tracked, Clock::time_point now) {
  auto& state = tracked.state;
  bool holds = false;
  bool at_rest = false;
  {
    const std::scoped_lock posting(tracked.posting);
    holds = tracked.holding;
    at_rest = holds && tracked.completed.load(std::memory_order_acquire) >= tracked.posted;
  }
  if (holds && !state.holds) state.since = now;
  state.holds = holds;
  if (at_rest) return true;
  if (now - state.since < (holds ? kMaxHold : kMaxArmed)) return false;
  end_move(lock, tracked, steer::Move::not_at_rest);
  state.tried = 0;
  const bool completes = now - state.progress < kMaxHold / 2;
  state.again = now + (holds && completes ? kAgainHeld : kAgain);
  state.stuck_at = holds ? std::optional(state.seen_completed) : std::nullopt;
  return false;
}

void QpMover::continue_move(Lock& lock, TrackedQp& tracked, Clock::time_point now) {
  auto& state = tracked.state;
  if (!state.draining) {
    // In error: what is held comes back to the program by its completions, as all else.
    if (tracked.errors > 0) return end_move(lock, tracked, steer::Move::not_at_rest);
    if (!is_at_rest(lock, tracked, now)) return;
    const auto drains = without_lock(lock, tracked, [&] {
      return rdma::start_drain(calls_.library, tracked.qp, state.wanted, state.peer_lids);
    });
    if (!drains) {
      book_.note(drains.error().message);
      return end_move(lock, tracked, steer::Move::refused);
    }
    state.draining = true;
    state.since = now;
  }
  const auto drained =
      without_lock(lock, tracked, [&] { return rdma::has_drained(calls_.library, tracked.qp); });
  if (drained && !*drained && now - state.since < rdma::kMaxDrain) return;
  const bool is_at_rest = drained && *drained;
  const auto moved = end_drain(lock, tracked, is_at_rest ? std::optional(state.wanted) : std::nullopt);
  if (!moved) book_.note(moved.error().message);
  end_move(lock, tracked, moved && is_at_rest ? steer::Move::done : steer::Move::refused);
}

/// Out of the drained state, with the label or (absent) as it was.
Result<void> QpMover::end_drain(Lock& lock, TrackedQp& tracked, std::optional<PathLabel> label) {
  const auto resumed = without_lock(lock, tracked, [&] {
    return rdma::resume(calls_.library, tracked.qp, label, tracked.state.peer_lids);
  });
  tracked.state.draining = false;
  if (resumed) return resumed;
  // Left in SQD it would take posts and never send them: the program must see that it failed.
  const auto is = without_lock(lock, tracked, [&] { return rdma::state_of_qp(calls_.library, tracked.qp); });
  if (!is || is->qp_state == IBV_QPS_SQD) fail_queue_pair(lock, tracked);
  return resumed;
}

/// What was held is posted. `none`: the program changes the queue pair itself, and it may be tried again.
void QpMover::end_move(Lock& lock, TrackedQp& tracked, steer::Move how) {
  auto& state = tracked.state;
  if (how == steer::Move::none && state.record.move != steer::Move::under_way) return;
  state.record.move = how;
  if (how == steer::Move::none) state.tried = 0;
  if (how == steer::Move::done) {
    state.record.label = state.wanted;
    state.record.source = steer::LabelSource::weft;
    ++state.record.moves;
  }
  book_.note_change();
  give_held(lock, tracked);
}

/// The program was told that these are posted. Where the queue has no room they wait for it; where the device
/// refuses one the program must see that the queue pair failed: in the state of error the device takes posts,
/// and gives them back with an error.
void QpMover::give_held(Lock& lock, TrackedQp& tracked) {
  const auto give = [&tracked] {
    const std::scoped_lock posting(tracked.posting);
    return release(tracked);
  };
  int error = give();
  if (error != 0 && error != ENOMEM) {
    fail_queue_pair(lock, tracked);  // what is posted meanwhile is held, too
    error = give();
  }
  tracked.state.giving = error == ENOMEM;
  if (error == 0 || error == ENOMEM) return;
  const std::scoped_lock posting(tracked.posting);
  drop_held(tracked);
}

void QpMover::fail_queue_pair(Lock& lock, TrackedQp& tracked) {
  without_lock(lock, tracked, [&] {
    ibv_qp_attr failed{};
    failed.qp_state = IBV_QPS_ERR;
    return calls_.library.modify_qp(tracked.qp, &failed, IBV_QP_STATE);
  });
  tracked.errors.fetch_add(1);
}

}  // namespace weft::nccl
