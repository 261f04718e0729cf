// The network that a command was started in, for what it asks of the site while it runs in a lab's network.
#pragma once

#include <functional>
#include <semaphore>
#include <thread>

namespace weft::cli {

/// A thread that stays where it was started, whatever network namespace its maker enters. It runs one piece
/// of work at a time. Make it when a lab was opened, before its network is entered: an ordinary user's lab is
/// opened by a process of one thread.
class HomeNetwork {
 public:
  HomeNetwork()
      : thread_([this] {
          for (given_.acquire(); work_; given_.acquire()) {
            work_();
            done_.release();
          }
        }) {}
  ~HomeNetwork() {
    work_ = nullptr;
    given_.release();
  }
  HomeNetwork(const HomeNetwork&) = delete;
  HomeNetwork& operator=(const HomeNetwork&) = delete;

  /// Returns when it is done.
  void run(std::function<void()> work) {
    work_ = std::move(work);
    given_.release();
    done_.acquire();
  }

 private:
  std::function<void()> work_;
  std::binary_semaphore given_{0}, done_{0};
  std::jthread thread_;
};

}  // namespace weft::cli
