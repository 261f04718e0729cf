// What would settle a suspicion: see Hypothesis in diagnose.hpp.
#pragma once

#include "probes/diagnosis/counts/count_search.hpp"
#include "probes/diagnosis/diagnose.hpp"

namespace weft::diagnosis {

/// The hypothesis about rival suspicions (indices into result.suspicions). The number of packets is what is
/// expected to move the log-odds by kSettlingNats either way (Wald's sequential test, Ann. Math. Stat. 1945).
Hypothesis hypothesis_of(const Fabric& fabric, const CountProblem& problem, const CountResult& result,
                         const std::vector<std::uint32_t>& rivals, Counted counted);

}  // namespace weft::diagnosis
