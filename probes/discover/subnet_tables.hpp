// Reads the forwarding tables of all switches of a discovered subnet, and which of them route adaptively, by
// directed routes, so that it works also where the tables are wrong.
#pragma once

#include "probes/discover/subnet_discovery.hpp"
#include "topology/routing/forwarding_tables.hpp"

namespace weft::discover {

struct TableReading {
  routing::ForwardingTables tables;
  mad::MadTally tally;
  std::vector<std::string> remarks;  // switches whose table could not be read, one sentence each
};

/// `routes` from the discovery that `fabric` was built of.
Result<TableReading> read_tables(mad::Mads& mads, const InfinibandFabric& fabric, const SubnetRoutes& routes,
                                 const mad::MadLimits& limits = {}, std::stop_token stop = {});

}  // namespace weft::discover
