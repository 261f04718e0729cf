// Keeper: gives queue pairs their labels as they become ready to receive, moves them while they live when
// another list comes, and tells of them. The job's own calls that change a queue pair go through it; two
// threads do the rest, so that nothing of it is on the path of a message: one moves, the other alone reads
// and writes files. The lock is held for no file and for no call of the device that may wait: where a
// directory hangs, the job goes on without labels. There is one keeper, from the first such call until the
// process ends.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "balancer/nccl/job_files.hpp"
#include "balancer/nccl/tracked_qp.hpp"
#include "balancer/nccl/verbs_calls.hpp"
#include "probes/rdma/relabel.hpp"

struct ibv_qp_attr;

namespace weft::nccl {

/// What ibv_modify_qp and ibv_destroy_qp are to the job. They are libibverbs' own where nothing is to be
/// done: without WEFT_NCCL_DIR, and for queue pairs that are neither RC nor UC.
int modify_qp(ibv_qp* qp, ibv_qp_attr* attributes, int mask) noexcept;
int destroy_qp(ibv_qp* qp) noexcept;

/// When the process ends by itself: its file goes.
void process_ends() noexcept;

class Keeper {
 public:
  Keeper(const VerbsCalls& calls, std::string directory) : calls_(calls), directory_(std::move(directory)) {}

  int modify(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
  int destroy(ibv_qp* qp);

  /// What the thread of moves does, again and again; true: something moves, so soon again.
  bool tick(Clock::time_point now);
  void remove_file();

  /// Around fork: a child has a keeper of its own, and this one stays as the fork found it.
  void before_fork() { control_.lock(); }
  void after_fork() { control_.unlock(); }

 private:
  using Lock = std::unique_lock<std::mutex>;
  /// What a device says of a queue pair that becomes ready to receive; asked without the lock.
  struct Connecting {
    std::optional<steer::Gid> own;
    std::optional<rdma::LinkKind> link;
    bool knows_room = false;
    QueueRoom room;
    bool all_signaled = false;
    bool posts_extended = false;  // by ibv_wr_*
  };

  // Calls of the job (keeper.cpp). All but modify and destroy are called under control_.
  TrackedQp* find(const ibv_qp* qp) const;
  /// As find(), once no call of ours to the device is under way: from then on it may change, or go.
  TrackedQp* find_at_rest(Lock& lock, const ibv_qp* qp);
  TrackedQp* track(ibv_qp* qp, unsigned access);
  void forget(TrackedQp& tracked);
  int to_receive(ibv_qp* qp, ibv_qp_attr& attributes, int mask);
  void note_change(Lock& lock, ibv_qp* qp, const ibv_qp_attr& attributes, int mask);
  bool label_first(TrackedQp& tracked, const Connecting& with, ibv_qp_attr& attributes);
  void connect(TrackedQp& tracked, const Connecting& with, const ibv_qp_attr& attributes, bool is_labelled);
  void see_queue(TrackedQp& tracked, const Connecting& with);

  // Lists, and what lives (keeper_moves.cpp). All under control_.
  std::size_t free_index(const TrackedQp& tracked) const;
  /// The label that it should have, and its list; absent: none.
  std::optional<PathLabel> label_of(const TrackedQp& tracked, const steer::PairLabels** pair) const;
  void observe(TrackedQp& tracked, Clock::time_point now);
  bool step(Lock& lock, TrackedQp& tracked, Clock::time_point now);
  void start_move(Lock& lock, TrackedQp& tracked, PathLabel label, Clock::time_point now);
  void hold(TrackedQp& tracked, Clock::time_point now);
  void continue_move(Lock& lock, TrackedQp& tracked, Clock::time_point now);
  bool is_at_rest(Lock& lock, TrackedQp& tracked, Clock::time_point now);
  Result<void> end_drain(Lock& lock, TrackedQp& tracked, std::optional<PathLabel> label);
  void end_move(Lock& lock, TrackedQp& tracked, steer::Move how);
  void give_held(Lock& lock, TrackedQp& tracked);
  void fail_queue_pair(Lock& lock, TrackedQp& tracked);
  /// A call to the device of a queue pair that stays until it has returned, without the lock meanwhile.
  template <class Call>
  auto without_lock(Lock& lock, TrackedQp& tracked, Call call);

  // Files and threads (keeper_files.cpp).
  void start_threads(Lock& lock);
  bool start_thread(void (Keeper::*work)());
  void run_moves();
  void run_files();
  void exchange(JobFiles& files, Clock::time_point now);
  steer::ProcessQps process_qps() const;

  const VerbsCalls& calls_;
  std::string directory_;
  std::mutex control_;
  std::condition_variable call_ended_;
  std::condition_variable files_changed_;
  std::condition_variable labels_changed_;  // for the thread of moves
  std::vector<TrackedQp*> all_;
  std::vector<TrackedQp*> unused_;
  steer::LabelList labels_;
  std::string note_;       // of a device
  std::string list_note_;  // of a list
  std::uint32_t left_out_ = 0;
  bool has_threads_ = false;
  bool has_read_ = false;        // the labels, once
  bool ends_ = false;            // the process
  bool has_ended_ = false;       // its file is gone
  bool changed_ = false;         // since it was last told
  std::uint32_t under_way_ = 0;  // moves
  Clock::time_point read_next_;  // the labels; before the first time, until when that is waited for
  Clock::time_point told_;
};

}  // namespace weft::nccl
