// Drawn faults: the small fabrics, sets of faulty cables (all of 1 to 3 up to symmetry, random larger ones)
// and what is wrong with each; by seed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/bench/support/random_paths.hpp"
#include "topology/findings/verdict.hpp"
#include "topology/model/addressing.hpp"
#include "topology/model/fabric.hpp"
#include "topology/model/fault.hpp"

namespace weft::bench {

struct SmallFabric {
  std::string name;  // 2x2: leaves by spines
  std::string file;  // the lines that make it, for who wants to see a case again
  Fabric fabric;
  AddressPlan addresses;
};
/// 2x2, 2x4, 3x2, 4x4, 6x6 (2 hosts a leaf), two pods, rails.
std::vector<SmallFabric> small_fabrics();
/// Of 54 cables between switches.
SmallFabric three_pods();

enum class Kind { loss, down, rate, delay, mixed };
inline constexpr Kind kKinds[] = {Kind::loss, Kind::down, Kind::rate, Kind::delay, Kind::mixed};
enum class Ways { both, one, mixed };
inline constexpr Ways kWays[] = {Ways::both, Ways::one, Ways::mixed};
std::string_view to_string(Kind kind);

struct DrawnFault {
  FaultSpec spec;
  Cause cause;
};

/// Loss log-uniform .2 to 5 %, rate 10 to 80 %, delay log-uniform 50 us to 5 ms, or down; `mixed`: each cable
/// one of them.
std::vector<DrawnFault> draw_faults(const Fabric& fabric, const std::vector<LinkId>& cables, Kind kind,
                                    Ways ways, Random& random);

/// One set of each kind of 1 to 3 cables: sets that a renaming of nodes turns into each other count once.
/// Told apart by colour refinement of the fabric with these cables marked. At most `most` of each size, by
/// seed.
std::vector<std::vector<LinkId>> sets_up_to_symmetry(const Fabric& fabric, std::size_t most,
                                                     std::uint64_t seed);

/// 4 up to half of all cables.
std::vector<LinkId> random_set(const Fabric& fabric, Random& random);

}  // namespace weft::bench
