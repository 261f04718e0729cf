// StandingCounters: reads what the NICs of this host count, on a thread of its own, so that nothing waits for
// a driver or a tool: at first often, then once a minute, modules (and mlxlink) each ten minutes. The newest
// reading that is worth telling waits until it is taken; one that came before it is dropped.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "collectors/counters/host_counters.hpp"
#include "probes/run/gpu_temperature.hpp"
#include "probes/session/messages.hpp"

namespace weft::run {

/// Reads all NICs of a host; ends soon after `stop` is requested, with what it has.
using ReadCounters =
    std::function<std::vector<counters::NicAt>(bool with_modules, const std::stop_token& stop)>;

/// Those of these NICs, in the network namespace of the thread that calls; of the kernel and of `sys`. One
/// that this host does not have now is left out. `gpu`: asked as seldom as modules, and told with each NIC.
ReadCounters counters_of_nics(std::vector<session::NicReport> nics, std::string sys = "/sys",
                              WarmestGpu gpu = nullptr);

struct CounterTiming {
  Nanoseconds read = std::chrono::minutes(1);   // from the end of one reading to the next
  Nanoseconds told = std::chrono::minutes(10);  // at least so often, and then with modules
};

class StandingCounters {
 public:
  /// `version`: of the agent, which is told too.
  StandingCounters(ReadCounters read, CounterTiming timing, std::string version = {});

  /// What is to be told, once.
  std::optional<std::string> take();
  /// It could not be told: it waits, unless a newer one does.
  void give_back(std::string text);
  /// What was told last waits again, unless a newer one does: who hears it now may not have heard it then.
  void report_again();

 private:
  void go_round(const std::stop_token& stop);

  ReadCounters read_;
  CounterTiming timing_;
  std::string version_;
  std::mutex mutex_;                           // of what is to be told, as weft.counters/1
  std::optional<std::string> waiting_, last_;  // last_: that waited last
  std::jthread thread_;
};

}  // namespace weft::run
