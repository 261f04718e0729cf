// Keeper: gives queue pairs their labels as they become ready to receive, moves them while they live when
// another list comes, and tells of them. The job's own calls that change a queue pair go through it; two
// threads do the rest, so that nothing of it is on the path of a message: one moves, the other alone reads
// and writes files. The lock is held for no file and for no call of the device that may wait: where a
// directory hangs, the job goes on without labels. There is one keeper, from the first such call until the
// process ends.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
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

/// Of the keeper. What below takes one is called under it, and may give it up for the time of a call.
using Lock = std::unique_lock<std::mutex>;

/// The queue pairs that are followed, the labels in force, and what is told of both. All under the lock.
class QpBook {
 public:
  const std::vector<TrackedQp*>& all() const { return all_; }
  /// Null: it is not followed.
  TrackedQp* find(const ibv_qp* qp) const;
  /// From now on it is followed. Null: there are too many.
  TrackedQp* track(ibv_qp* qp, unsigned access);
  void forget(TrackedQp& tracked);
  /// The lowest that no other has of its role between its two ports.
  std::size_t free_index(const TrackedQp& tracked) const;

  void take_labels(steer::LabelList labels) {
    labels_ = std::move(labels);
    labels_came_.notify_all();
  }
  /// Waits for labels of another generation than `seen`, at most so long.
  void await_labels(Lock& lock, std::chrono::milliseconds limit, std::uint64_t seen) {
    labels_came_.wait_for(lock, limit, [&] { return generation() != seen; });
  }
  std::uint64_t generation() const { return labels_.generation; }
  struct Wanted {
    PathLabel label;
    std::optional<LidRange> peer_lids;
  };
  /// The label that it should have, of the list in force; absent: none.
  std::optional<Wanted> label_of(const TrackedQp& tracked) const;

  void note_change() { changed_ = true; }
  void note_left_out() { ++left_out_; }
  void note(std::string of_a_device) { note_ = std::move(of_a_device); }
  /// Since it was last told.
  bool has_changed() const { return changed_; }
  /// `note`: of the lists; it goes before what a device said.
  steer::ProcessQps tell(const std::string& note);

 private:
  std::vector<TrackedQp*> all_;
  std::vector<TrackedQp*> unused_;
  steer::LabelList labels_;
  std::condition_variable labels_came_;
  std::string note_;
  std::uint32_t left_out_ = 0;
  bool changed_ = false;
};

/// Moves queue pairs that live to the labels that they should have (keeper_moves.cpp).
class QpMover {
 public:
  QpMover(std::mutex& control, const VerbsCalls& calls, QpBook& book)
      : control_(control), calls_(calls), book_(book) {}

  /// What its thread does.
  [[noreturn]] void run();
  /// As QpBook::find(), once no call of ours to the device is under way: from then on it may change, or go.
  TrackedQp* find_at_rest(Lock& lock, const ibv_qp* qp);
  /// The program is about to change it: what moves stays where it is.
  void stop(Lock& lock, TrackedQp& tracked);

 private:
  bool tick(Clock::time_point now);
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

  std::mutex& control_;
  const VerbsCalls& calls_;
  QpBook& book_;
  std::condition_variable call_ended_;
  std::uint32_t under_way_ = 0;  // moves
};

/// Reads the lists of labels and tells of the queue pairs, each in its time (keeper_files.cpp).
class FileThread {
 public:
  FileThread(std::mutex& control, QpBook& book, std::string directory)
      : control_(control), book_(book), directory_(std::move(directory)) {}

  /// What the thread does, until the process ends.
  void run();
  /// Until when the labels are waited for, the first time.
  void set_patience(Clock::time_point until) { patience_ = until; }
  /// Waits until they were looked at, so that the first queue pair has its own.
  void await_labels(Lock& lock);
  /// The process ends: waits so long for its file to go.
  void end(Lock& lock, std::chrono::milliseconds limit);

 private:
  void exchange(JobFiles& files, Clock::time_point now);

  std::mutex& control_;
  QpBook& book_;
  std::string directory_;
  std::condition_variable files_changed_;
  std::string note_;        // of a list
  bool has_read_ = false;   // the labels, once
  bool ends_ = false;       // the process
  bool has_ended_ = false;  // its file is gone
  Clock::time_point patience_;
  Clock::time_point read_next_;
  Clock::time_point told_;
};

class Keeper {
 public:
  Keeper(const VerbsCalls& calls, std::string directory)
      : calls_(calls), mover_(control_, calls, book_), files_(control_, book_, std::move(directory)) {}

  int modify(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
  int destroy(ibv_qp* qp);
  void remove_file();

  /// Around fork: a child has a keeper of its own, and this one stays as the fork found it.
  void before_fork() { control_.lock(); }
  void after_fork() { control_.unlock(); }

 private:
  /// What a device says of a queue pair that becomes ready to receive; asked without the lock.
  struct Connecting {
    std::optional<steer::Gid> own;
    std::optional<rdma::LinkKind> link;
    bool knows_room = false;
    QueueRoom room;
    bool all_signaled = false;
    bool posts_extended = false;  // by ibv_wr_*
  };

  void start_threads(Lock& lock);
  int to_receive(ibv_qp* qp, ibv_qp_attr& attributes, int mask);
  // Under the lock.
  void note_change(Lock& lock, ibv_qp* qp, const ibv_qp_attr& attributes, int mask);
  bool label_first(TrackedQp& tracked, const Connecting& with, ibv_qp_attr& attributes);
  void connect(TrackedQp& tracked, const Connecting& with, const ibv_qp_attr& attributes, bool is_labelled);
  void see_queue(TrackedQp& tracked, const Connecting& with);

  const VerbsCalls& calls_;
  std::mutex control_;
  QpBook book_;
  QpMover mover_;
  FileThread files_;
  bool has_threads_ = false;
};

}  // namespace weft::nccl
