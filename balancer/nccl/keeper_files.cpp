// The two threads are started here; the one that alone reads and writes files.
#include <pthread.h>
#include <signal.h>

#include <memory>
#include <thread>

#include "balancer/nccl/environment.hpp"
#include "balancer/nccl/keeper.hpp"

namespace weft::nccl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{20};
constexpr milliseconds kTell{100};
constexpr milliseconds kRefusedList{200};  // until one that was refused is read again
/// For the first look at the labels, once a process: a directory that is local takes less than one.
constexpr milliseconds kMaxFirstRead{1000};

template <class Work>
bool start_thread(Work work) {
  try {
    std::thread(work).detach();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

/// And waits until the labels were looked at.
void Keeper::start_threads(Lock& lock) {
  if (!has_threads_) {
    has_threads_ = true;
    // Signals are the job's.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = start_thread([this] { files_.run(); }) && start_thread([this] { mover_.run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    files_.set_patience(Clock::now() + (started ? kMaxFirstRead : milliseconds(0)));
    if (!started) book_.note("a thread cannot be started: queue pairs keep the labels that they begin with");
  }
  files_.await_labels(lock);
}

void FileThread::await_labels(Lock& lock) {
  files_changed_.wait_until(lock, patience_, [this] { return has_read_; });
}

void FileThread::end(Lock& lock, milliseconds limit) {
  if (!has_read_) return;
  ends_ = true;
  files_changed_.notify_all();
  files_changed_.wait_for(lock, limit, [this] { return has_ended_; });
}

void FileThread::run() {
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

void FileThread::exchange(JobFiles& files, Clock::time_point now) {
  Lock lock(control_);
  if (const auto in_force = book_.generation(); !has_read_ || now >= read_next_) {
    lock.unlock();
    auto list = files.read_labels(in_force);
    auto note = files.note();
    lock.lock();
    if (list || note != note_) book_.note_change();
    if (list) book_.take_labels(std::move(*list));
    note_ = std::move(note);
    read_next_ = note_.empty() ? now : now + kRefusedList;
    has_read_ = true;
    files_changed_.notify_all();
  }
  if (!book_.has_changed() && now - told_ < kTell) return;
  told_ = now;
  auto process = book_.tell(note_);
  lock.unlock();
  files.write(std::move(process));
}

}  // namespace weft::nccl
