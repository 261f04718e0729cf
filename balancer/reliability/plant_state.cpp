#include <algorithm>

#include "balancer/reliability/simulator.hpp"

namespace weft::reliability {

PlantState::PlantState(const Plant& plant) : plant_(plant) {}

void PlantState::reset(const Job& job) {
  pool_ = usable_ = job.pool();
  reasons_.assign(plant_.hosts, 0);
  own_down_.assign(plant_.hosts, false);
  cable_reasons_.assign(plant_.cables.size(), 0);
  missing_.assign(plant_.bundles.size(), 0);
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

/// Below a bundle of which no link is left hosts reach nobody.
void PlantState::cut(Index bundle, bool take) {
  const Bundle& what = plant_.bundles[bundle];
  if (what.leaf) return take ? take_hosts_of(*what.leaf) : give_hosts_of(*what.leaf);
  for (Index host = what.first_host; host < what.last_host; ++host)
    take ? void(take_host(host)) : give_host(host);
}

void PlantState::take_cable(Index cable) {
  if (cable_reasons_[cable]++ > 0) return;
  const Index bundle = plant_.cables[cable].bundle;
  if (missing_[bundle]++ == 0) narrowed_.push_back(bundle);
  if (missing_[bundle] == plant_.bundles[bundle].links) cut(bundle, true);
}

void PlantState::give_cable(Index cable) {
  if (--cable_reasons_[cable] > 0) return;
  const Index bundle = plant_.cables[cable].bundle;
  if (missing_[bundle] == plant_.bundles[bundle].links) cut(bundle, false);
  if (--missing_[bundle] == 0) std::erase(narrowed_, bundle);
}

double PlantState::narrowest() const {
  double most = 1;
  for (const Index bundle : narrowed_) {
    const double links = plant_.bundles[bundle].links, left = links - missing_[bundle];
    if (left > 0 && matters(bundle)) most = std::max(most, links / left);
  }
  return most;
}

}  // namespace weft::reliability
