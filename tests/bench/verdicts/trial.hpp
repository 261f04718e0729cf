// A simulated sweep, end to end, in this process: what `weft simulate` does with its default options.
#pragma once

#include "probes/engine/sim/sim_options.hpp"
#include "probes/session/sweep.hpp"
#include "tests/bench/verdicts/draw.hpp"

namespace weft::bench {

struct Swept {
  Observations observations;
  session::SweepReport report;
};

struct SweepCase {
  const SmallFabric* fabric = nullptr;
  std::vector<FaultSpec> faults = {};
  std::uint64_t seed = 1;
  std::vector<NodeId> hosts = {};  // that take part; empty: all
  std::vector<HostStall> stalls = {};
  Fraction background = {};  // as `weft simulate --background`
  session::LoadLevel load = session::LoadLevel::full;
  bool healthy_counters = false;  // every port tells that it counted no error, whatever it lost
};

Swept sweep_simulated(const SweepCase& wanted);

/// The command that does the same.
std::string command_of(const SweepCase& wanted);

}  // namespace weft::bench
