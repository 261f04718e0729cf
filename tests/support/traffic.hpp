// Traffic and failures for tests and benchmarks of the balancer: random, but the same for the same seed.
#pragma once

#include <cstdint>
#include <vector>

#include "balancer/demand/demand.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/path.hpp"

namespace weft {

/// Every NIC sends 1 MB to one NIC of another leaf and receives as much. Needs two leaves and more.
demand::Phase cross_leaf_permutation(const Fabric& fabric, std::uint64_t seed);

/// `flows` flows a NIC to random NICs of other leaves (each NIC receives as many), sizes uniform from 1 to 10
/// MB.
demand::Phase mixed_traffic(const Fabric& fabric, std::uint32_t flows, std::uint64_t seed);

/// `share` of the cables between switches (rounded), at random.
std::vector<LinkId> random_uplinks(const Fabric& fabric, double share, std::uint64_t seed);

/// What probing `labels` random labels of every pair of `phase` (and, with `back`, of every pair's way back)
/// over a fabric whose switches hash evenly would learn.
PathMap probed_path_map(const Fabric& fabric, const demand::Phase& phase, std::uint32_t labels, bool back,
                        std::uint64_t seed);

/// The fabric without these cables, as a file would describe it that never had them.
Fabric without_cables(const Fabric& fabric, const std::vector<LinkId>& gone);

/// The least the busiest channel can carry when each of `qps` equal QPs a flow takes one of the paths of
/// `map`: by trying all assignments, so for a handful of QPs. All links have one rate.
double least_busiest(const Fabric& fabric, const demand::Phase& phase, std::uint32_t qps, const PathMap& map);

}  // namespace weft
