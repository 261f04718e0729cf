// Lists that come, and queue pairs that move to other labels while they live.
#include <infiniband/verbs.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "balancer/nccl/environment.hpp"
#include "balancer/nccl/keeper.hpp"
#include "probes/rdma/relabel.hpp"

namespace weft::nccl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{20};
constexpr milliseconds kTickOfMoves{1};
constexpr milliseconds kTell{100};
constexpr milliseconds kRefusedList{200};  // until one that was refused is read again
/// What flies must have ended by then: far above a round trip, below NCCL's first time-out (4.29 s).
constexpr milliseconds kMaxHold{1000};
/// Posts that ask for no completion have ended, where the queue pair was quiet so long.
constexpr milliseconds kQuiet{50};
constexpr std::uint32_t kMaxUnderWay = 16;
/// Who answers posts credits of 64 bytes at most (NCCL 2.28, net_ib.cc); who sends, chunks of data.
constexpr std::uint32_t kMinData = 4096;

/// The name of the program, as the kernel has it.
std::string program_name() { return program_invocation_short_name; }

}  // namespace

void Keeper::read_labels(Clock::time_point now) {
  if (now < read_next_) return;
  auto list = files_->read_labels(labels_.generation);
  if (!list) {
    changed_ = changed_ || note_ != list.error().message;
    note_ = list.error().message;
    read_next_ = now + kRefusedList;
  } else if (*list) {
    labels_ = std::move(**list);
    note_.clear();
    changed_ = true;
  }
}

std::size_t Keeper::free_index(const TrackedQp& tracked) const {
  std::vector<bool> taken(all_.size() + 1);
  for (const TrackedQp* other : all_) {
    const auto& state = other->state;
    const bool is_alike = other != &tracked && state.connected &&
                          state.record.role == tracked.state.record.role &&
                          state.record.own == tracked.state.record.own && state.dlid == tracked.state.dlid &&
                          (state.dlid || state.record.peer == tracked.state.record.peer);
    if (is_alike && state.index < taken.size()) taken[state.index] = true;
  }
  return static_cast<std::size_t>(std::ranges::find(taken, false) - taken.begin());
}

std::optional<PathLabel> Keeper::label_of(const TrackedQp& tracked, const steer::PairLabels** pair) const {
  const auto& state = tracked.state;
  *pair = labels_.find(state.record.own, state.record.peer, state.dlid, state.record.role);
  if (*pair == nullptr) return std::nullopt;
  return (*pair)->labels[state.index % (*pair)->labels.size()];
}

bool Keeper::tick(Clock::time_point now) {
  bool moves = false;
  {
    const std::scoped_lock lock(control_);
    read_labels(now);
    under_way_ = static_cast<std::uint32_t>(std::ranges::count_if(
        all_, [](const auto& one) { return one->state.record.move == steer::Move::under_way; }));
  }
  // The job's own calls come between two queue pairs. One that takes another's place meanwhile is seen next
  // time.
  for (std::size_t i = 0;; ++i) {
    const std::scoped_lock lock(control_);
    if (i >= all_.size()) break;
    moves = step(*all_[i], now) || moves;
  }
  const std::scoped_lock lock(control_);
  if (changed_ || now - told_ >= kTell) publish(now);
  return moves;
}

/// True: it moves.
bool Keeper::step(TrackedQp& tracked, Clock::time_point now) {
  auto& state = tracked.state;
  if (!state.connected) return false;
  const auto completed = tracked.completed.load(std::memory_order_acquire);
  if (completed != state.seen_completed || completed >= tracked.posted) {
    state.seen_completed = completed;
    state.progress = now;
  }
  if (state.record.role == steer::Role::answers && tracked.largest >= kMinData) {
    state.record.role = steer::Role::sends;
    state.index = free_index(tracked);
    state.tried = 0;
  }
  if (state.record.move == steer::Move::under_way) {
    finish_move(tracked, now);
  } else if (state.ready && state.calls == 0 && state.record.source != steer::LabelSource::program &&
             state.tried != labels_.generation) {
    const steer::PairLabels* pair = nullptr;
    const auto label = label_of(tracked, &pair);
    if (!label || label == state.record.label) {
      state.tried = labels_.generation;
      return false;
    }
    if (under_way_ >= kMaxUnderWay) return true;  // each holds memory for a whole send queue
    state.tried = labels_.generation;
    state.peer_lids = pair->peer_lids;
    start_move(tracked, *label, now);
  }
  return state.record.move == steer::Move::under_way;
}

