// `weft sweep` of an InfiniBand fabric, in a lab or live: paths from the switches' tables, probes by
// management datagrams or queue pairs, counters of every port, the cabling against the fabric file.
#pragma once

#include "cli/options.hpp"
#include "probes/session/sweep_options.hpp"
#include "topology/files/fabric_file.hpp"

namespace weft::cli {

/// From one host of each leaf.
int sweep_infiniband_lab(const po::variables_map& values, const session::SweepOptions& options,
                         const std::string& name, const Arguments& words);

/// From the hosts that are asked for, by agents as the launch options start them; the subnet options say
/// where the subnet is asked.
int sweep_infiniband_fabric(const po::variables_map& values, session::SweepOptions options,
                            const files::FabricFile& file);

}  // namespace weft::cli
