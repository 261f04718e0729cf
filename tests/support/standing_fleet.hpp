// StandingFleet: all standing agents of a fabric, simulated: paths as switches would hash them, faults that
// come and go, background losses; second by second it gives the windows that the agents would send. The same
// seed gives the same windows. FleetRun drives a Watcher with them by a clock of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "probes/watch/watcher.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/fault.hpp"

namespace weft {

struct FleetOptions {
  std::uint64_t seed = 1;
  double background = 1e-6;    // lost on each channel
  std::uint32_t labels = 16;   // tried of each pair
  std::uint32_t partners = 0;  // of a NIC; 0: as a sweep would choose
  bool delays = true;          // agents tell round trips
  watch::PlanLimits limits = {};
};

/// The plan that the watcher of this fleet would make.
watch::StandingPlan fleet_plan(const Fabric& fabric, const FleetOptions& options);
watch::StandingEnds fleet_ends(const Fabric& fabric, const watch::StandingPlan& plan);

struct FleetFault {
  FaultSpec fault;
  Nanoseconds from{};
  Nanoseconds until = Nanoseconds::max();
};

struct SentWindow {
  NodeId host;
  watch::Window window;
  Nanoseconds arrival{};
};

class StandingFleet {
 public:
  /// Both must outlive it.
  StandingFleet(const Fabric& fabric, const watch::StandingPlan& plan, watch::PlanVersion version,
                const FleetOptions& options);

  void put(FleetFault fault) { faults_.push_back(std::move(fault)); }
  /// From now on it sends nothing and answers nobody.
  void stop(NodeId host) { stopped_.insert(host); }
  void start(NodeId host) { stopped_.erase(host), ++boots_[host]; }

  /// The windows of the next second, in the order in which they arrive.
  std::vector<SentWindow> second();
  Nanoseconds now() const { return now_; }

 private:
  struct Pending {
    std::uint64_t number;
    bool there;
  };
  /// How a row fares in a second.
  struct Hazard {
    double there = 0, back = 0;
    std::uint32_t burst = 1;
  };
  Hazard hazard_of(std::uint32_t row, Nanoseconds at) const;
  void find_touched();
  watch::NicWindow window_of(std::uint32_t nic, Nanoseconds begin, std::uint64_t first, std::uint64_t end);
  void simulate(std::uint32_t row, std::uint64_t streams, Nanoseconds begin,
                const std::set<std::uint64_t>& background, watch::NicWindow& window);
  void tell_delays(std::uint32_t nic, watch::NicWindow& window);
  double uniform() { return std::uniform_real_distribution(0.0, 1.0)(random_); }

  const Fabric* fabric_;
  const watch::StandingPlan* plan_;
  watch::PlanVersion version_;
  FleetOptions options_;
  std::mt19937_64 random_;
  std::vector<FleetFault> faults_;
  std::size_t faults_known_ = 0;
  std::set<NodeId> stopped_;
  std::map<NodeId, std::uint64_t> boots_, numbers_;
  std::vector<std::vector<std::uint32_t>> touched_;        // by NIC: streams that may meet a fault
  std::map<std::uint32_t, std::vector<Pending>> pending_;  // by row
  std::map<std::uint32_t, std::uint32_t> run_left_;        // of a burst, by row
  std::map<NodeId, Nanoseconds> phase_;
  Nanoseconds now_{};
};

class FleetRun {
 public:
  FleetRun(const Fabric& fabric, const FleetOptions& options, const watch::WatcherOptions& watcher = {});

  StandingFleet& fleet() { return fleet_; }
  watch::Watcher& watcher() { return watcher_; }
  const watch::StandingPlan& plan() const { return plan_; }
  Nanoseconds now() const { return fleet_.now(); }
  /// Of all ticks so far: routes that were said to have moved; of the last one: whether paths are to be
  /// mapped.
  std::vector<watch::MovedRoute> moved;
  bool wants_paths = false;
  /// Changes what is sent before it arrives; may add, remove, reorder.
  std::function<void(std::vector<SentWindow>&)> between;

  /// Goes on for so many seconds; the watcher ticks four times in each. The events of that time, with their
  /// steady times in `at`.
  std::vector<IncidentEvent> advance(int seconds);
  /// Until an incident opens, at most so many seconds; what opened.
  std::optional<IncidentEvent> until_opened(int seconds);
  watch::WatchState state() const { return watcher_.state(now(), true, {}); }
  const std::vector<IncidentEvent>& events() const { return events_; }

 private:
  const Fabric* fabric_;
  watch::StandingPlan plan_;
  StandingFleet fleet_;
  watch::Watcher watcher_;
  std::vector<IncidentEvent> events_;
};

}  // namespace weft
