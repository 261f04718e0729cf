#include <algorithm>

#include "balancer/blacklist/capacity.hpp"
#include "balancer/reliability/simulator.hpp"

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

}  // namespace weft::reliability
