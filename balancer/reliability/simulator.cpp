#include "balancer/reliability/simulator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "balancer/reliability/draw.hpp"
#include "topology/base/check.hpp"

namespace weft::reliability {
namespace {

constexpr Hours kNever(1e300);

constexpr auto kNic = static_cast<std::uint32_t>(PartClass::nic);

bool is_at_host(std::uint32_t cause) { return cause <= static_cast<std::uint32_t>(PartClass::host_cable); }

bool is_of_nic(std::uint32_t cause) {
  return cause == kNic || cause == static_cast<std::uint32_t>(PartClass::host_cable);
}

constexpr auto kSoftware = static_cast<std::uint32_t>(PartClass::software);
constexpr auto kSwitchCable = static_cast<std::uint32_t>(PartClass::switch_cable);
constexpr auto kLeaf = static_cast<std::uint32_t>(PartClass::leaf);

Index host_of(const Plant& plant, std::uint32_t cause, Index part) {
  if (is_of_nic(cause)) return plant.nic_host[part];
  return cause == static_cast<std::uint32_t>(PartClass::host) ? part : part / plant.gpus_per_host;
}

/// The number of a leaf, spine or core among all switches.
Index switch_of(const Plant& plant, std::uint32_t cause, Index part) {
  return plant.of_tier[cause - kLeaf][part];
}

}  // namespace

Simulator::Simulator(const HistorySource& source, const Job& job)
    : source_(source), plant_(source.plant()), job_(job), state_(plant_) {
  WEFT_CHECK(job.hosts > 0 && job.pool() <= plant_.hosts);
  WEFT_CHECK(job.checkpoint_every > Hours(0));
}

void Simulator::reset(const History& history) {
  outcome_ = {.length = history.length};
  outcome_.missing.assign(1, 0);
  state_.reset(job_);
  in_job_.assign(plant_.hosts, false);
  spares_.clear();
  for (Index host = 0; host < job_.pool(); ++host) {
    in_job_[host] = !job_.is_spare(host);
    if (!in_job_[host]) spares_.push_back(host);
  }
  events_ = {}, crews_ = {}, slow_.clear(), active_.clear(), checked_ = 0;
  is_drained_.assign(plant_.hosts, false);
  switch_out_.assign(plant_.switches.size(), false);
  cable_out_.assign(plant_.cables.size(), false);
  if (job_.dual_leaf || job_.without_rail) {
    nic_lacks_.assign(plant_.nic_host.size(), 0), lacks_.assign(plant_.hosts, 0), lacking_.clear();
    go_on_.assign(plant_.switches.size(), {});
  }
  // More crews than parts that may be out at once are never called.
  const std::size_t crews = std::min<std::size_t>(
      job_.crews, plant_.hosts + plant_.switches.size() + plant_.cables.size() + history.failures.size());
  for (std::size_t i = 0; i < crews; ++i) crews_.push(0);
  drained_ = 0, size_ = places_ = job_.hosts;
  between_ = history.length * plant_.hosts /
             (static_cast<double>(std::max<std::size_t>(history.failures.size(), 1)) * job_.pool());
  now_ = Hours(0);
  next_sweep_ = job_.sweeps.policy == SweepPolicy::every ? job_.sweeps.every : kNever;
  next_planned_ = job_.planned.every > Hours(0) ? job_.planned.every : kNever;
  next_host_ = 0;
  start_run();
}

Outcome Simulator::run(const History& history) {
  reset(history);
  std::size_t next = 0;
  while (now_ < history.length) {
    const Hours failure = next < history.failures.size() ? history.failures[next].at : kNever;
    const Hours event = events_.empty() ? kNever : events_.top().at;
    const Hours at = std::min({failure, event, phase_end_, next_sweep_, next_planned_, history.length});
    pass(at);
    if (at == history.length) break;
    if (at == event) {
      const Event what = events_.top();
      events_.pop();
      give(what);
    } else if (at == failure) {
      take(history.failures[next++]);
    } else if (at == phase_end_) {
      phase_ == Phase::detecting ? look_for_hosts(true) : start_run();
    } else if (at == next_sweep_) {
      sweep();
    } else {
      begin_planned();
    }
  }
  if (phase_ == Phase::running) end_run(true);
  for (const Index each : active_) outcome_.undetected += now_ - slow_[each].since;
  return std::move(outcome_);
}

void Simulator::pass(Hours to) {
  const Hours gone = to - now_;
  now_ = to;
  switch (phase_) {
    case Phase::running:
      return;  // told by end_run
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

Hours Simulator::repaired_at(Hours repair) {
  if (job_.crews == 0) return now_ + repair;
  const Hours begin = std::max(now_, Hours(crews_.top()));
  crews_.pop();
  crews_.push((begin + repair).count());
  return begin + repair;
}

// --- failures ---

void Simulator::take(const Failure& failure) {
  if (job_.passes_over(failure)) return;
  const Hours repair = failure.repair * job_.repair_factor[failure.cause];
  if (failure.cause == kDomainCause) return take_domain(failure);
  if (is_at_host(failure.cause) || failure.cause == kSoftware)
    return take_at_host(failure, host_of(plant_, failure.cause, failure.part), repair);
  take_above(failure, repair);
}

void Simulator::take_at_host(const Failure& failure, Index host, Hours repair) {
  if (host >= job_.pool()) return;
  if (failure.cause == kSoftware && failure.effect == Effect::stops) {
    if (in_job_[host]) interrupt(kSoftware);
    return;
  }
  if (state_.is_own_down(host)) return;
  if (failure.effect != Effect::stops) {
    if (in_job_[host]) slow_down(failure, repair);
    return;
  }
  if (const double lacks = job_.lacks_after(failure.cause, plant_.nics_of[host]); lacks > 0) {
    if (nic_lacks_[failure.part] > 0) return;
    if (goes_on(failure.cause, host, lacks)) {
      nic_lacks_[failure.part] = static_cast<float>(lacks);
      add_lacking(host, lacks);
      events_.push({repaired_at(repair), Kind::nic, failure.part});
      return update_speed();
    }
  }
  take_host_out(host, repair);
  if (job_is_hit()) interrupt(failure.cause);
}

void Simulator::take_host_out(Index host, Hours repair) {
  if (host >= job_.pool() || state_.is_own_down(host)) return;
  end_slow_at({Kind::host, host});
  state_.mark_own(host, true);
  state_.take_host(host);
  events_.push({repaired_at(repair), Kind::host, host});
}

void Simulator::take_leaf_out(Index leaf, Hours repair) {
  if (switch_out_[leaf]) return;
  end_slow_at({Kind::leaf, leaf});
  switch_out_[leaf] = true;
  for (const Index host : plant_.switches[leaf].hosts) {
    const double lacks = lacks_at(leaf, host);
    if (!goes_on(kLeaf, host, lacks)) {
      state_.take_host(host);
      continue;
    }
    add_lacking(host, lacks);
    go_on_[leaf].push_back(host);
  }
  events_.push({repaired_at(repair), Kind::leaf, leaf});
  update_speed();
}

void Simulator::give_leaf_back(Index leaf) {
  switch_out_[leaf] = false;
  if (!job_.dual_leaf && !job_.without_rail) return state_.give_hosts_of(leaf);
  auto go_on = std::exchange(go_on_[leaf], {});  // in the order of the hosts
  for (const Index host : plant_.switches[leaf].hosts)
    if (std::ranges::binary_search(go_on, host))
      add_lacking(host, -lacks_at(leaf, host));
    else
      state_.give_host(host);
}

/// Whether the job sends over that cable between switches: not where it, or a switch at its end, is out.
bool Simulator::is_cable_used(Index cable) const {
  const Cable& what = plant_.cables[cable];
  return state_.matters(what.bundle) && state_.has_cable(cable) && !switch_out_[what.lower];
}

bool Simulator::is_switch_used(Index which) const {
  const Switch& what = plant_.switches[which];
  if (switch_out_[which]) return false;
  if (what.part == PartClass::leaf) return !what.hosts.empty() && what.hosts.front() < job_.pool();
  return std::ranges::any_of(what.cables, [&](Index each) { return is_cable_used(each); });
}

/// Whether the job runs there, or sends over it.
bool Simulator::is_used(const Place& place) const {
  if (place.kind == Kind::host) return in_job_[place.at];
  return place.kind == Kind::cable ? is_cable_used(place.at) : is_switch_used(place.at);
}

Simulator::Place Simulator::place_of(std::uint32_t cause, Index part) const {
  if (is_at_host(cause) || cause == kSoftware) return {Kind::host, host_of(plant_, cause, part)};
  if (cause == kSwitchCable) return {Kind::cable, part};
  return {cause == kLeaf ? Kind::leaf : Kind::above, switch_of(plant_, cause, part)};
}

/// A switch or a cable between switches.
void Simulator::take_above(const Failure& failure, Hours repair) {
  const Place place = place_of(failure.cause, failure.part);
  const bool is_of_job = is_used(place);
  if (failure.effect != Effect::stops) {
    if (is_of_job) slow_down(failure, repair);
    return;
  }
  take_out(place, repair);
  const bool hit = job_is_hit();
  if (hit || (is_of_job && failure.cause != kLeaf)) interrupt(failure.cause);
}

/// For a repair: the part is out of use until then.
void Simulator::take_out(const Place& place, Hours repair) {
  if (place.kind == Kind::host) return take_host_out(place.at, repair);
  if (place.kind == Kind::leaf) return take_leaf_out(place.at, repair);
  if (place.kind != Kind::cable) return take_switch_out(place.at, repair);
  if (cable_out_[place.at]) return;
  end_slow_at(place);
  cable_out_[place.at] = true;
  state_.take_cable(place.at);
  events_.push({repaired_at(repair), Kind::cable, place.at});
  update_speed();
}

/// A spine or a core.
void Simulator::take_switch_out(Index above, Hours repair) {
  if (switch_out_[above]) return;
  end_slow_at({Kind::above, above});
  switch_out_[above] = true;
  for (const Index cable : plant_.switches[above].cables) state_.take_cable(cable);
  events_.push({repaired_at(repair), Kind::above, above});
  update_speed();
}

void Simulator::take_domain(const Failure& failure) {
  const Domain& domain = plant_.domains[failure.part];
  Stream stream({failure.key, 1});
  const auto repair = [&] { return domain.repair * stream.exponential() * job_.repair_factor[kDomainCause]; };
  for (const Index host : domain.hosts) {
    const bool hit = stream.uniform() < domain.share;
    const Hours length = repair();
    if (hit) take_host_out(host, length);
  }
  bool above = false;  // a spine or a core of the job, which interrupts it as it does alone
  for (const Index each : domain.switches) {
    const bool hit = stream.uniform() < domain.share;
    const Hours length = repair();
    if (!hit) continue;
    const bool is_leaf = plant_.switches[each].part == PartClass::leaf;
    above = above || (!is_leaf && is_switch_used(each));
    is_leaf ? take_leaf_out(each, length) : take_switch_out(each, length);
  }
  update_speed();
  const bool hit = job_is_hit();
  if (hit || above) interrupt(kDomainCause);
}

/// A host of the job became unusable since the last call.
bool Simulator::job_is_hit() {
  const auto& lost = state_.lost();
  bool hit = false;
  for (; checked_ < lost.size(); ++checked_) hit = hit || in_job_[lost[checked_]];
  return hit;
}

void Simulator::give(const Event& event) {
  switch (event.kind) {
    case Kind::host:
      state_.mark_own(event.part, false);
      state_.give_host(event.part);
      if (is_drained_[event.part]) --drained_;
      is_drained_[event.part] = false;
      break;
    case Kind::cable:
      cable_out_[event.part] = false;
      state_.give_cable(event.part);
      break;
    case Kind::nic:
      add_lacking(plant_.nic_host[event.part], -nic_lacks_[event.part]);
      nic_lacks_[event.part] = 0;
      break;
    case Kind::leaf:
      give_leaf_back(event.part);
      break;
    case Kind::above:
      switch_out_[event.part] = false;
      for (const Index cable : plant_.switches[event.part].cables) state_.give_cable(cable);
      break;
    case Kind::planned:
      state_.give_host(event.part);
      break;
    case Kind::found:
      return find(event.part);
  }
  update_speed();
  if (phase_ == Phase::waiting) look_for_hosts(false);
  if (phase_ == Phase::running && size_ < job_.hosts) grow();
}

}  // namespace weft::reliability
