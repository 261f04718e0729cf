// A simulated sweep, end to end, in this process: what `weft simulate` does with its default options.
#pragma once

#include "probes/session/sweep.hpp"
#include "tests/bench/verdicts/draw.hpp"

namespace weft::bench {

struct Swept {
  Observations observations;
  SweepReport report;
};

/// A host that its own machine holds up.
struct Stall {
  NodeId host;
  Nanoseconds start{};
  Nanoseconds length{};
};

struct SweepCase {
  const SmallFabric* fabric = nullptr;
  std::vector<FaultSpec> faults = {};
  std::uint64_t seed = 1;
  std::vector<NodeId> hosts = {};  // that take part; empty: all
  std::vector<Stall> stalls = {};
};

Swept sweep_simulated(const SweepCase& wanted);

/// Whether this build's simulator has what the case asks for: faults that come and go, hosts that stall.
bool simulator_can_flap();
bool simulator_can_stall();
/// Down for `on`, then whole for `off`, and so on.
void make_it_flap(FaultSpec& fault, Nanoseconds on, Nanoseconds off);
struct Rhythm {
  double on = 0;  // seconds
  double off = 0;
};
Rhythm rhythm_of(const FaultSpec& fault);

/// The command that does the same.
std::string command_of(const SweepCase& wanted);

}  // namespace weft::bench
