#include "balancer/demand/demand.hpp"

#include <algorithm>

#include "topology/model/fabric.hpp"

namespace weft::demand {

Demand combine(const std::vector<Demand>& jobs) {
  std::size_t phases = 0;
  for (const Demand& job : jobs) phases = std::max(phases, job.phases.size());
  Demand all;
  for (std::size_t i = 0; i < phases; ++i) {
    Phase& phase = all.phases.emplace_back();
    for (const Demand& job : jobs) {
      if (job.phases.empty() || (i >= job.phases.size() && job.phases.size() > 1)) continue;
      const Phase& part = job.phases[std::min(i, job.phases.size() - 1)];
      phase.name += (phase.name.empty() ? "" : " + ") + part.name;
      phase.flows.insert(phase.flows.end(), part.flows.begin(), part.flows.end());
    }
  }
  return all;
}

std::string describe(const Fabric& fabric, const Flow& flow) {
  return fmt::format("{} -> {}", fabric.name_of_nic(flow.src), fabric.name_of_nic(flow.dst));
}

}  // namespace weft::demand
