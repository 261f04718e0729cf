// Reaching an InfiniBand lab: ibsim is behind a preload library, so a command that talks to it starts itself
// again with that library loaded.
#pragma once

#include "cli/commands.hpp"
#include "probes/mad/mads.hpp"
#include "topology/lab/ibsim/ib_lab.hpp"

#include <memory>

namespace weft::cli {

/// Starts `weft words...` again in the lab's environment, in place of this process; returns at once where
/// that was done already.
Result<void> enter_infiniband_lab(const lab::IbLab& lab, const Arguments& words);

/// The management port of a process that has entered. The preload library keeps files in the lab's directory.
Result<std::unique_ptr<mad::Mads>> open_lab_mads(const lab::IbLab& lab);

}  // namespace weft::cli
