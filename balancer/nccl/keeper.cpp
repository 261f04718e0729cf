#include "balancer/nccl/keeper.hpp"

#include <infiniband/verbs.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "balancer/nccl/environment.hpp"
#include "balancer/nccl/verbs_calls.hpp"
#include "probes/packet/roce.hpp"
#include "probes/rdma/relabel.hpp"

namespace weft::nccl {
namespace {

std::atomic<Keeper*> the_keeper{nullptr};

/// Whose lock a fork of this thread holds: one may be made meanwhile.
thread_local Keeper* locked_by_fork = nullptr;

void before_fork() {
  locked_by_fork = the_keeper.load();
  if (locked_by_fork != nullptr) locked_by_fork->before_fork();
}
void after_fork() {
  if (locked_by_fork != nullptr) locked_by_fork->after_fork();
  locked_by_fork = nullptr;
}
/// With a keeper of its own, at the first call that needs one. The parent's is neither used nor freed: its
/// locks, and those of its queue pairs, are as the fork found them.
void in_child() {
  if (the_keeper.exchange(nullptr) != nullptr) qp_table().clear();
}

/// Null: nothing is to be done in this process. Never destroyed: its threads may run while the process exits.
Keeper* keeper(const VerbsCalls& calls) {
  if (Keeper* const made = the_keeper.load(); made != nullptr || environment().directory.empty()) return made;
  static const int kHandlers = pthread_atfork(before_fork, after_fork, in_child);
  static_cast<void>(kHandlers);
  auto made = std::make_unique<Keeper>(calls, environment().directory);
  Keeper* first = nullptr;
  return the_keeper.compare_exchange_strong(first, made.get()) ? made.release() : first;
}

constexpr std::chrono::milliseconds kMaxGoodbye{200};  // for the file to go as the process ends
constexpr std::uint8_t kForEver = 7;                   // rnr_retry (ibv_modify_qp(3))

/// UCX (1.13 and since, ib_iface.c) gives a queue pair on RoCE the complement of its path's number within its
/// endpoint, in 32 bits: nearly all are path 0 and have port 65472. That is no choice of a way.
constexpr std::uint32_t kMaxUcxPaths = 64;

bool is_chosen(std::uint32_t flow_label) {
  constexpr std::uint32_t kOnTheWire = 0xFFFFF;
  return flow_label != 0 && (~flow_label & kOnTheWire) >= kMaxUcxPaths;
}

bool is_connected_kind(const ibv_qp* qp) { return qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_UC; }

}  // namespace

int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) noexcept {
  const VerbsCalls* const calls = verbs_calls();
  if (calls == nullptr) return ENOSYS;
  Keeper* kept = nullptr;
  try {
    if (qp != nullptr && attributes != nullptr && is_connected_kind(qp)) kept = keeper(*calls);
  } catch (...) {  // no memory for what is ours: the job goes on
  }
  return kept == nullptr ? calls->library.modify_qp(qp, attributes, mask)
                         : kept->modify(qp, attributes, mask);
}

int destroy_qp(ibv_qp* qp) noexcept {
  const VerbsCalls* const calls = verbs_calls();
  if (calls == nullptr) return ENOSYS;
  Keeper* const kept = the_keeper.load();
  return kept == nullptr || qp == nullptr ? calls->library.destroy_qp(qp) : kept->destroy(qp);
}

void process_ends() noexcept {
  if (Keeper* kept = the_keeper.load()) kept->remove_file();
}

