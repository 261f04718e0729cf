// sweep --dry-run: what would be sent, before anything is.
#pragma once

#include <stop_token>

#include "cli/options.hpp"
#include "probes/run/agents.hpp"
#include "probes/session/sweep.hpp"

namespace weft::cli {

void add_dry_run_option(po::options_description& options);
bool dry_run_was_asked(const po::variables_map& values);

/// Who would send, and how.
struct DryRunPlace {
  const Fabric& fabric;
  const AddressBook& addresses;
  const run::AgentSite& site;
  std::string agents;  // how they come to run there, in words
};

/// Prints what `sweep`, which has not begun, would send from the hosts of the place. The exit status.
int dry_run(const po::variables_map& values, const DryRunPlace& place, session::Sweep& sweep,
            std::uint64_t seed, std::stop_token stop);

}  // namespace weft::cli
