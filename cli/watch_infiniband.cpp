#include "cli/watch_infiniband.hpp"

#include <set>
#include <utility>

#include "topology/model/fabric.hpp"

namespace weft::cli {

run::MappedPlan plan_of_tables(const InfinibandReading& reading, const Fabric& fabric,
                               const std::vector<PortId>& nics, const watch::PlanLimits& limits) {
  const std::set<PortId> takes_part(nics.begin(), nics.end());
  std::vector<PortId> without;
  for (const PortId nic : fabric.nics())
    if (!takes_part.contains(nic)) without.push_back(nic);
  const AddressBook nowhere;  // addresses are of hop answers, and nothing was traced
  PathTable table;
  plan::PathLearner learner(fabric, nowhere, table);
  // Labels without a path are left out: what no other label crosses is then in the plan's `uncovered`.
  static_cast<void>(adopt_paths(learner, reading, pairs_to_probe(reading, fabric, without)));
  return {make_standing_plan(fabric, learner, nics, limits), without.size()};
}

run::ReadPlan plans_of_subnet(std::shared_ptr<mad::Mads> mads, const Fabric& fabric, AddressBook gids,
                              const watch::PlanLimits& limits) {
  return [mads = std::move(mads), &fabric, gids = std::move(gids), limits](
             std::vector<PortId> nics, const std::stop_token& stop) -> Result<run::MappedPlan> {
    WEFT_TRY(const auto reading, read_infiniband_routes(*mads, fabric, stop));
    const auto now = gids_of(reading, fabric);
    std::erase_if(nics, [&](PortId nic) { return now.address_of(nic) != gids.address_of(nic); });
    return plan_of_tables(reading, fabric, nics, limits);
  };
}

std::optional<std::string> DropNotes::news(Nanoseconds now) {
  if (now < next_) return std::nullopt;
  next_ = now + std::chrono::seconds(1);
  const auto before = std::exchange(known_, dropped_());
  if (known_ <= before) return std::nullopt;
  return fmt::format("ibsim, the fabric of this lab, dropped {} packets because this machine is busy",
                     known_ - before);
}

std::vector<PortId> one_nic_a_host(const Fabric& fabric, std::vector<PortId> first, std::size_t most) {
  first.insert(first.end(), fabric.nics().begin(), fabric.nics().end());
  std::vector<PortId> chosen;
  std::set<NodeId> hosts;
  for (const PortId nic : first)
    if (chosen.size() < most && hosts.insert(fabric.port(nic).node).second) chosen.push_back(nic);
  return chosen;
}

}  // namespace weft::cli
