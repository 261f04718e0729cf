// `weft sweep` of an InfiniBand lab: paths from the switches' tables, probes by management datagrams from one
// host of each leaf, counters of every port, the cabling against the fabric file.
#pragma once

#include "cli/options.hpp"
#include "probes/session/sweep_options.hpp"

namespace weft {

int sweep_infiniband_lab(const po::variables_map& values, const SweepOptions& options,
                         const std::string& name, const Arguments& words);

}  // namespace weft