void Keeper::remove_file() {
  // The thread that ends the process may have the lock, in a handler of signals: it is not waited for.
  Lock lock(control_, std::defer_lock);
  for (auto left = kMaxGoodbye; !lock.try_lock(); left -= std::chrono::milliseconds(1)) {
    if (left.count() <= 0) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  files_.end(lock, kMaxGoodbye);
}

int Keeper::modify(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  if ((mask & IBV_QP_STATE) != 0 && (mask & IBV_QP_AV) != 0 && attributes->qp_state == IBV_QPS_RTR)
    return to_receive(qp, *attributes, mask);
  try {
    Lock lock(control_);
    if (TrackedQp* tracked = mover_.find_at_rest(lock, qp)) {
      ++tracked->state.calls;  // nothing begins to move
      mover_.stop(lock, *tracked);
    }
  } catch (...) {  // no memory for an error's text
  }
  const int error = calls_.library.modify_qp(qp, attributes, mask);
  try {
    Lock lock(control_);
    TrackedQp* const tracked = mover_.find_at_rest(lock, qp);
    if (tracked != nullptr && tracked->state.calls > 0) --tracked->state.calls;
    if (error == 0) note_change(lock, qp, *attributes, mask);
  } catch (...) {  // it is not followed
  }
  return error;
}

/// The program has changed it.
void Keeper::note_change(Lock& lock, ibv_qp* qp, const ibv_qp_attr& attributes, int mask) {
  TrackedQp* tracked = mover_.find_at_rest(lock, qp);
  if (tracked != nullptr) {
    auto& state = tracked->state;
    if ((mask & IBV_QP_TIMEOUT) != 0) state.record.timeout = attributes.timeout;
    if ((mask & IBV_QP_RETRY_CNT) != 0) state.record.retries = attributes.retry_cnt;
    if ((mask & IBV_QP_RNR_RETRY) != 0) state.retries_for_ever = attributes.rnr_retry == kForEver;
  }
  if ((mask & IBV_QP_STATE) == 0) return;
  if (attributes.qp_state == IBV_QPS_INIT || attributes.qp_state == IBV_QPS_RESET) {
    if (tracked != nullptr) book_.forget(*tracked);
    if (attributes.qp_state == IBV_QPS_INIT)
      book_.track(qp, (mask & IBV_QP_ACCESS_FLAGS) != 0 ? attributes.qp_access_flags : 0);
  } else if (tracked != nullptr) {
    tracked->state.ready = attributes.qp_state == IBV_QPS_RTS;
  }
}

int Keeper::destroy(ibv_qp* qp) {
  {
    Lock lock(control_);
    if (TrackedQp* tracked = mover_.find_at_rest(lock, qp)) book_.forget(*tracked);
  }
  return calls_.library.destroy_qp(qp);
}

int Keeper::to_receive(ibv_qp* qp, ibv_qp_attr& attributes, int mask) {
  const ibv_ah_attr as_given = attributes.ah_attr;
  Connecting with;
  ibv_gid gid{};
  if (calls_.query_gid(qp->context, as_given.port_num, as_given.grh.sgid_index, &gid) == 0) {
    with.own.emplace();
    std::memcpy(with.own->data(), gid.raw, with.own->size());
  }
  TrackedQp* tracked = nullptr;
  bool is_labelled = false;
  // Its provider, which is called from now on; not under the lock, for the linker has one, too.
  pin_library(reinterpret_cast<const void*>(qp->context->ops.post_send));
  try {
    if (const auto link = rdma::link_of(qp->context, as_given.port_num)) with.link = *link;
    Lock lock(control_);
    start_threads(lock);
    tracked = mover_.find_at_rest(lock, qp);
    if (tracked == nullptr) tracked = book_.track(qp, 0);
    if (tracked == nullptr) book_.note_left_out();
    if (tracked != nullptr && with.own && with.link) is_labelled = label_first(*tracked, with, attributes);
  } catch (...) {
    attributes.ah_attr = as_given;
  }
  int error = calls_.library.modify_qp(qp, &attributes, mask);
  const bool is_refused = error != 0 && is_labelled;
  attributes.ah_attr = as_given;
  if (is_refused) error = calls_.library.modify_qp(qp, &attributes, mask);
  if (tracked == nullptr) return error;
  ibv_qp_attr now{};
  ibv_qp_init_attr made_with{};
  with.knows_room = calls_.library.query_qp(qp, &now, IBV_QP_CAP, &made_with) == 0;
  with.all_signaled = made_with.sq_sig_all != 0;
  with.room = {made_with.cap.max_send_wr, made_with.cap.max_send_sge, made_with.cap.max_inline_data};
  ibv_qp_ex* const extended = calls_.qp_to_qp_ex == nullptr ? nullptr : calls_.qp_to_qp_ex(qp);
  with.posts_extended = extended != nullptr && extended->wr_start != nullptr;
  try {
    const std::scoped_lock lock(control_);
    tracked->state.connected = false;
    if (error == 0) connect(*tracked, with, attributes, is_labelled && !is_refused);
    if (is_refused) tracked->state.record.move = steer::Move::refused;
  } catch (...) {  // it is not followed
  }
  return error;
}

/// Puts the label of a queue pair into what its program connects it by. False: it is as the program has it.
bool Keeper::label_first(TrackedQp& tracked, const Connecting& with, ibv_qp_attr& attributes) {
  ibv_ah_attr& to = attributes.ah_attr;
  auto& state = tracked.state;
  state.record.own = *with.own;
  std::memcpy(state.record.peer.data(), to.grh.dgid.raw, state.record.peer.size());
  const bool is_roce = with.link == rdma::LinkKind::ethernet;
  state.dlid = is_roce ? std::nullopt : std::optional(Lid(to.dlid));
  state.is_flush = is_roce && state.record.peer == *with.own;
  if (state.is_flush) return false;
  state.connected = true;  // from now on its index is taken
  state.index = book_.free_index(tracked);
  const auto wanted = book_.label_of(tracked);
  const bool has_own =
      is_roce ? is_chosen(to.grh.flow_label) : wanted && wanted->peer_lids->base != Lid(to.dlid);
  state.record.source = has_own ? steer::LabelSource::program : steer::LabelSource::device;
  if (has_own || !wanted) return false;
  state.tried = book_.generation();
  state.peer_lids = wanted->peer_lids;
  const auto set = rdma::set_label(to, *with.link, wanted->label, wanted->peer_lids);
  if (set) state.wanted = wanted->label;
  return set.has_value();
}

/// It is ready to receive, from who `attributes` (the program's) say.
void Keeper::connect(TrackedQp& tracked, const Connecting& with, const ibv_qp_attr& attributes,
                     bool is_labelled) {
  ibv_qp* const qp = tracked.qp;
  if (tracked.state.is_flush) return book_.forget(tracked);
  auto& record = tracked.state.record;
  tracked.state.connected = true;
  record.peer_number = QpNum(attributes.dest_qp_num);
  record.device = calls_.library.get_device_name(qp->context->device);
  if (is_labelled) {
    record.source = steer::LabelSource::weft;
    record.label = tracked.state.wanted;
  } else if (tracked.state.dlid) {
    record.label = PathLabel(tracked.state.dlid->value());
  } else {
    const std::uint32_t given = attributes.ah_attr.grh.flow_label;
    const auto flow_label =
        given != 0 ? given : packet::default_flow_label(record.number, record.peer_number);
    record.label = PathLabel(packet::udp_port_of(flow_label).value());
  }
  see_queue(tracked, with);
  tracked.state.progress = tracked.state.looked = tracked.state.posted_at = Clock::now();
  book_.note_change();
}

/// From now on its posts and completions are seen.
void Keeper::see_queue(TrackedQp& tracked, const Connecting& with) {
  tracked.all_signaled = with.all_signaled;
  tracked.state.room = with.room;
  tracked.post = wrap_context(tracked.context);
  // Held posts need the room of its queue; where the link is not known neither is the label.
  tracked.state.unseen = !with.knows_room || !with.link || tracked.post == nullptr || with.posts_extended;
  if (tracked.post != nullptr && !qp_table().insert(&tracked)) tracked.state.unseen = true;
}

}  // namespace weft::nccl
