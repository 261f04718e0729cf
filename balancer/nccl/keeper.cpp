#include "balancer/nccl/keeper.hpp"

#include <infiniband/verbs.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "balancer/nccl/environment.hpp"
#include "probes/packet/roce.hpp"
#include "probes/rdma/relabel.hpp"

namespace weft::nccl {
namespace {

std::atomic<Keeper*> the_keeper{nullptr};

void before_fork() {
  if (Keeper* keeper = the_keeper.load()) keeper->before_fork();
}
void after_fork() {
  if (Keeper* keeper = the_keeper.load()) keeper->after_fork();
}
void in_child() {
  if (Keeper* keeper = the_keeper.load()) {
    keeper->after_fork();
    keeper->start_anew();
  }
}

/// Null: nothing is to be done in this process.
Keeper* keeper(const VerbsCalls& calls) {
  if (environment().directory.empty()) return nullptr;
  // Never destroyed: its thread may run while the process exits.
  static Keeper* const kMade = [&calls] {
    auto* made = new Keeper(calls, environment().directory);
    the_keeper = made;
    pthread_atfork(before_fork, after_fork, in_child);
    return made;
  }();
  return kMade;
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
  const std::unique_lock lock(control_, std::try_to_lock);
  if (lock && files_) files_->remove();
}

void Keeper::start_anew() {
  const std::scoped_lock lock(control_);
  qp_table().clear();
  // Not freed, nor used again: their locks are as the fork found them.
  all_.clear();
  unused_.clear();
  labels_ = {};
  note_.clear();
  files_.reset();
  has_thread_ = false;
}

int Keeper::modify(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  if ((mask & IBV_QP_STATE) != 0 && (mask & IBV_QP_AV) != 0 && attributes->qp_state == IBV_QPS_RTR)
    return to_receive(qp, *attributes, mask);
  {
    const std::scoped_lock lock(control_);
    if (TrackedQp* tracked = find(qp)) {
      end_move(*tracked, steer::Move::none);
      ++tracked->state.calls;
    }
  }
  const int error = calls_.library.modify_qp(qp, attributes, mask);
  const std::scoped_lock lock(control_);
  if (TrackedQp* tracked = find(qp); tracked != nullptr && tracked->state.calls > 0) --tracked->state.calls;
  try {
    if (error == 0 && (mask & IBV_QP_STATE) != 0) note_change(qp, *attributes, mask);
  } catch (...) {  // it is not followed
  }
  return error;
}

/// The program has changed its state.
void Keeper::note_change(ibv_qp* qp, const ibv_qp_attr& attributes, int mask) {
  TrackedQp* tracked = find(qp);
  if (attributes.qp_state == IBV_QPS_INIT || attributes.qp_state == IBV_QPS_RESET) {
    if (tracked != nullptr) forget(*tracked);
    if (attributes.qp_state == IBV_QPS_INIT)
      track(qp, (mask & IBV_QP_ACCESS_FLAGS) != 0 ? attributes.qp_access_flags : 0);
  } else if (tracked != nullptr) {
    tracked->state.ready = attributes.qp_state == IBV_QPS_RTS;
  }
}

int Keeper::destroy(ibv_qp* qp) {
  {
    const std::scoped_lock lock(control_);
    if (TrackedQp* tracked = find(qp)) forget(*tracked);
  }
  return calls_.library.destroy_qp(qp);
}

TrackedQp* Keeper::find(const ibv_qp* qp) const {
  const auto found = std::ranges::find_if(all_, [qp](const TrackedQp* tracked) { return tracked->qp == qp; });
  return found == all_.end() ? nullptr : *found;
}

/// Null: there are too many.
TrackedQp* Keeper::track(ibv_qp* qp, unsigned access) {
  if (all_.size() == steer::kMaxQps) return nullptr;
  all_.reserve(all_.size() + 1);
  unused_.reserve(all_.size() + 1);  // so that forget() needs no memory
  TrackedQp* tracked = unused_.empty() ? new TrackedQp : unused_.back();
  if (!unused_.empty()) unused_.pop_back();
  tracked->context = qp->context;
  tracked->number = qp->qp_num;
  tracked->qp = qp;
  tracked->holding = false;
  tracked->posted = tracked->bytes = tracked->completed = 0;
  tracked->largest = tracked->unanswered = tracked->errors = 0;
  tracked->state = {};
  // NCCL 2.28 makes who answers (net_ib.cc, the accepting side) open to atomic operations, and nobody else.
  const bool answers = (access & IBV_ACCESS_REMOTE_ATOMIC) != 0;
  tracked->state.record.role = answers ? steer::Role::answers : steer::Role::sends;
  tracked->state.record.number = QpNum(qp->qp_num);
  all_.push_back(tracked);
  return tracked;
}

void Keeper::forget(TrackedQp& tracked) {
  qp_table().remove(&tracked);
  {
    const std::scoped_lock lock(tracked.posting);
    tracked.holding = false;
    tracked.held.reset();  // they end with the queue pair
  }
  tracked.qp = nullptr;
  tracked.context = nullptr;
  std::erase(all_, &tracked);
  unused_.push_back(&tracked);
  changed_ = true;
}

void Keeper::open_files() {
  if (files_) return;
  files_ = std::make_unique<JobFiles>(directory_);
  read_next_ = {};
  read_labels(Clock::now());
}

int Keeper::to_receive(ibv_qp* qp, ibv_qp_attr& attributes, int mask) {
  const ibv_ah_attr as_given = attributes.ah_attr;
  ibv_gid gid{};
  const bool has_gid = calls_.query_gid(qp->context, as_given.port_num, as_given.grh.sgid_index, &gid) == 0;
  TrackedQp* tracked = nullptr;
  bool is_labelled = false;
  try {
    const std::scoped_lock lock(control_);
    open_files();
    tracked = find(qp);
    if (tracked == nullptr) tracked = track(qp, 0);
    if (tracked == nullptr) ++left_out_;
    steer::Gid own{};
    std::memcpy(own.data(), gid.raw, own.size());
    if (tracked != nullptr && has_gid) is_labelled = label_first(*tracked, own, attributes);
  } catch (...) {
    attributes.ah_attr = as_given;
  }
  int error = calls_.library.modify_qp(qp, &attributes, mask);
  const bool is_refused = error != 0 && is_labelled;
  attributes.ah_attr = as_given;
  if (is_refused) error = calls_.library.modify_qp(qp, &attributes, mask);
  if (tracked == nullptr) return error;
  try {
    const std::scoped_lock lock(control_);
    tracked->state.connected = false;
    if (error == 0) connect(*tracked, attributes, is_labelled && !is_refused);
    if (is_refused) tracked->state.record.move = steer::Move::refused;
  } catch (...) {  // it is not followed
  }
  return error;
}

/// Puts the label of a queue pair into what its program connects it by. False: it is as the program has it.
bool Keeper::label_first(TrackedQp& tracked, const steer::Gid& own, ibv_qp_attr& attributes) {
  ibv_ah_attr& to = attributes.ah_attr;
  auto& state = tracked.state;
  state.record.own = own;
  std::memcpy(state.record.peer.data(), to.grh.dgid.raw, state.record.peer.size());
  const bool is_roce = to.dlid == 0;
  state.dlid = is_roce ? std::nullopt : std::optional(Lid(to.dlid));
  state.is_flush = is_roce && state.record.peer == own;
  if (state.is_flush) return false;
  state.connected = true;  // from now on its index is taken
  state.index = free_index(tracked);
  const steer::PairLabels* pair = nullptr;
  const auto label = label_of(tracked, &pair);
  const bool has_own =
      is_roce ? to.grh.flow_label != 0 : pair != nullptr && pair->peer_lids->base != Lid(to.dlid);
  state.record.source = has_own ? steer::LabelSource::program : steer::LabelSource::device;
  if (has_own || !label) return false;
  state.tried = labels_.generation;
  state.peer_lids = pair->peer_lids;
  const auto set = rdma::set_label(to, *label, pair->peer_lids);
  if (set) state.wanted = *label;
  return set.has_value();
}

/// It is ready to receive, from who `attributes` (the program's) say.
void Keeper::connect(TrackedQp& tracked, const ibv_qp_attr& attributes, bool is_labelled) {
  ibv_qp* const qp = tracked.qp;
  if (tracked.state.is_flush) return forget(tracked);
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
  see_queue(tracked, qp);
  tracked.state.progress = Clock::now();
  changed_ = true;
  start_thread();
}

/// From now on its posts and completions are seen.
void Keeper::see_queue(TrackedQp& tracked, ibv_qp* qp) {
  ibv_qp_attr now{};
  ibv_qp_init_attr made_with{};
  const bool knows_room = calls_.library.query_qp(qp, &now, IBV_QP_CAP, &made_with) == 0;
  if (knows_room) {
    tracked.all_signaled = made_with.sq_sig_all != 0;
    tracked.state.room = {made_with.cap.max_send_wr, made_with.cap.max_send_sge,
                          made_with.cap.max_inline_data};
  }
  ibv_qp_ex* const extended = calls_.qp_to_qp_ex == nullptr ? nullptr : calls_.qp_to_qp_ex(qp);
  tracked.post = wrap_context(qp->context);
  // Held posts need the room of its queue.
  tracked.state.unseen =
      !knows_room || tracked.post == nullptr || (extended != nullptr && extended->wr_start != nullptr);
  if (tracked.post != nullptr && !qp_table().insert(&tracked)) tracked.state.unseen = true;
}

}  // namespace weft::nccl
