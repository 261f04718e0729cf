// Simulator: a job over a history of failures, event by event. Deterministic: all chance is in the history.
// One thread; kept from run to run, so that its memory is taken once. Faults says what is out or slow,
// SimulatedJob what the job does about it.
#pragma once

#include <algorithm>
#include <optional>
#include <queue>
#include <vector>

#include "balancer/reliability/job.hpp"
#include "balancer/reliability/plant_state.hpp"

namespace weft::reliability {

/// Parts that slow the job until they are found, while the job runs there.
class SlowParts {
 public:
  struct Part {
    std::uint32_t cause;
    Place place;
    double factor;  // of the time that its share of a step takes (StepTime)
    Hours since, repair;
    bool silent;
    bool active = true, is_queued = false;  // in the events, to be found again
  };

  void reset() { parts_.clear(), active_.clear(), undetected_ = Hours(0); }
  Index add(const Part& part);
  Part& operator[](Index index) { return parts_[index]; }
  const Part& operator[](Index index) const { return parts_[index]; }
  /// Those that slow the job now.
  const std::vector<Index>& active() const { return active_; }
  void end(Index index, Hours now);
  /// Whatever is slow there is repaired with it.
  void end_at(const Place& place, Hours now);
  /// Until now, of all of them.
  Hours undetected(Hours now) const;

 private:
  std::vector<Part> parts_;
  std::vector<Index> active_;
  Hours undetected_{};  // of those that ended
};

/// Which hosts the job has, and which of its pool stand by.
class JobHosts {
 public:
  /// `job` must outlive it.
  explicit JobHosts(const Job& job) : job_(job) {}
  void reset(Index plant_hosts);

  bool has(Index host) const { return in_job_[host]; }
  /// As the job runs: fewer hosts than it should have where it shrank.
  Index size() const { return size_; }
  bool is_short() const { return size_ < job_.hosts; }
  /// With so many usable hosts, of whole groups; 0: not even one.
  Index size_with(Index usable) const;
  /// A host of the job became unusable since the last call.
  bool are_hit(const PlantState& plant) {
    const auto& lost = plant.lost();
    bool hit = false;
    for (; checked_ < lost.size(); ++checked_) hit = hit || in_job_[lost[checked_]];
    return hit;
  }
  /// It goes on with so many: those that cannot be used give their place to spares that can. True where one
  /// came to it.
  bool go_on_with(Index size, PlantState& plant);

 private:
  bool replace_lost(PlantState& plant);
  bool fill_places(PlantState& plant);

  const Job& job_;
  std::vector<bool> in_job_;
  std::vector<Index> spares_;
  Index size_ = 0, places_ = 0;  // places: hosts that it has
  std::size_t checked_ = 0;      // of the lost hosts, those that are_hit() has seen
};

/// A run between two interruptions: its speed, and what of its work is kept.
class JobRun {
 public:
  /// `job` must outlive it.
  explicit JobRun(const Job& job) : job_(job) {}

  void begin(Hours now) { start_ = now, speed_ = 0, steps_.clear(); }
  void set_speed(Hours now, double speed);
  /// As if it began then, at the speed of now.
  void begin_again(Hours then) { start_ = then, steps_ = {{then, speed_, Hours(0)}}; }
  /// What is left of the time in which it stands still.
  Hours still(Hours now) const { return std::max(start_ - now, Hours(0)); }
  /// Cycles of work and a checkpoint; what came after the last checkpoint is done again, unless it `keeps`.
  void end(Hours now, bool keeps, bool is_short, TimeSpent& time) const;

 private:
  /// Work done up to that time, if nothing but speed mattered.
  Hours work_until(Hours at) const;

  struct Step {
    Hours at;
    double speed;
    Hours work;
  };
  const Job& job_;
  Hours start_{};
  double speed_ = 1;
  std::vector<Step> steps_;
};

/// The job: when it runs, waits or restarts, with which hosts, and where its time goes.
class SimulatedJob {
 public:
  enum class Phase : std::uint8_t { running, detecting, waiting, restarting };

  /// Both must outlive it.
  SimulatedJob(const Job& job, PlantState& plant) : job_(job), plant_(plant), hosts_(job), run_(job) {}
  void reset(const History& history);
  Outcome& outcome() { return outcome_; }

