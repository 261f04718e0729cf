// The two threads: of moves, and of files.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "balancer/nccl/environment.hpp"
#include "balancer/nccl/keeper.hpp"

namespace weft::nccl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{20};
constexpr milliseconds kTickOfMoves{1};
constexpr milliseconds kTell{100};
constexpr milliseconds kRefusedList{200};  // until one that was refused is read again
/// For the first look at the labels, once a process: a directory that is local takes less than one.
constexpr milliseconds kMaxFirstRead{1000};

/// The name of the program, as the kernel has it.
std::string program_name() { return program_invocation_short_name; }

}  // namespace

/// And waits until the labels were looked at, so that the first queue pair has its own.
void Keeper::start_threads(Lock& lock) {
  if (!has_threads_) {
    has_threads_ = true;
    // Signals are the job's.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = start_thread(&Keeper::run_files) && start_thread(&Keeper::run_moves);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    read_next_ = Clock::now() + (started ? kMaxFirstRead : milliseconds(0));
    if (!started) note_ = "a thread cannot be started: queue pairs keep the labels that they begin with";
  }
  files_changed_.wait_until(lock, read_next_, [this] { return has_read_; });
}

bool Keeper::start_thread(void (Keeper::*work)()) {
  try {
    std::thread([this, work] { (this->*work)(); }).detach();
    return true;
  } catch (...) {
    return false;
  }
}

void Keeper::run_moves() {
  for (std::uint64_t seen = 0;;) {
    bool moves = false;
    try {
      moves = tick(Clock::now());
    } catch (...) {  // no memory: later, perhaps
    }
    Lock lock(control_);
    labels_changed_.wait_for(lock, moves ? kTickOfMoves : kTick, [&] { return labels_.generation != seen; });
    seen = labels_.generation;
  }
}

void Keeper::run_files() {
  std::unique_ptr<JobFiles> files;
  for (;;) {
    try {
      if (!files) files = std::make_unique<JobFiles>(directory_, environment().job);
      exchange(*files, Clock::now());
    } catch (...) {  // no memory: later, perhaps
    }
    Lock lock(control_);
    if (!files_changed_.wait_for(lock, kTick, [this] { return ends_; })) continue;
    lock.unlock();
    if (files) files->remove();
    lock.lock();
    has_ended_ = true;
    return files_changed_.notify_all();
  }
}

/// Reads the labels and tells of the queue pairs, each in its time.
void Keeper::exchange(JobFiles& files, Clock::time_point now) {
  Lock lock(control_);
  if (const auto in_force = labels_.generation; !has_read_ || now >= read_next_) {
    lock.unlock();
    auto list = files.read_labels(in_force);
    auto note = files.note();
    lock.lock();
    changed_ = changed_ || list || note != list_note_;
    if (list) {
      labels_ = std::move(*list);
      labels_changed_.notify_one();
    }
    list_note_ = std::move(note);
    read_next_ = list_note_.empty() ? now : now + kRefusedList;
    has_read_ = true;
    files_changed_.notify_all();
  }
  if (!changed_ && now - told_ < kTell) return;
  told_ = now;
  changed_ = false;
  const auto process = process_qps();
  lock.unlock();
  files.write(process);
}

steer::ProcessQps Keeper::process_qps() const {
  const auto now = Clock::now();
  steer::ProcessQps process{.pid = static_cast<std::uint32_t>(getpid()),
                            .rank = environment().rank,
                            .generation = labels_.generation,
                            .written = std::chrono::system_clock::now().time_since_epoch(),
                            .left_out = left_out_,
                            .list_written = labels_.written,
                            .host = host_name(),
                            .program = program_name(),
                            .note = list_note_.empty() ? note_ : list_note_,
                            .qps = {}};
  for (const TrackedQp* tracked : all_) {
    if (!tracked->state.connected) continue;
    steer::QpRecord record = tracked->state.record;
    record.bytes = tracked->bytes;
    const std::uint64_t posted = tracked->posted;
    const std::uint64_t completed = tracked->completed;
    record.under_way = posted > completed ? posted - completed : 0;
    record.stalled = record.under_way > 0 ? now - tracked->state.progress : std::chrono::nanoseconds(0);
    if (const auto last = tracked->state.completed_at) record.quiet = now - *last;
    record.errors = tracked->errors;
    record.failed = record.errors > 0;
    process.qps.push_back(std::move(record));
  }
  return process;
}

}  // namespace weft::nccl
