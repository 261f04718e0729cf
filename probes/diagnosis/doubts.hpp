// What would settle a suspicion: see Doubt in diagnose.hpp.
#pragma once

#include "probes/diagnosis/count_search.hpp"
#include "probes/diagnosis/diagnose.hpp"

namespace weft {

/// The doubt about rival suspicions (indices into result.suspicions). The number of packets is what is
/// expected to move the log-odds by kSettlingNats either way (Wald's sequential test, Ann. Math. Stat. 1945).
Doubt doubt_of(const Fabric& fabric, const CountProblem& problem, const CountResult& result,
               const std::vector<std::uint32_t>& rivals, Counted counted);

}  // namespace weft
