// The hosts that --hosts names, and their NICs as they tell them themselves.
#pragma once

#include <stop_token>

#include "cli/options.hpp"
#include "probes/discover/host_nics.hpp"
#include "probes/run/cluster.hpp"

namespace weft::cli {

struct AskedHosts {
  std::vector<discover::HostNics> hosts;  // those that told of a NIC at least
  std::vector<std::string> troubles;      // the others, and why
};

/// Runs `weft topology show --nics -o json` on each, all at once, by the launcher; a host that has not
/// answered within --gather is one of the troubles. Error: --subnet cannot be read, none answered, stopped.
Result<AskedHosts> ask_for_nics(const run::ClusterOptions& launch, const std::vector<std::string>& names,
                                const po::variables_map& values, std::stop_token stop);

/// `weft topology show --nics`.
int show_nics(const std::string& format);

}  // namespace weft::cli
