// The standing agent of a host: probes by the assignment of a watcher, tells it what became of the probes in
// windows, and answers the probes of others. It goes on while the watcher or the bus are away: windows wait
// in its spool.
#pragma once

#include <atomic>
#include <stop_token>

#include "probes/run/standing_counters.hpp"
#include "probes/run/standing_labels.hpp"
#include "probes/run/standing_nics.hpp"
#include "probes/session/work.hpp"
#include "probes/watch/seams.hpp"
#include "probes/watch/spool.hpp"

namespace weft::run {

struct StandingTiming {
  Nanoseconds hello_interval = std::chrono::seconds(2);   // until an assignment comes
  Nanoseconds repeated_hello = std::chrono::seconds(30);  // of an agent that has one
  Nanoseconds look = std::chrono::milliseconds(50);       // for words and windows
};

struct StandingOptions {
  std::string host;     // its name in the fabric
  std::string version;  // of this program
  std::vector<session::NicReport> nics;
  OpenStandingNic open;
  OpenWhen open_when = OpenWhen::assigned;
  std::string engine = {};  // by which it probes, as it tells the watcher
  /// What its NICs count; null: it tells none.
  ReadCounters read_counters = {};
  CounterTiming counter_timing = {};
  /// Where the labels of operators go.
  LabelPlace labels = {};
  /// How many runs the same process serves now: while there is one, standing probes pause. May be null.
  std::shared_ptr<const std::atomic<int>> runs_served = nullptr;
  /// Hears when the bus comes or goes, which plan begins, and which NIC cannot be opened: lines for people.
  std::function<void(const std::string&)> say = [](const std::string&) {};
  /// Called each time that both its threads have gone round: some twenty times a second, as long as it works.
  std::function<void()> went_round = [] {};
  watch::SpoolLimits spool = {};
  StandingTiming timing = {};
};

/// Blocks until `stop` is requested; then it says that it goes, which was planned. Error: internal (no random
/// numbers). Trouble with the bus, the watcher or a NIC ends nothing.
Result<void> run_standing_agent(const StandingOptions& options, watch::AgentLink& link, std::stop_token stop);

/// Opens engines as `open` does, and counts in `runs_served` as long as those of a NIC are open.
session::OpenEngines counted_engines(session::OpenEngines open,
                                     std::shared_ptr<std::atomic<int>> runs_served);

}  // namespace weft::run
