#include "cli/simulate_infiniband.hpp"

#include <algorithm>
#include <iterator>

#include "probes/discover/matching.hpp"
#include "probes/plan/scope.hpp"
#include "topology/base/readable.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/ib_design.hpp"
#include "topology/routing/min_hop_tables.hpp"
#include "topology/routing/routing_report.hpp"

namespace weft::cli {
namespace {

/// Links that are down in both directions: a subnet manager routes around them.
std::vector<LinkId> unplugged(const std::vector<FaultSpec>& faults) {
  std::vector<LinkId> links;
  for (const FaultSpec& fault : faults)
    if (fault.down && !fault.channel && !fault.comes_and_goes()) links.push_back(fault.link);
  return links;
}

/// On the ways of all labels of a pair.
plan::ChannelsOfPair ways_in(const routing::ForwardingTables& tables) {
  return [&tables](const plan::NicPair& pair) {
    std::vector<ChannelId> channels;
    const auto lids = tables.lids_of(pair.dst);
    for (std::uint32_t lid = lids ? lids->base.value() : 0; lids && lid < lids->end(); ++lid)
      std::ranges::copy(tables.walk(pair.src, Lid(static_cast<std::uint16_t>(lid))).path(),
                        std::back_inserter(channels));
    return channels;
  };
}

std::vector<plan::NicPair> pairs_for(const Fabric& fabric, const SimulatedTables& simulated,
                                     const std::vector<PortId>& without, const std::vector<bool>& scope) {
  const routing::ForwardingTables& tables = *simulated.tables;
  std::size_t labels = 1;
  for (const PortId nic : fabric.nics())
    if (const auto lids = tables.lids_of(nic)) labels = lids->count();
  auto used = simulated.used;
  for (std::size_t c = 0; c < scope.size(); ++c) used[c] = used[c] && scope[c];
  return plan::choose_table_pairs(fabric, used, labels, ways_in(tables), without);
}

}  // namespace

Result<SimulatedTables> simulated_tables(const Fabric& fabric, std::uint8_t lmc,
                                         const std::vector<FaultSpec>& faults) {
  InfinibandFabric whole{.fabric = fabric, .inventory = design_inventory(fabric), .remarks = {}};
  WEFT_TRY_VOID(assign_lids(fabric, lmc, whole.inventory));
  const auto dead = unplugged(faults);
  auto tables = std::make_shared<const routing::ForwardingTables>(routing::fill_min_hop(whole, dead));
  const auto load = report_routing(whole, *tables).load;
  SimulatedTables result{.tables = std::move(tables), .used = std::vector<bool>(load.size())};
  for (std::uint32_t c = 0; c < load.size(); ++c) {
    result.used[c] = load[c] > 0;
    if (!result.used[c] && fabric.between_switches(ChannelId(c)) &&
        std::ranges::find(dead, Fabric::link_of(ChannelId(c))) == dead.end())
      ++result.idle;
  }
  return result;
}

void adopt_labels(plan::PathLearner& learner, const routing::ForwardingTables& tables,
                  const plan::NicPair& pair) {
  const auto lids = tables.lids_of(pair.dst);
  for (std::uint32_t lid = lids ? lids->base.value() : 0; lids && lid < lids->end(); ++lid) {
    const routing::LidRoute route = tables.walk(pair.src, Lid(static_cast<std::uint16_t>(lid)));
    if (route.end != routing::RouteEnd::arrived) continue;
    const std::vector<ChannelId> path(route.path().begin(), route.path().end());
    learner.adopt(pair.src, pair.dst, PathLabel(lid), std::span(&path, 1));
  }
}

std::vector<bool> scope_of(const Fabric& fabric, const SimulatedTables& simulated,
                           const std::vector<PortId>& nics) {
  return plan::channels_in_scope(fabric, nics, ways_in(*simulated.tables));
}

void know_simulated_subnet(session::Sweep& sweep, const Fabric& fabric, const SimulatedTables& simulated,
                           const std::vector<FaultSpec>& faults, const std::vector<PortId>& without,
                           const std::vector<bool>& scope) {
  sweep.know_paths([&](plan::PathLearner& learner) {
    for (const plan::NicPair& pair : pairs_for(fabric, simulated, without, scope))
      adopt_labels(learner, *simulated.tables, pair);
  });
  for (const FaultSpec& fault : faults) {
    // A port tells of its link, not of one direction, and of what is there as it is asked.
    if (fault.channel || fault.comes_and_goes()) continue;
    for (const ChannelId channel : {Fabric::a_to_b(fault.link), Fabric::b_to_a(fault.link)}) {
      if (fault.down)
        sweep.note(discover::evidence_of_no_link(channel));
      else if (fault.rate && *fault.rate < fabric.rate(channel))
        sweep.note(discover::evidence_of_slow_link(channel, readable(*fault.rate), fabric.rate(channel)));
    }
  }
}

}  // namespace weft::cli
