// The job's part of the simulator: what a run keeps, what an interruption costs, which hosts it goes on with.
#include <algorithm>
#include <cmath>

#include "balancer/reliability/simulator.hpp"

namespace weft::reliability {
namespace {

constexpr Hours kNoEnd(1e300);

}  // namespace

void Simulator::interrupt(std::uint32_t cause) {
  if (phase_ == Phase::waiting) return;
  ++outcome_.interruptions[cause];
  if (phase_ == Phase::running) end_run(false);
  phase_ = Phase::detecting;
  phase_end_ = now_ + job_.detect;
}

/// For what was found: a checkpoint is written first, and nobody has to notice anything.
void Simulator::stop_planned() {
  if (phase_ == Phase::restarting) {  // not with a host that is out
    const Hours end = phase_end_;
    look_for_hosts(false);
    if (phase_ == Phase::restarting) phase_end_ = std::max(phase_end_, end);
    return;
  }
  if (phase_ != Phase::running) return;
  const Hours sweeping =
      std::max(run_start_ - now_, Hours(0));  // a sweep that finds something takes its time
  ++outcome_.drains;
  end_run(true);
  look_for_hosts(true);
  if (phase_ != Phase::restarting) return;
  delay_restart(outcome_.time.sweeps, sweeping);
  delay_restart(outcome_.time.checkpoints, job_.checkpoint_cost);
}

/// A job that shrank takes hosts back where what they do until the next failure is more than a restart takes.
void Simulator::grow() {
  const Index size = size_with(state_.usable_in_pool());
  if (size <= size_) return;
  const Hours cost = job_.restart + job_.checkpoint_cost;
  if (between_ * (static_cast<double>(size - size_) / job_.hosts) <= cost) return;
  end_run(true);
  look_for_hosts(false);
  delay_restart(outcome_.time.checkpoints, job_.checkpoint_cost);
}

/// With what it lacks already: of two leaves each NIC has one still, or a NIC is the only one that is out.
bool Simulator::goes_on(std::uint32_t cause, Index host, double lacks) const {
  if (lacks <= 0) return false;
  const double most =
      cause != static_cast<std::uint32_t>(PartClass::nic) && job_.dual_leaf ? plant_.nics_of[host] * 0.5 : 1;
  return lacks_[host] + lacks <= most;
}

void Simulator::add_lacking(Index host, double nics) {
  if (lacks_[host] == 0) lacking_.push_back(host);
  lacks_[host] += static_cast<float>(nics);
  if (lacks_[host] == 0) std::erase(lacking_, host);
}

double Simulator::lacks_at(Index leaf, Index host) const {
  return job_.lacks_after(static_cast<std::size_t>(PartClass::leaf), plant_.nics_of[host],
                          plant_.nics_at(leaf, host));
}

void Simulator::begin_planned() {
  next_planned_ += job_.planned.every;
  for (Index i = 0; i < std::min(job_.planned.hosts, job_.pool()); ++i) {
    state_.take_host(next_host_);
    events_.push({now_ + job_.planned.length, Kind::planned, next_host_});
    next_host_ = (next_host_ + 1) % job_.pool();
  }
  if (job_is_hit()) stop_planned();
}

void Simulator::start_run() {
  phase_ = Phase::running;
  phase_end_ = kNoEnd;
  run_start_ = now_;
  run_.clear();
  speed_ = 0;
  update_speed();
  if (size_ < job_.hosts) grow();  // hosts came back meanwhile
}

void Simulator::update_speed() {
  if (phase_ != Phase::running) return;
  StepTime step{.network = state_.narrowest()};
  for (const Index each : active_)
    if (const Slow& what = slow_[each]; is_used(what.place)) step.note(what.cause, what.factor);
  for (const Index host : lacking_)
    if (in_job_[host])
      step.note(static_cast<std::size_t>(PartClass::nic),
                plant_.nics_of[host] / (plant_.nics_of[host] - static_cast<double>(lacks_[host])));
  const double speed = static_cast<double>(size_) / job_.hosts / step.over_whole(job_.network_share);
  if (!run_.empty() && speed == speed_) return;
  run_.push_back({std::max(now_, run_start_), speed, run_.empty() ? Hours(0) : integral_at(now_)});
  speed_ = speed;
}

/// Work done in this run up to that time, if nothing but speed mattered.
Hours Simulator::integral_at(Hours at) const {
  const auto after = std::ranges::upper_bound(run_, at, {}, &Breakpoint::at);
  if (after == run_.begin()) return Hours(0);
  const Breakpoint& last = *std::prev(after);
  return last.work + (at - last.at) * last.speed;
}

/// Cycles of work and a checkpoint; what came after the last checkpoint is done again, unless it `keeps`.
void Simulator::end_run(bool keeps) {
  const Hours length = std::max(now_ - run_start_, Hours(0));
  if (now_ < run_start_) outcome_.time.sweeps -= run_start_ - now_;  // it ended during one
  const Hours cycle = job_.checkpoint_every + job_.checkpoint_cost;
  const double cycles = std::floor(length / cycle);
  const Hours last = run_start_ + cycle * cycles;
  const double working = job_.checkpoint_every / cycle;
  Hours kept = integral_at(last) * working;
  Hours worked = job_.checkpoint_every * cycles;
  outcome_.time.checkpoints += job_.checkpoint_cost * cycles;
  const Hours rest = run_start_ + length - last;
  if (keeps) {
    kept += integral_at(run_start_ + length) - integral_at(last);
    worked += rest;
  } else {
    outcome_.time.repeated += rest;
  }
  outcome_.time.effective += kept;
  (size_ < job_.hosts ? outcome_.time.shrunk : outcome_.time.slow) += worked - kept;
}

void Simulator::look_for_hosts(bool first) {
  phase_ = Phase::detecting;  // what is found now ends no run
  if (job_.sweeps.policy == SweepPolicy::at_restart && first) find_silent();
  const Index usable = state_.usable_in_pool(), out = job_.pool() - usable;
  if (first) {
    if (outcome_.missing.size() <= out) outcome_.missing.resize(out + 1, 0);
    ++outcome_.missing[out];
    ++outcome_.restarts;
    if (usable >= job_.hosts) ++outcome_.full;
  }
  const Index size = size_with(usable);
  if (size == 0 || (size < job_.hosts && job_.shortage == Shortage::wait)) {
    phase_ = Phase::waiting;
    phase_end_ = kNoEnd;
    return;
  }
  size_ = size;
  const bool replaced = replace_lost();
  phase_ = Phase::restarting;
  phase_end_ = now_ + job_.restart + (replaced ? job_.spare_start : Hours(0));
  if (job_.sweeps.policy == SweepPolicy::at_restart) delay_restart(outcome_.time.sweeps, job_.sweeps.cost);
}

/// Of whole groups.
Index Simulator::size_with(Index usable) const {
  if (usable >= job_.hosts) return job_.hosts;
  const Index short_of = (job_.hosts - usable + job_.group - 1) / job_.group * job_.group;
  return short_of >= job_.hosts ? 0 : job_.hosts - short_of;
}

/// Time of the restart that is told elsewhere.
void Simulator::delay_restart(Hours& told, Hours by) {
  phase_end_ += by;
  told += by;
  outcome_.time.restart -= by;
}

/// Hosts of the job that cannot be used give their place to spares that can; true where one did. Without
/// enough of them those that are left over are out of the job.
bool Simulator::replace_lost() {
  bool replaced = false;
  for (const Index host : state_.lost()) {
    if (!in_job_[host] || state_.usable(host)) continue;
    in_job_[host] = false;
    const auto spare = std::ranges::find_if(spares_, [&](Index each) { return state_.usable(each); });
    if (spare != spares_.end()) {
      in_job_[*spare] = true;
      *spare = host;
      replaced = true;
    } else {
      spares_.push_back(host);
      --places_;
    }
  }
  state_.lost().clear();
  checked_ = 0;
  return fill_places() || replaced;
}

/// A job that shrank, or grows, has as many hosts as its size says; true where one came to it.
bool Simulator::fill_places() {
  bool came = false;
  for (std::size_t i = 0; i < spares_.size() && places_ < size_;) {
    if (!state_.usable(spares_[i])) {
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

}  // namespace weft::reliability
