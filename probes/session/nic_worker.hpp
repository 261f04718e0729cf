// NicWorker: the thread that does the tasks of one NIC, in the order in which they came, and sends the
// results.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "probes/session/bus.hpp"
#include "probes/session/work.hpp"

namespace weft {

class NicWorker {
 public:
  /// `bus` must outlive it. Destruction stops the task in hand and drops those that wait.
  NicWorker(NicEngines engines, Bus& bus);

  void add(Task task);

 private:
  void run(std::stop_token stop);

  NicEngines engines_;
  Bus& bus_;
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::deque<Task> waiting_;
  std::jthread thread_;
};

}  // namespace weft
