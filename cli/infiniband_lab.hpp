// Reaching an InfiniBand lab: ibsim is behind a preload library, so a command that talks to it starts itself
// again with that library loaded.
#pragma once

#include <memory>
#include <vector>

#include "cli/commands.hpp"
#include "probes/mad/mads.hpp"
#include "probes/run/agents.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"

namespace weft::cli {

/// Starts `weft words...` again in the lab's environment, in place of this process; returns at once where
/// that was done already.
Result<void> enter_infiniband_lab(const lab::IbLab& lab, const Arguments& words);

/// The management port of a process that has entered. The preload library keeps files in the lab's directory.
Result<std::unique_ptr<mad::Mads>> open_lab_mads(const lab::IbLab& lab);

/// An agent beside each of `nics`, for a client of ibsim is at one adapter; named after its NIC, for a host
/// may have several. The lab must outlive the site.
Result<run::AgentSite> ib_lab_site(const lab::IbLab& lab, const std::vector<PortId>& nics,
                                   const AddressBook& gids);

}  // namespace weft::cli