void Keeper::start_move(TrackedQp& tracked, PathLabel label, Clock::time_point now) {
  auto& state = tracked.state;
  state.wanted = label;
  changed_ = true;
  if (!state.peer_lids && rdma::relabel_by_device(calls_.library, tracked.qp, label))
    return end_move(tracked, steer::Move::done);
  if (state.unseen) return end_move(tracked, steer::Move::unseen);
  auto held = std::make_unique<HeldPosts>(state.room);  // first: where there is no memory, nothing moves
  state.held_since = now;
  state.record.move = steer::Move::under_way;
  ++under_way_;
  const std::scoped_lock lock(tracked.posting);
  tracked.held = std::move(held);
  tracked.holding = true;
}

void Keeper::finish_move(TrackedQp& tracked, Clock::time_point now) {
  auto& state = tracked.state;
  bool at_rest = false;
  {
    const std::scoped_lock lock(tracked.posting);
    at_rest = tracked.completed.load(std::memory_order_acquire) >= tracked.posted &&
              (tracked.unanswered == 0 || now - state.held_since >= kQuiet);
  }
  if (!at_rest) {
    if (now - state.held_since >= kMaxHold) end_move(tracked, steer::Move::not_at_rest);
    return;
  }
  const auto moved = rdma::relabel(calls_.library, tracked.qp, state.wanted, state.peer_lids);
  if (!moved) {
    note_ = moved.error().message;
    // Left in SQD it would take posts and never send them: the program must see that it failed.
    const auto is = rdma::state_of_qp(calls_.library, tracked.qp);
    if (!is || is->qp_state == IBV_QPS_SQD) fail_queue_pair(tracked);
  }
  end_move(tracked, moved ? steer::Move::done : steer::Move::refused);
}

/// What was held is posted. `none`: the program changes the queue pair itself, and it may be tried again.
void Keeper::end_move(TrackedQp& tracked, steer::Move how) {
  auto& state = tracked.state;
  if (how == steer::Move::none && state.record.move != steer::Move::under_way) return;
  state.record.move = how;
  if (how == steer::Move::none) state.tried = 0;
  if (how == steer::Move::done) {
    state.record.label = state.wanted;
    state.record.source = steer::LabelSource::weft;
    ++state.record.moves;
  }
  changed_ = true;
  const std::scoped_lock lock(tracked.posting);
  if (release(tracked) == 0) return;
  // The program was told that these are posted: it must see that they are not.
  fail_queue_pair(tracked);
}

void Keeper::fail_queue_pair(TrackedQp& tracked) {
  ibv_qp_attr failed{};
  failed.qp_state = IBV_QPS_ERR;
  calls_.library.modify_qp(tracked.qp, &failed, IBV_QP_STATE);
  tracked.errors.fetch_add(1);
}

void Keeper::start_thread() {
  if (has_thread_) return;
  // Signals are the job's.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([this] {
      for (;;) {
        bool moves = false;
        try {
          moves = tick(Clock::now());
        } catch (...) {  // no memory: later, perhaps
        }
        std::this_thread::sleep_for(moves ? kTickOfMoves : kTick);
      }
    }).detach();
    has_thread_ = true;
  } catch (...) {
    note_ = "no thread can be started: queue pairs keep the labels that they begin with";
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Keeper::publish(Clock::time_point now) {
  told_ = now;
  changed_ = false;
  steer::ProcessQps process{.pid = static_cast<std::uint32_t>(getpid()),
                            .rank = environment().rank,
                            .generation = labels_.generation,
                            .written = std::chrono::system_clock::now().time_since_epoch(),
                            .left_out = left_out_,
                            .program = program_name(),
                            .note = note_,
                            .qps = {}};
  for (const TrackedQp* tracked : all_) {
    if (!tracked->state.connected) continue;
    steer::QpRecord record = tracked->state.record;
    record.bytes = tracked->bytes;
    const std::uint64_t posted = tracked->posted;
    const std::uint64_t completed = tracked->completed;
    record.under_way = posted > completed ? posted - completed : 0;
    record.stalled = record.under_way > 0 ? now - tracked->state.progress : std::chrono::nanoseconds(0);
    record.errors = tracked->errors;
    record.failed = record.errors > 0;
    process.qps.push_back(std::move(record));
  }
  files_->write(process);
}

}  // namespace weft::nccl
