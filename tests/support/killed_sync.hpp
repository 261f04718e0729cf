// A `weft blacklist sync --apply` of the real program, killed at each of its writes to files, and what the
// next one makes of that.
#pragma once

#include <string>

namespace weft {

struct KilledSyncs {
  int all = 0;
  int right = 0;      // after which the next sync leaves what the ledger demands and no more
  std::string wrong;  // the first that was not, in words
};
/// Each `stride`-th write of a sync that drains a host and puts another back, at the stand-in for Slurm.
KilledSyncs try_killed_syncs(int stride);

}  // namespace weft
