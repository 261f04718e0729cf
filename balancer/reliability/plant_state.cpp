#include "balancer/reliability/plant_state.hpp"

#include <algorithm>
#include <utility>

#include "balancer/blacklist/capacity.hpp"

namespace weft::reliability {

PlantState::PlantState(const Plant& plant) : plant_(plant) {}

/// Of an all-to-all of the NICs of the pool, over capacity: what crosses the bundle comes from those below it
/// and goes to all others.
void PlantState::load(Index pool) {
  loads_.assign(plant_.bundles.size(), 0);
  double nics = 0;
  for (Index host = 0; host < pool; ++host) nics += plant_.nics_of[host];
  busiest_ = 0;
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    const Bundle& what = plant_.bundles[i];
    const auto below =
        static_cast<double>(std::ranges::count_if(what.below, [&](Index host) { return host < pool; }));
    loads_[i] = below * (nics - below) / what.capacity;
    if (what.leaf || what.pod) busiest_ = std::max(busiest_, loads_[i]);
  }
  for (std::size_t i = 0; i < loads_.size(); ++i)
    if (const Bundle& what = plant_.bundles[i]; !what.leaf && !what.pod && busiest_ > 0) loads_[i] = busiest_;
}

void PlantState::reset(const Job& job) {
  if (pool_ != job.pool() || loads_.empty()) load(job.pool());
  pool_ = usable_ = job.pool();
  reasons_.assign(plant_.hosts, 0);
  own_down_.assign(plant_.hosts, false);
  cable_reasons_.assign(plant_.cables.size(), 0);
  missing_.assign(plant_.bundles.size(), 0);
  missing_capacity_.assign(plant_.bundles.size(), 0);
  narrowed_.clear();
  lost_.clear();
}

bool PlantState::take_host(Index host) {
  if (reasons_[host]++ > 0 || host >= pool_) return false;
  --usable_;
  lost_.push_back(host);
  return true;
}

void PlantState::give_host(Index host) {
  if (--reasons_[host] == 0 && host < pool_) ++usable_;
}

void PlantState::take_hosts_of(Index leaf) {
  for (const Index host : plant_.switches[leaf].hosts) take_host(host);
}

void PlantState::give_hosts_of(Index leaf) {
  for (const Index host : plant_.switches[leaf].hosts) give_host(host);
}

/// Below a bundle of which no link is left hosts reach none of the pool elsewhere, where there is any.
void PlantState::cut(Index bundle, bool take) {
  if (!matters(bundle)) return;
  const Bundle& what = plant_.bundles[bundle];
  if (what.leaf) return take ? take_hosts_of(*what.leaf) : give_hosts_of(*what.leaf);
  for (const Index host : what.below) take ? void(take_host(host)) : give_host(host);
}

void PlantState::take_cable(Index cable) {
  if (cable_reasons_[cable]++ > 0) return;
  const Index bundle = plant_.cables[cable].bundle;
  if (missing_[bundle]++ == 0) narrowed_.push_back(bundle);
  missing_capacity_[bundle] += plant_.cables[cable].rate;
  if (missing_[bundle] == plant_.bundles[bundle].links) cut(bundle, true);
}

void PlantState::give_cable(Index cable) {
  if (--cable_reasons_[cable] > 0) return;
  const Index bundle = plant_.cables[cable].bundle;
  if (missing_[bundle] == plant_.bundles[bundle].links) cut(bundle, false);
  missing_capacity_[bundle] -= plant_.cables[cable].rate;
  if (--missing_[bundle] == 0) missing_capacity_[bundle] = 0, std::erase(narrowed_, bundle);
}

bool PlantState::may_drain(Index cable) const {
  const blacklist::Caps caps;
  const auto& bundles = plant_.bundles;
  const auto pod_of = [&](const Bundle& each) {
    return each.leaf ? plant_.switches[*each.leaf].pod : each.pod;
  };
  const Bundle& own = bundles[plant_.cables[cable].bundle];
  std::size_t out = 1, pod_links = 0, pod_out = 1;
  for (std::size_t i = 0; i < bundles.size(); ++i) {
    out += missing_[i];
    if (pod_of(bundles[i]) != pod_of(own)) continue;
    pod_links += bundles[i].links, pod_out += missing_[i];
  }
  const std::size_t here = missing_[plant_.cables[cable].bundle] + std::size_t{1};
  return (!own.leaf || here <= blacklist::allowed_of(caps.leaf_uplinks, 1, own.links)) &&
         (!pod_of(own) || pod_out <= blacklist::allowed_of(caps.pod_links, 1, pod_links)) &&
         out <= blacklist::allowed_of(caps.fabric_links, 1, plant_.cables.size());
}

double PlantState::narrowest() const {
  double most = 1;
  for (const Index bundle : narrowed_) {
    const Bundle& what = plant_.bundles[bundle];
    if (missing_[bundle] == what.links || !matters(bundle)) continue;
    const double left = 1 - missing_capacity_[bundle] / what.capacity;
    most = std::max(most, loads_[bundle] / busiest_ / left);
  }
  return most;
}

void LackingHosts::reset() {
  if (!job_.dual_leaf && !job_.without_rail) return;
  nic_lacks_.assign(plant_.nic_host.size(), 0), lacks_.assign(plant_.hosts, 0), hosts_.clear();
}

bool LackingHosts::take_nic(Index nic, std::uint32_t cause, double lacks) {
  const Index host = plant_.nic_host[nic];
  if (!goes_on(cause, host, lacks)) return false;
  nic_lacks_[nic] = static_cast<float>(lacks);
  add(host, lacks);
  return true;
}

void LackingHosts::give_nic(Index nic) {
  add(plant_.nic_host[nic], -nic_lacks_[nic]);
  nic_lacks_[nic] = 0;
}

