// The job's part of the simulator: what a run keeps, what an interruption costs, which hosts it goes on with.
#include <algorithm>
#include <cmath>

#include "balancer/reliability/simulator.hpp"

namespace weft::reliability {
namespace {

constexpr Hours kNoEnd(1e300);

}  // namespace

void JobHosts::reset(Index plant_hosts) {
  in_job_.assign(plant_hosts, false);
  spares_.clear();
  for (Index host = 0; host < job_.pool(); ++host) {
    in_job_[host] = !job_.is_spare(host);
    if (!in_job_[host]) spares_.push_back(host);
  }
  size_ = places_ = job_.hosts;
  checked_ = 0;
}

Index JobHosts::size_with(Index usable) const {
  if (usable >= job_.hosts) return job_.hosts;
  const Index short_of = (job_.hosts - usable + job_.group - 1) / job_.group * job_.group;
  return short_of >= job_.hosts ? 0 : job_.hosts - short_of;
}

bool JobHosts::go_on_with(Index size, PlantState& plant) {
  size_ = size;
  const bool replaced = replace_lost(plant);
  return fill_places(plant) || replaced;
}

/// Without enough spares those that are left over are out of the job. True where a spare took a place.
bool JobHosts::replace_lost(PlantState& plant) {
  bool replaced = false;
  for (const Index host : plant.lost()) {
    if (!in_job_[host] || plant.usable(host)) continue;
    in_job_[host] = false;
    const auto spare = std::ranges::find_if(spares_, [&](Index each) { return plant.usable(each); });
    if (spare != spares_.end()) {
      in_job_[*spare] = true;
      *spare = host;
      replaced = true;
    } else {
      spares_.push_back(host);
      --places_;
    }
  }
  plant.lost().clear();
  checked_ = 0;
  return replaced;
}

/// A job that shrank, or grows, has as many hosts as its size says; true where one came to it.
bool JobHosts::fill_places(PlantState& plant) {
  bool came = false;
  for (std::size_t i = 0; i < spares_.size() && places_ < size_;) {
    if (!plant.usable(spares_[i])) {
      ++i;
      continue;
    }
    in_job_[spares_[i]] = came = true;
    ++places_;
    spares_.erase(spares_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (Index host = job_.pool(); host-- > 0 && places_ > size_;) {
    if (!in_job_[host]) continue;
    in_job_[host] = false;
    --places_;
    spares_.push_back(host);
  }
  return came;
}

void JobRun::set_speed(Hours now, double speed) {
  if (!steps_.empty() && speed == speed_) return;
  steps_.push_back({std::max(now, start_), speed, steps_.empty() ? Hours(0) : work_until(now)});
  speed_ = speed;
}

Hours JobRun::work_until(Hours at) const {
  const auto after = std::ranges::upper_bound(steps_, at, {}, &Step::at);
  if (after == steps_.begin()) return Hours(0);
  const Step& last = *std::prev(after);
  return last.work + (at - last.at) * last.speed;
}

void JobRun::end(Hours now, bool keeps, bool is_short, TimeSpent& time) const {
  const Hours length = std::max(now - start_, Hours(0));
  if (now < start_) time.sweeps -= start_ - now;  // it ended during one
  const Hours cycle = job_.checkpoint_every + job_.checkpoint_cost;
  const double cycles = std::floor(length / cycle);
  const Hours last = start_ + cycle * cycles;
  const double working = job_.checkpoint_every / cycle;
  Hours kept = work_until(last) * working;
  Hours worked = job_.checkpoint_every * cycles;
  time.checkpoints += job_.checkpoint_cost * cycles;
  const Hours rest = start_ + length - last;
  if (keeps) {
    kept += work_until(start_ + length) - work_until(last);
    worked += rest;
  } else {
    time.repeated += rest;
  }
  time.effective += kept;
  (is_short ? time.shrunk : time.slow) += worked - kept;
}

void SimulatedJob::reset(const History& history) {
  const Index plant_hosts = plant_.hosts();
  outcome_ = {.length = history.length};
  outcome_.missing.assign(1, 0);
  hosts_.reset(plant_hosts);
  between_ = history.length * plant_hosts /
             (static_cast<double>(std::max<std::size_t>(history.failures.size(), 1)) * job_.pool());
  now_ = Hours(0);
}

void SimulatedJob::pass(Hours to) {
  const Hours gone = to - now_;
  now_ = to;
  switch (phase_) {
    case Phase::running:
      return;  // told by its end
    case Phase::detecting:
      outcome_.time.detection += gone;
      return;
    case Phase::waiting:
      outcome_.time.waiting += gone;
      return;
    case Phase::restarting:
      outcome_.time.restart += gone;
      return;
  }
}

void SimulatedJob::start_run() {
  phase_ = Phase::running;
  phase_end_ = kNoEnd;
  run_.begin(now_);
}

void SimulatedJob::set_speed(const StepTime& step) {
  run_.set_speed(now_, static_cast<double>(hosts_.size()) / job_.hosts / step.over_whole(job_.network_share));
}

void SimulatedJob::interrupt(std::uint32_t cause) {
  if (phase_ == Phase::waiting) return;
  ++outcome_.interruptions[cause];
  if (phase_ == Phase::running) close_run(false);
  phase_ = Phase::detecting;
  phase_end_ = now_ + job_.detect;
}

Hours SimulatedJob::stop() {
  const Hours sweeping = run_.still(now_);  // a sweep that finds something takes its time
  ++outcome_.drains;
  end_run();
  return sweeping;
}

void SimulatedJob::pay_for_stop(Hours sweeping) {
  if (phase_ != Phase::restarting) return;
  delay_restart(outcome_.time.sweeps, sweeping);
  delay_restart(outcome_.time.checkpoints, job_.checkpoint_cost);
}

void SimulatedJob::sweep() {
  if (phase_ != Phase::running) return;
  close_run(true);
  outcome_.time.sweeps += job_.sweeps.cost;
  run_.begin_again(now_ + job_.sweeps.cost);
}

void SimulatedJob::look_for_hosts(bool first) {
  const Index usable = plant_.usable_in_pool(), out = job_.pool() - usable;
  if (first) {
    if (outcome_.missing.size() <= out) outcome_.missing.resize(out + 1, 0);
    ++outcome_.missing[out];
    ++outcome_.restarts;
    if (usable >= job_.hosts) ++outcome_.full;
  }
  const Index size = hosts_.size_with(usable);
  if (size == 0 || (size < job_.hosts && job_.shortage == Shortage::wait)) {
    phase_ = Phase::waiting;
    phase_end_ = kNoEnd;
    return;
  }
  const bool replaced = hosts_.go_on_with(size, plant_);
  phase_ = Phase::restarting;
  phase_end_ = now_ + job_.restart + (replaced ? job_.spare_start : Hours(0));
  if (job_.sweeps.policy == SweepPolicy::at_restart) delay_restart(outcome_.time.sweeps, job_.sweeps.cost);
}

void SimulatedJob::look_again() {
  const Hours end = phase_end_;
  look_for_hosts(false);
  if (phase_ == Phase::restarting) phase_end_ = std::max(phase_end_, end);
}

void SimulatedJob::grow() {
  if (!hosts_.is_short()) return;
  const Index size = hosts_.size_with(plant_.usable_in_pool());
  if (size <= hosts_.size()) return;
  const Hours cost = job_.restart + job_.checkpoint_cost;
  if (between_ * (static_cast<double>(size - hosts_.size()) / job_.hosts) <= cost) return;
  end_run();
  look_for_hosts(false);
  delay_restart(outcome_.time.checkpoints, job_.checkpoint_cost);
}

/// Time of the restart that is told elsewhere.
void SimulatedJob::delay_restart(Hours& told, Hours by) {
  phase_end_ += by;
  told += by;
  outcome_.time.restart -= by;
}

}  // namespace weft::reliability
