#include "balancer/reliability/simulator.hpp"

#include <algorithm>
#include <utility>

#include "balancer/reliability/draw.hpp"
#include "topology/base/check.hpp"

namespace weft::reliability {
namespace {

using Phase = SimulatedJob::Phase;

constexpr Hours kNever(1e300);
constexpr Hours kAskAgain(1);  // where so many are drained already that no more may be

constexpr auto kSoftware = static_cast<std::uint32_t>(PartClass::software);
constexpr auto kSwitchCable = static_cast<std::uint32_t>(PartClass::switch_cable);
constexpr auto kHostCable = static_cast<std::uint32_t>(PartClass::host_cable);
constexpr auto kLeaf = static_cast<std::uint32_t>(PartClass::leaf);

/// Of a host, its GPUs, NICs, their cables and its software: the host.
Place place_of(const Plant& plant, std::uint32_t cause, Index part) {
  if (cause == static_cast<std::uint32_t>(PartClass::nic) || cause == kHostCable)
    return {Place::Kind::host, plant.nic_host[part]};
  if (cause == static_cast<std::uint32_t>(PartClass::host)) return {Place::Kind::host, part};
  if (cause < kHostCable || cause == kSoftware) return {Place::Kind::host, part / plant.gpus_per_host};
  if (cause == kSwitchCable) return {Place::Kind::cable, part};
  return {cause == kLeaf ? Place::Kind::leaf : Place::Kind::above, plant.of_tier[cause - kLeaf][part]};
}

/// Of the failure of a domain: its members that it takes out, and how long their repairs take.
std::vector<std::pair<Place, Hours>> members_hit(const Plant& plant, const Failure& failure) {
  const Domain& domain = plant.domains[failure.part];
  std::vector<std::pair<Place, Hours>> members;
  Stream stream({failure.key, 1});
  const auto draw = [&](const Place& place) {
    const bool hit = stream.uniform() < domain.share;
    const Hours repair = domain.repair * stream.exponential();
    if (hit) members.emplace_back(place, repair);
  };
  for (const Index host : domain.hosts) draw({Place::Kind::host, host});
  for (const Index each : domain.switches)
    draw({plant.switches[each].part == PartClass::leaf ? Place::Kind::leaf : Place::Kind::above, each});
  return members;
}

Hours when_found(const Failure& failure, const Job& job, Hours now) {
  if (failure.effect == Effect::slows) return now + job.find_slow;
  switch (job.sweeps.policy) {
    case SweepPolicy::before_job:
    case SweepPolicy::at_restart:
    case SweepPolicy::every:
      return kNever;
    case SweepPolicy::agents:
      return now + job.sweeps.delay;
  }
  return kNever;
}

/// Whether the job runs there, or sends over it.
bool is_used(const Place& place, const Repairs& repairs, const JobHosts& hosts) {
  if (place.kind == Place::Kind::host) return hosts.has(place.at);
  return place.kind == Place::Kind::cable ? repairs.is_cable_used(place.at)
                                          : repairs.is_switch_used(place.at);
}

StepTime step_time(const Repairs& repairs, const SlowParts& slow, const JobHosts& hosts) {
  StepTime step{.network = repairs.state().narrowest()};
  for (const Index each : slow.active())
    if (const SlowParts::Part& what = slow[each]; is_used(what.place, repairs, hosts))
      step.note(what.cause, what.factor);
  const LackingHosts& lacking = repairs.lacking();
  for (const Index host : lacking.hosts())
    if (hosts.has(host)) step.note(static_cast<std::size_t>(PartClass::nic), lacking.slowdown_of(host));
  return step;
}

}  // namespace

Index SlowParts::add(const Part& part) {
  const auto index = static_cast<Index>(parts_.size());
  active_.push_back(index);
  parts_.push_back(part);
  return index;
}

void SlowParts::end(Index index, Hours now) {
  if (!parts_[index].active) return;
  parts_[index].active = false;
  std::erase(active_, index);
  undetected_ += now - parts_[index].since;
}

void SlowParts::end_at(const Place& place, Hours now) {
  for (std::size_t i = active_.size(); i-- > 0;)
    if (parts_[active_[i]].place == place) end(active_[i], now);
}

Hours SlowParts::undetected(Hours now) const {
  Hours all = undetected_;
  for (const Index each : active_) all += now - parts_[each].since;
  return all;
}

bool Faults::take(const Failure& failure) {
  if (asked_.passes_over(failure)) return false;
  const Hours repair = failure.repair * asked_.repair_factor[failure.cause];
  if (failure.cause == kDomainCause) return take_domain(failure);
  const bool is_at_host = failure.cause <= kHostCable || failure.cause == kSoftware;
  return is_at_host ? take_at_host(failure, repair) : take_above(failure, repair);
}

bool Faults::take_at_host(const Failure& failure, Hours repair) {
  const Place place = place_of(plant_, failure.cause, failure.part);
  const Index host = place.at;
  if (host >= asked_.pool()) return false;
  if (failure.cause == kSoftware && failure.effect == Effect::stops)
    return is_used(place, repairs_, job_.hosts());
  if (repairs_.state().is_own_down(host)) return false;
  if (failure.effect != Effect::stops) {
    if (is_used(place, repairs_, job_.hosts())) slow_down(failure, repair);
    return false;
  }
  if (const double lacks = asked_.lacks_after(failure.cause, plant_.nics_of[host]); lacks > 0) {
    if (repairs_.lacking().is_nic_out(failure.part)) return false;
    const auto back = repairs_.take_nic(failure.part, failure.cause, lacks, job_.now(), repair);
    if (back) {
      ends_.push({*back, failure.part, FaultEnd::Kind::repaired, Place::Kind::nic});
      update_speed();
      return false;
    }
  }
  take_out(place, repair);
  return job_.is_hit();
}

/// A switch or a cable between switches.
bool Faults::take_above(const Failure& failure, Hours repair) {
  const Place place = place_of(plant_, failure.cause, failure.part);
  const bool is_of_job = is_used(place, repairs_, job_.hosts());
  if (failure.effect != Effect::stops) {
    if (is_of_job) slow_down(failure, repair);
    return false;
  }
  take_out(place, repair);
  const bool hit = job_.is_hit();
  return hit || (is_of_job && failure.cause != kLeaf);
}

bool Faults::take_domain(const Failure& failure) {
  bool above = false;  // a spine or a core of the job, which interrupts it as it does alone
  for (const auto& [place, length] : members_hit(plant_, failure)) {
    above = above || (place.kind == Place::Kind::above && is_used(place, repairs_, job_.hosts()));
    take_out(place, length * asked_.repair_factor[kDomainCause]);
  }
  update_speed();
  const bool hit = job_.is_hit();
  return hit || above;
}

/// For a repair: the part is out of use until then.
void Faults::take_out(const Place& place, Hours repair) {
  const auto back = repairs_.take(place, job_.now(), repair);
  if (!back) return;
  slow_.end_at(place, job_.now());
  ends_.push({*back, place.at, FaultEnd::Kind::repaired, place.kind});
  if (place.kind != Place::Kind::host) update_speed();
}

void Faults::take_host(Index host, Hours length) {
  repairs_.state().take_host(host);
  ends_.push({job_.now() + length, host, FaultEnd::Kind::planned_end});
}

void Faults::slow_down(const Failure& failure, Hours repair) {
  const Place place = place_of(plant_, failure.cause, failure.part);
  const Index index = slow_.add({failure.cause, place, 1 / source_.slow_to(failure.cause), job_.now(), repair,
                                 failure.effect == Effect::silent});
  const Hours found = when_found(failure, asked_, job_.now());
  if (found < kNever) ends_.push({found, index, FaultEnd::Kind::found});
  update_speed();
}

Hours Faults::next() const { return ends_.empty() ? kNever : ends_.top().at; }

std::optional<Index> Faults::end_first() {
  const FaultEnd event = ends_.top();
  ends_.pop();
  switch (event.kind) {
    case FaultEnd::Kind::repaired:
      repairs_.give({event.place, event.part});
      break;
    case FaultEnd::Kind::planned_end:
      repairs_.state().give_host(event.part);
      break;
    case FaultEnd::Kind::found:
      return event.part;
  }
  update_speed();
  return std::nullopt;
}

bool Faults::find(Index slow) {
  const SlowParts::Part what = slow_[slow];
  if (!what.active) return false;
  if (what.cause == kSoftware) {  // a restart mends it
    slow_.end(slow, job_.now());
    update_speed();
    return true;
  }
  if (!repairs_.may_drain(what.place)) {
    slow_[slow].is_queued = true;
    ends_.push({job_.now() + kAskAgain, slow, FaultEnd::Kind::found});
    return false;
  }
  if (what.place.kind == Place::Kind::host) repairs_.mark_drained(what.place.at);
  slow_.end(slow, job_.now());
  take_out(what.place, what.repair);
  update_speed();
  return job_.is_hit();
}

void Faults::update_speed() {
  if (job_.phase() == Phase::running) job_.set_speed(step_time(repairs_, slow_, job_.hosts()));
}

Simulator::Simulator(const HistorySource& source, const Job& job)
    : asked_(job),
      repairs_(source.plant(), asked_),
      job_(asked_, repairs_.state()),
      faults_(source, asked_, repairs_, job_) {
  WEFT_CHECK(job.hosts > 0 && job.pool() <= source.plant().hosts);
  WEFT_CHECK(job.checkpoint_every > Hours(0));
}

void Simulator::reset(const History& history) {
  repairs_.reset(history.failures.size());
  faults_.reset();
  job_.reset(history);
  next_sweep_ = asked_.sweeps.policy == SweepPolicy::every ? asked_.sweeps.every : kNever;
  next_planned_ = asked_.planned.every > Hours(0) ? asked_.planned.every : kNever;
  next_host_ = 0;
  start_run();
}

Outcome Simulator::run(const History& history) {
  reset(history);
  std::size_t next = 0;
  while (job_.now() < history.length) {
    const Hours failure = next < history.failures.size() ? history.failures[next].at : kNever;
    const Hours event = faults_.next();
    const Hours at = std::min({failure, event, job_.phase_end(), next_sweep_, next_planned_, history.length});
    job_.pass(at);
    if (at == history.length) break;
    if (at == event) {
      end_first();
    } else if (at == failure) {
      const Failure& what = history.failures[next++];
      if (faults_.take(what)) job_.interrupt(what.cause);
    } else if (at == job_.phase_end()) {
      job_.phase() == Phase::detecting ? look_for_hosts() : start_run();
    } else if (at == next_sweep_) {
      sweep();
    } else {
      begin_planned();
    }
  }
  if (job_.phase() == Phase::running) job_.end_run();
  job_.outcome().undetected = faults_.undetected();
  return std::move(job_.outcome());
}

void Simulator::end_first() {
  if (const auto slow = faults_.end_first()) {
    if (faults_.find(*slow)) stop_planned();
    return;
  }
  if (job_.phase() == Phase::waiting) job_.look_for_hosts(false);
  if (job_.phase() == Phase::running) job_.grow();
}

void Simulator::find_silent() {
  const auto slow = faults_.slow();
  for (const Index each : slow)
    if (faults_.is_silent(each) && faults_.find(each)) stop_planned();
}

void Simulator::sweep() {
  next_sweep_ += asked_.sweeps.every;
  job_.sweep();
  find_silent();
}

void Simulator::begin_planned() {
  next_planned_ += asked_.planned.every;
  for (Index i = 0; i < std::min(asked_.planned.hosts, asked_.pool()); ++i) {
    faults_.take_host(next_host_, asked_.planned.length);
    next_host_ = (next_host_ + 1) % asked_.pool();
  }
  if (job_.is_hit()) stop_planned();
}

void Simulator::stop_planned() {
  if (job_.phase() == Phase::restarting) return job_.look_again();
  if (job_.phase() != Phase::running) return;
  const Hours sweeping = job_.stop();
  look_for_hosts();
  job_.pay_for_stop(sweeping);
}

/// After a run, with what is silent found where each restart has a sweep.
void Simulator::look_for_hosts() {
  if (asked_.sweeps.policy == SweepPolicy::at_restart) find_silent();
  job_.look_for_hosts(true);
}

void Simulator::start_run() {
  job_.start_run();
  faults_.update_speed();
  job_.grow();  // hosts came back meanwhile
}

}  // namespace weft::reliability
