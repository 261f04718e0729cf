// Ways to spread a job's flows over a fabric, simulated side by side: what hashing does, what spraying could
// do, and what the balancer does. Completion times by fair sharing (fair_share.hpp) or packet by packet
// (packets.hpp), host cables included.
#pragma once

#include <string>
#include <vector>

#include "balancer/flowsim/packets.hpp"

namespace weft::flowsim {

enum class Spread {
  ecmp,    // every QP on a random one of its routes
  spray,   // every flow in equal shares over all its routes
  greedy,  // QPs one by one, the greatest first, each on the route least loaded so far
  weft,    // the balancer's assignment
};

struct Strategy {
  Spread spread = Spread::ecmp;
  std::uint32_t qps = 1;  // a flow; spray has no use for more
};
std::string describe(const Strategy& strategy);  // "ECMP, 4 QPs"

/// What one strategy made of a demand. Phases follow one another.
struct SpreadOutcome {
  Strategy strategy;
  double seconds = 0;     // until the last flow of the last phase is through
  double mean_flow = 0;   // seconds a flow takes, mean over all flows
  double over_bound = 1;  // seconds over what no assignment of any shares can beat, host cables included
  double squares = 0;     // sum over the channels between switches of the bytes squared; 0 where sprayed
  // Of simulate_packets() alone:
  double fluid = 0;           // seconds in the fluid model of the same packets and acknowledgements
  std::uint64_t packets = 0;  // data packets to deliver
  std::uint64_t sent_again = 0;
  std::uint64_t dropped = 0;  // acknowledgements too
};

/// The usual table: ECMP and weft at 1, 4 and 16 QPs, greedy at 1 and 4, spraying.
std::vector<Strategy> usual_strategies();

/// Simulates one strategy; `options.seed` picks ECMP's hashes; options.qps, .paths and .reverse are not used.
/// `resolution` as in completion_times().
SpreadOutcome simulate(const Fabric& fabric, const demand::Demand& demand, const Strategy& strategy,
                       const assign::AssignOptions& options, double resolution = 0);

/// The same packet by packet. Precondition: the strategy is not to spray, and no flow needs more than 2^32
/// packets.
SpreadOutcome simulate_packets(const Fabric& fabric, const demand::Demand& demand, const Strategy& strategy,
                               const assign::AssignOptions& options, const PacketSettings& settings);

/// Data packets that a demand takes at `qps` QPs a flow.
std::uint64_t packets_of(const demand::Demand& demand, std::uint32_t qps, Bytes payload);

}  // namespace weft::flowsim
