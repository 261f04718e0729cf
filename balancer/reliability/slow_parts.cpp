// The slow parts of the simulator: what slows the job until it is found, and who finds it.
#include <algorithm>

#include "balancer/blacklist/capacity.hpp"
#include "balancer/reliability/simulator.hpp"

namespace weft::reliability {
namespace {

constexpr Hours kNobodyLooks(1e300);
constexpr Hours kAskAgain(1);  // where so many are drained already that no more may be

}  // namespace

Hours Simulator::when_found(const Failure& failure) const {
  if (failure.effect == Effect::slows) return now_ + job_.find_slow;
  switch (job_.sweeps.policy) {
    case SweepPolicy::before_job:
    case SweepPolicy::at_restart:
    case SweepPolicy::every:
      return kNobodyLooks;
    case SweepPolicy::agents:
      return now_ + job_.sweeps.delay;
  }
  return kNobodyLooks;
}

void Simulator::slow_down(const Failure& failure, Hours repair) {
  const auto index = static_cast<Index>(slow_.size());
  active_.push_back(index);
  slow_.push_back({failure.cause, place_of(failure.cause, failure.part), 1 / source_.slow_to(failure.cause),
                   now_, repair, failure.effect == Effect::silent, true});
  const Hours end = when_found(failure);
  if (end < kNobodyLooks) events_.push({end, Kind::found, index});
  update_speed();
}

void Simulator::end_slow(Index index) {
  if (!slow_[index].active) return;
  slow_[index].active = false;
  std::erase(active_, index);
  outcome_.undetected += now_ - slow_[index].since;
}

/// Whatever is slow there is repaired with it.
void Simulator::end_slow_at(const Place& place) {
  for (std::size_t i = active_.size(); i-- > 0;)
    if (slow_[active_[i]].place == place) end_slow(active_[i]);
}

bool Simulator::may_drain(const Place& place) const {
  if (place.kind == Kind::host) return drained_ < job_.most_drained;
  return place.kind != Kind::cable || !job_.caps || state_.may_drain(place.at);
}

void Simulator::find(Index index) {
  const Slow what = slow_[index];
  if (!what.active) return;
  if (what.cause == static_cast<std::uint32_t>(PartClass::software)) {  // a restart mends it
    end_slow(index);
    update_speed();
    return stop_planned();
  }
  if (!may_drain(what.place)) {
    slow_[index].is_queued = true;
    return events_.push({now_ + kAskAgain, Kind::found, index});
  }
  if (what.place.kind == Kind::host) {
    ++drained_;
    is_drained_[what.place.at] = true;
  }
  end_slow(index);
  take_out(what.place, what.repair);
  update_speed();
  if (job_is_hit()) stop_planned();
}

void Simulator::find_silent() {
  const auto active = active_;
  for (const Index each : active)
    if (slow_[each].silent && !slow_[each].is_queued) find(each);
}

void Simulator::sweep() {
  next_sweep_ += job_.sweeps.every;
  if (phase_ == Phase::running) {
    // It stands still: as if the run were one with no speed for so long.
    end_run(true);
    outcome_.time.sweeps += job_.sweeps.cost;
    run_start_ = now_ + job_.sweeps.cost;
    run_ = {{run_start_, speed_, Hours(0)}};
  }
  find_silent();
}

}  // namespace weft::reliability
