// Simulator: a job over a history of failures, event by event. Deterministic: all chance is in the history.
// One thread; kept from run to run, so that its memory is taken once.
#pragma once

#include <queue>
#include <vector>

#include "balancer/reliability/job.hpp"

namespace weft::reliability {

/// Which hosts can be used and how much of the network is left, as failures and repairs come.
class PlantState {
 public:
  explicit PlantState(const Plant& plant);

  void reset(const Job& job);
  bool usable(Index host) const { return reasons_[host] == 0; }
  bool is_own_down(Index host) const { return own_down_[host]; }
  Index usable_in_pool() const { return usable_; }

  // Each takes away, and gives back what was taken before. take_* return whether a host of the pool became
  // unusable; what did stands in lost().
  bool take_host(Index host);
  void give_host(Index host);
  void take_hosts_of(Index leaf);
  void give_hosts_of(Index leaf);
  void take_cable(Index cable);
  void give_cable(Index cable);
  void mark_own(Index host, bool down) { own_down_[host] = down; }
  /// Hosts of the pool that became unusable since it was emptied.
  std::vector<Index>& lost() { return lost_; }

  /// The time that an all-to-all of the pool takes over that with all links: by the bundle with most of it
  /// over the links that are left.
  double narrowest() const;
  bool has_cable(Index cable) const { return cable_reasons_[cable] == 0; }
  /// One cable more may be taken out for being slow, by the caps of a blacklist; one may always.
  bool may_drain(Index cable) const;
  /// The pool sends over it.
  bool matters(Index bundle) const { return loads_[bundle] > 0; }

 private:
  void load(Index pool);
  void cut(Index bundle, bool take);

  const Plant& plant_;
  Index pool_ = 0, usable_ = 0;
  std::vector<std::uint16_t> reasons_;        // by host
  std::vector<bool> own_down_;                // by host: itself, not only what it hangs on
  std::vector<std::uint16_t> cable_reasons_;  // by cable
  std::vector<double> loads_;                 // by bundle, of the whole fabric
  double busiest_ = 0;                        // of these
  std::vector<Index> missing_;                // by bundle
  std::vector<double> missing_capacity_;      // by bundle
  std::vector<Index> narrowed_;               // bundles with a link missing
  std::vector<Index> lost_;
};

class Simulator {
 public:
  /// `source` must outlive it. Precondition: the job fits: pool() is at most the plant's hosts.
  Simulator(const HistorySource& source, const Job& job);
  Outcome run(const History& history);

 private:
  enum class Phase : std::uint8_t { running, detecting, waiting, restarting };
  enum class Kind : std::uint8_t { host, nic, cable, leaf, above, found, planned };
  struct Event {
    Hours at;
    Kind kind;
    Index part;
    bool operator<(const Event& other) const { return at > other.at; }
  };
  /// The host that a part belongs to, a cable between switches, or a switch by its number among all.
  struct Place {
    Kind kind;
    Index at;
    bool operator==(const Place&) const = default;
  };
  /// A part that slows the job until it is found, while the job runs there.
  struct Slow {
    std::uint32_t cause;
    Place place;
    double factor;  // of the time that its share of a step takes (StepTime)
    Hours since, repair;
    bool silent, active, is_queued = false;  // in the events, to be found again
  };

  void reset(const History& history);
  void pass(Hours to);
  void take(const Failure& failure);
  void take_at_host(const Failure& failure, Index host, Hours repair);
  void take_above(const Failure& failure, Hours repair);
  void take_domain(const Failure& failure);
  void take_out(const Place& place, Hours repair);
  void take_host_out(Index host, Hours repair);
  void take_leaf_out(Index leaf, Hours repair);
  void give_leaf_back(Index leaf);
  void take_switch_out(Index above, Hours repair);
  bool is_cable_used(Index cable) const;
  bool is_switch_used(Index which) const;
  bool is_used(const Place& place) const;
  Place place_of(std::uint32_t cause, Index part) const;
  bool goes_on(std::uint32_t cause, Index host, double lacks) const;
  double lacks_at(Index leaf, Index host) const;
  void add_lacking(Index host, double nics);
  void slow_down(const Failure& failure, Hours repair);
  Hours when_found(const Failure& failure) const;
  void give(const Event& event);
  void find(Index slow);
  void find_silent();
  void sweep();
  void begin_planned();
  bool job_is_hit();
  void end_slow(Index slow);
  void end_slow_at(const Place& place);
  bool may_drain(const Place& place) const;
  void interrupt(std::uint32_t cause);
  void stop_planned();
  void end_run(bool keeps);
  void look_for_hosts(bool first);
  Index size_with(Index usable) const;
  void grow();
  bool replace_lost();
  bool fill_places();
  void delay_restart(Hours& told, Hours by);
  void start_run();
  void update_speed();
  Hours integral_at(Hours at) const;
  Hours repaired_at(Hours repair);

  const HistorySource& source_;
  const Plant& plant_;
  Job job_;
  PlantState state_;
  std::vector<bool> in_job_;
  std::vector<Index> spares_;
  std::priority_queue<Event> events_;
  std::priority_queue<double, std::vector<double>, std::greater<>> crews_;
  std::vector<Slow> slow_;
  std::vector<Index> active_;                 // of slow_, those that slow the job now
  std::vector<bool> is_drained_;              // by host
  std::vector<bool> switch_out_, cable_out_;  // for a repair of their own
  std::vector<float> nic_lacks_;              // by NIC: how much of it is out while its host goes on
  std::vector<float> lacks_;                  // by host: NICs, of those and of leaves
  std::vector<Index> lacking_;                // hosts with some
  std::vector<std::vector<Index>> go_on_;     // by switch: hosts of a leaf that is out
  std::size_t checked_ = 0;                   // of the lost hosts, those that job_is_hit() has seen
  Index drained_ = 0, size_ = 0;
  Index places_ = 0;     // hosts that the job has
  Index next_host_ = 0;  // of planned work
  Phase phase_ = Phase::running;
  Hours now_{}, phase_end_{}, run_start_{}, next_sweep_{}, next_planned_{};
  Hours between_{};  // failures of the pool, about
  struct Breakpoint {
    Hours at;
    double speed;
    Hours work;
  };
  std::vector<Breakpoint> run_;
  double speed_ = 1;
  Outcome outcome_;
};

}  // namespace weft::reliability
