// A tiny plant with exponential failures and repairs as a Markov chain over all states of its hosts, leaves
// and spines: what a simulation of it must come near to.
#pragma once

#include <cstdint>

#include "balancer/reliability/plant.hpp"
#include "topology/files/rates.hpp"

namespace weft {

struct TinyCluster {
  reliability::Plant plant;
  files::Rates rates;  // of hosts, leaves and spines, exponential, all stop the job
};
/// At most 6 hosts and 4 switches, by seed; every second one has a failure domain.
TinyCluster draw_tiny_cluster(std::uint64_t seed);

/// The share of the time, in the long run, in which fewer than `hosts` hosts can be used.
double exact_shortage(const TinyCluster& cluster, reliability::Index hosts);

}  // namespace weft
