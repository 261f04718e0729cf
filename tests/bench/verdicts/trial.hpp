// A simulated sweep, end to end, in this process: what `weft simulate` does with its default options.
#pragma once

#include "probes/session/sweep.hpp"
#include "tests/bench/verdicts/draw.hpp"

namespace weft::bench {

struct Swept {
  Observations observations;
  SweepReport report;
};

/// `hosts` take part (empty: all); the NICs of the others are left out.
Swept sweep_simulated(const SmallFabric& fabric, const std::vector<DrawnFault>& faults, std::uint64_t seed,
                      const std::vector<NodeId>& hosts = {});

/// The command that does the same.
std::string command_of(const SmallFabric& fabric, const std::vector<DrawnFault>& faults, std::uint64_t seed);

}  // namespace weft::bench
