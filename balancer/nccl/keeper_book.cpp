// The queue pairs that are followed.
#include <infiniband/verbs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "balancer/nccl/environment.hpp"
#include "balancer/nccl/keeper.hpp"

namespace weft::nccl {
namespace {

/// The name of the program, as the kernel has it.
std::string program_name() { return program_invocation_short_name; }

}  // namespace

TrackedQp* QpBook::find(const ibv_qp* qp) const {
  const auto found = std::ranges::find_if(all_, [qp](const TrackedQp* tracked) { return tracked->qp == qp; });
  return found == all_.end() ? nullptr : *found;
}

TrackedQp* QpBook::track(ibv_qp* qp, unsigned access) {
  if (all_.size() == steer::kMaxQps) return nullptr;
  all_.reserve(all_.size() + 1);
  unused_.reserve(all_.size() + 1);  // so that forget() needs no memory
  TrackedQp* tracked = unused_.empty() ? new TrackedQp : unused_.back();
  if (!unused_.empty()) unused_.pop_back();
  tracked->context = qp->context;
  tracked->number = qp->qp_num;
  tracked->qp = qp;
  tracked->armed = tracked->holding = false;
  tracked->posted = tracked->bytes = tracked->completed = 0;
  tracked->largest = tracked->unanswered = tracked->errors = 0;
  tracked->state = {};
  // NCCL 2.28 makes who answers (net_ib.cc, the accepting side) open to atomic operations and not to reads.
  // UCX (rc_iface.c) opens both ends to everything: either may send, and answers reads.
  const bool answers = (access & IBV_ACCESS_REMOTE_ATOMIC) != 0 && (access & IBV_ACCESS_REMOTE_READ) == 0;
  tracked->state.record.role = answers ? steer::Role::answers : steer::Role::sends;
  tracked->state.record.number = QpNum(qp->qp_num);
  tracked->state.is_acknowledged = qp->qp_type == IBV_QPT_RC;
  all_.push_back(tracked);
  return tracked;
}

void QpBook::forget(TrackedQp& tracked) {
  qp_table().remove(&tracked);
  {
    const std::scoped_lock lock(tracked.posting);
    drop_held(tracked);  // they end with the queue pair
  }
  tracked.qp = nullptr;
  tracked.context = nullptr;
  std::erase(all_, &tracked);
  unused_.push_back(&tracked);
  changed_ = true;
}

std::size_t QpBook::free_index(const TrackedQp& tracked) const {
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

std::optional<QpBook::Wanted> QpBook::label_of(const TrackedQp& tracked) const {
  const auto& state = tracked.state;
  const auto* const pair = labels_.find(state.record.own, state.record.peer, state.dlid, state.record.role);
  if (pair == nullptr) return std::nullopt;
  return Wanted{pair->labels[state.index % pair->labels.size()], pair->peer_lids};
}

steer::ProcessQps QpBook::tell(const std::string& note) {
  changed_ = false;
  const auto now = Clock::now();
  steer::ProcessQps process{.pid = static_cast<std::uint32_t>(getpid()),
                            .rank = environment().rank,
                            .generation = labels_.generation,
                            .written = std::chrono::system_clock::now().time_since_epoch(),
                            .left_out = left_out_,
                            .list_written = labels_.written,
                            .holds_lock = false,  // who writes it knows
                            .job = environment().job,
                            .host = host_name(),
                            .program = program_name(),
                            .note = note.empty() ? note_ : note,
                            .qps = {}};
  for (const TrackedQp* tracked : all_) {
    if (!tracked->state.connected) continue;
    steer::QpRecord record = tracked->state.record;
    record.bytes = tracked->bytes;
    const std::uint64_t posted = tracked->posted;
    const std::uint64_t completed = tracked->completed;
    record.errors = tracked->errors;
    record.failed = record.errors > 0;
    // One in error has nothing under way: all comes back, and what of it are sends is not said.
    record.under_way = !record.failed && posted > completed ? posted - completed : 0;
    record.stalled = record.under_way > 0 ? now - tracked->state.progress : std::chrono::nanoseconds(0);
    if (const auto last = tracked->state.completed_at) record.quiet = now - *last;
    process.qps.push_back(std::move(record));
  }
  return process;
}

}  // namespace weft::nccl