  Hours now() const { return now_; }
  Hours phase_end() const { return phase_end_; }
  Phase phase() const { return phase_; }
  const JobHosts& hosts() const { return hosts_; }
  /// JobHosts::are_hit().
  bool is_hit() { return hosts_.are_hit(plant_); }
  void pass(Hours to);

  /// Its speed is to be set then.
  void start_run();
  void set_speed(const StepTime& step);
  void interrupt(std::uint32_t cause);
  /// What it did is kept. What is found from now on ends no run.
  void end_run() { close_run(true), phase_ = Phase::detecting; }
  /// For what was found: a checkpoint is written first, and nobody has to notice anything. Its hosts are to
  /// be looked for then; what is returned goes to pay_for_stop().
  Hours stop();
  void pay_for_stop(Hours sweeping);
  /// It stands still for so long as a sweep costs.
  void sweep();
  /// It restarts, or waits. `first`: after a run, not while it waits or restarts.
  void look_for_hosts(bool first);
  /// While it restarts: not with a host that is out.
  void look_again();
  /// Where it is short of hosts: it takes some back where what they do until the next failure is more than a
  /// restart takes.
  void grow();

 private:
  void close_run(bool keeps) { run_.end(now_, keeps, hosts_.is_short(), outcome_.time); }
  void delay_restart(Hours& told, Hours by);

  const Job& job_;
  PlantState& plant_;
  JobHosts hosts_;
  JobRun run_;
  Phase phase_ = Phase::running;
  Hours now_{}, phase_end_{};
  Hours between_{};  // failures of the pool, about
  Outcome outcome_;
};

/// A repair or planned work ends, or what is slow is found.
struct FaultEnd {
  enum class Kind : std::uint8_t { repaired, planned_end, found };
  Hours at;
  Index part;  // there, as Place::at; of `found` its index among SlowParts
  Kind kind;
  Place::Kind place = Place::Kind::host;
  bool operator<(const FaultEnd& other) const { return at > other.at; }
};

/// What is out or slow for the job, and when that ends. The job's speed follows.
class Faults {
 public:
  /// All must outlive it.
  Faults(const HistorySource& source, const Job& asked, Repairs& repairs, SimulatedJob& job)
      : source_(source), plant_(source.plant()), asked_(asked), repairs_(repairs), job_(job) {}
  void reset() { slow_.reset(), ends_ = {}; }

  /// Whether it interrupts the job.
  bool take(const Failure& failure);
  /// For planned work: it is out for so long.
  void take_host(Index host, Hours length);
  /// When the first of them ends, or is found.
  Hours next() const;
  /// That comes now: what is slow and to be found; absent: something is back.
  std::optional<Index> end_first();
  /// What slows the job.
  const std::vector<Index>& slow() const { return slow_.active(); }
  bool is_silent(Index slow) const { return slow_[slow].silent && !slow_[slow].is_queued; }
  /// Whether the job has to stop for it.
  bool find(Index slow);
  void update_speed();
  Hours undetected() const { return slow_.undetected(job_.now()); }

 private:
  bool take_at_host(const Failure& failure, Hours repair);
  bool take_above(const Failure& failure, Hours repair);
  bool take_domain(const Failure& failure);
  void take_out(const Place& place, Hours repair);
  void slow_down(const Failure& failure, Hours repair);

  const HistorySource& source_;
  const Plant& plant_;
  const Job& asked_;
  Repairs& repairs_;
  SimulatedJob& job_;
  SlowParts slow_;
  std::priority_queue<FaultEnd> ends_;
};

class Simulator {
 public:
  /// `source` must outlive it. Precondition: the job fits: pool() is at most the plant's hosts.
  Simulator(const HistorySource& source, const Job& job);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;
  Outcome run(const History& history);

 private:
  void reset(const History& history);
  void end_first();
  void find_silent();
  void begin_planned();
  void sweep();
  void stop_planned();
  void look_for_hosts();
  void start_run();

  const Job asked_;
  Repairs repairs_;
  SimulatedJob job_;
  Faults faults_;
  Index next_host_ = 0;  // of planned work
  Hours next_sweep_{}, next_planned_{};
};

}  // namespace weft::reliability
