// What may happen to a ledger and a Slurm that it is synchronized with, drawn by seed or call by call:
// evidence, commands, time, clocks that jump, calls that fail, a weft that is killed, others who drain and
// undrain.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// The rule that broke, in words: a cap, a mark of others, an entry that outlived its time, a mark left after
/// its release. Empty: none.
std::string run_blacklist_history(std::uint64_t seed);

struct KillPoints {
  int all = 0;    // before and after each call that a sync makes
  int right = 0;  // after which the next sync leaves what the ledger demands and no more
};
KillPoints try_kill_points();

}  // namespace weft