bool LackingHosts::take_leaf(Index leaf, Index host) {
  const double lacks = lacks_at(leaf, host);
  if (!goes_on(static_cast<std::uint32_t>(PartClass::leaf), host, lacks)) return false;
  add(host, lacks);
  return true;
}

/// With what it lacks already: of two leaves each NIC has one still, or a NIC is the only one that is out.
bool LackingHosts::goes_on(std::uint32_t cause, Index host, double lacks) const {
  if (lacks <= 0) return false;
  const double most =
      cause != static_cast<std::uint32_t>(PartClass::nic) && job_.dual_leaf ? plant_.nics_of[host] * 0.5 : 1;
  return lacks_[host] + lacks <= most;
}

double LackingHosts::lacks_at(Index leaf, Index host) const {
  return job_.lacks_after(static_cast<std::size_t>(PartClass::leaf), plant_.nics_of[host],
                          plant_.nics_at(leaf, host));
}

void LackingHosts::add(Index host, double nics) {
  if (lacks_[host] == 0) hosts_.push_back(host);
  lacks_[host] += static_cast<float>(nics);
  if (lacks_[host] == 0) std::erase(hosts_, host);
}

void Repairs::reset(std::size_t failures) {
  state_.reset(job_);
  is_drained_.assign(plant_.hosts, false), drained_ = 0;
  switch_out_.assign(plant_.switches.size(), false);
  cable_out_.assign(plant_.cables.size(), false);
  lacking_.reset();
  if (job_.dual_leaf || job_.without_rail) go_on_.assign(plant_.switches.size(), {});
  // More crews than parts that may be out at once are never called.
  const std::size_t crews = std::min<std::size_t>(
      job_.crews, plant_.hosts + plant_.switches.size() + plant_.cables.size() + failures);
  crews_ = {};
  for (std::size_t i = 0; i < crews; ++i) crews_.push(0);
}

Hours Repairs::repaired_at(Hours now, Hours repair) {
  if (job_.crews == 0) return now + repair;
  const Hours begin = std::max(now, Hours(crews_.top()));
  crews_.pop();
  crews_.push((begin + repair).count());
  return begin + repair;
}

std::optional<Hours> Repairs::take(const Place& place, Hours now, Hours repair) {
  switch (place.kind) {
    case Place::Kind::host:
      if (place.at >= job_.pool() || state_.is_own_down(place.at)) return std::nullopt;
      state_.mark_own(place.at, true);
      state_.take_host(place.at);
      break;
    case Place::Kind::nic:
      return std::nullopt;
    case Place::Kind::cable:
      if (cable_out_[place.at]) return std::nullopt;
      cable_out_[place.at] = true;
      state_.take_cable(place.at);
      break;
    case Place::Kind::leaf:
      if (switch_out_[place.at]) return std::nullopt;
      switch_out_[place.at] = true;
      take_leaf(place.at);
      break;
    case Place::Kind::above:
      if (switch_out_[place.at]) return std::nullopt;
      switch_out_[place.at] = true;
      for (const Index cable : plant_.switches[place.at].cables) state_.take_cable(cable);
      break;
  }
  return repaired_at(now, repair);
}

void Repairs::give(const Place& place) {
  switch (place.kind) {
    case Place::Kind::host:
      state_.mark_own(place.at, false);
      state_.give_host(place.at);
      if (is_drained_[place.at]) --drained_;
      is_drained_[place.at] = false;
      break;
    case Place::Kind::nic:
      lacking_.give_nic(place.at);
      break;
    case Place::Kind::cable:
      cable_out_[place.at] = false;
      state_.give_cable(place.at);
      break;
    case Place::Kind::leaf:
      switch_out_[place.at] = false;
      give_leaf(place.at);
      break;
    case Place::Kind::above:
      switch_out_[place.at] = false;
      for (const Index cable : plant_.switches[place.at].cables) state_.give_cable(cable);
      break;
  }
}

std::optional<Hours> Repairs::take_nic(Index nic, std::uint32_t cause, double lacks, Hours now,
                                       Hours repair) {
  if (!lacking_.take_nic(nic, cause, lacks)) return std::nullopt;
  return repaired_at(now, repair);
}

void Repairs::take_leaf(Index leaf) {
  for (const Index host : plant_.switches[leaf].hosts)
    if (lacking_.take_leaf(leaf, host))
      go_on_[leaf].push_back(host);
    else
      state_.take_host(host);
}

void Repairs::give_leaf(Index leaf) {
  if (!job_.dual_leaf && !job_.without_rail) return state_.give_hosts_of(leaf);
  auto go_on = std::exchange(go_on_[leaf], {});  // in the order of the hosts
  for (const Index host : plant_.switches[leaf].hosts)
    if (std::ranges::binary_search(go_on, host))
      lacking_.give_leaf(leaf, host);
    else
      state_.give_host(host);
}

bool Repairs::is_cable_used(Index cable) const {
  const Cable& what = plant_.cables[cable];
  return state_.matters(what.bundle) && state_.has_cable(cable) && !switch_out_[what.lower];
}

bool Repairs::is_switch_used(Index which) const {
  const Switch& what = plant_.switches[which];
  if (switch_out_[which]) return false;
  if (what.part == PartClass::leaf) return !what.hosts.empty() && what.hosts.front() < job_.pool();
  return std::ranges::any_of(what.cables, [&](Index each) { return is_cable_used(each); });
}

bool Repairs::may_drain(const Place& place) const {
  if (place.kind == Place::Kind::host) return drained_ < job_.most_drained;
  return place.kind != Place::Kind::cable || !job_.caps || state_.may_drain(place.at);
}

}  // namespace weft::reliability
