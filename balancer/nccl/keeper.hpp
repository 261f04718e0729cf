// Keeper: gives queue pairs their labels as they become ready to receive, moves them while they live when
// another list comes, and tells of them. The job's own calls that change a queue pair go through it; a thread
// of its own does the rest, so that nothing of it is on the path of a message. There is one, from the first
// such call until the process ends.
#pragma once

#include <mutex>
#include <vector>

#include "balancer/nccl/job_files.hpp"
#include "balancer/nccl/tracked_qp.hpp"
#include "balancer/nccl/verbs_calls.hpp"

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

  /// What the thread does, again and again; true: something moves, so soon again.
  bool tick(Clock::time_point now);
  void remove_file();

  /// Around fork: a child starts with nothing, and without the thread.
  void before_fork() { control_.lock(); }
  void after_fork() { control_.unlock(); }
  void start_anew();

 private:
  // Calls of the job (keeper.cpp). All but modify and destroy are called under control_.
  TrackedQp* find(const ibv_qp* qp) const;
  TrackedQp* track(ibv_qp* qp, unsigned access);
  void forget(TrackedQp& tracked);
  int to_receive(ibv_qp* qp, ibv_qp_attr& attributes, int mask);
  void note_change(ibv_qp* qp, const ibv_qp_attr& attributes, int mask);
  bool label_first(TrackedQp& tracked, const steer::Gid& own, ibv_qp_attr& attributes);
  void connect(TrackedQp& tracked, const ibv_qp_attr& attributes, bool is_labelled);
  void see_queue(TrackedQp& tracked, ibv_qp* qp);
  void open_files();

  // Lists, and what lives (keeper_moves.cpp). All under control_.
  void read_labels(Clock::time_point now);
  std::size_t free_index(const TrackedQp& tracked) const;
  /// The label that it should have, and its list; absent: none.
  std::optional<PathLabel> label_of(const TrackedQp& tracked, const steer::PairLabels** pair) const;
  bool step(TrackedQp& tracked, Clock::time_point now);
  void start_move(TrackedQp& tracked, PathLabel label, Clock::time_point now);
  void finish_move(TrackedQp& tracked, Clock::time_point now);
  void end_move(TrackedQp& tracked, steer::Move how);
  void fail_queue_pair(TrackedQp& tracked);
  void start_thread();
  void publish(Clock::time_point now);

  const VerbsCalls& calls_;
  std::string directory_;
  std::mutex control_;
  std::unique_ptr<JobFiles> files_;  // from the first that connects
  std::vector<TrackedQp*> all_;
  std::vector<TrackedQp*> unused_;
  steer::LabelList labels_;
  std::string note_;
  std::uint32_t left_out_ = 0;
  bool has_thread_ = false;
  bool changed_ = false;         // since it was last told
  std::uint32_t under_way_ = 0;  // moves
  Clock::time_point read_next_;
  Clock::time_point told_;
};

}  // namespace weft::nccl
