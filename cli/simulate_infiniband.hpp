// A simulated InfiniBand fabric: its LIDs, the tables that a subnet manager would fill, and what one would
// read off the fabric without a probe.
#pragma once

#include <memory>
#include <vector>

#include "probes/plan/pairs.hpp"
#include "probes/session/sweep.hpp"
#include "topology/model/fault.hpp"
#include "topology/model/lab_settings.hpp"
#include "topology/routing/forwarding_tables.hpp"

namespace weft::cli {

struct SimulatedTables {
  std::shared_ptr<const routing::ForwardingTables> tables;
  std::vector<bool> used;  // by channel: some route takes it; nothing can probe the others
  std::size_t idle = 0;    // channels between switches that no route takes, the dead not counted
};
/// The tables of `fabric` with 2^lmc LIDs a NIC, min-hop over the links that no fault takes down. An Error:
/// InfiniBand cannot number it.
Result<SimulatedTables> simulated_tables(const Fabric& fabric, std::uint8_t lmc,
                                         const std::vector<FaultSpec>& faults);

/// The ways of every label between two NICs.
void adopt_labels(plan::PathLearner& learner, const routing::ForwardingTables& tables,
                  const plan::NicPair& pair);

/// By channel: what the routes between these NICs take.
std::vector<bool> scope_of(const Fabric& fabric, const SimulatedTables& simulated,
                           const std::vector<PortId>& nics);

/// What a sweep of such a fabric knows before it probes: paths enough to cross every channel that is used and
/// in `scope` (empty: any), none of NICs in `without`; cables that are not there and links that are slower
/// than they should be.
void know_simulated_subnet(session::Sweep& sweep, const Fabric& fabric, const SimulatedTables& simulated,
                           const std::vector<FaultSpec>& faults, const std::vector<PortId>& without = {},
                           const std::vector<bool>& scope = {});

}  // namespace weft::cli
