#include "topology/findings/diagnosis.hpp"

#include <algorithm>

namespace weft {

Verdict run_verdict(const Diagnosis& diagnosis) {
  const Coverage& covered = diagnosis.coverage;
  const bool known = covered.complete && covered.channels > 0 && !diagnosis.account.unexplained();
  Verdict worst = known ? Verdict::healthy : Verdict::unknown;
  for (const auto& finding : diagnosis.links) worst = std::max(worst, finding.verdict);
  for (const auto& finding : diagnosis.hosts) worst = std::max(worst, finding.verdict);
  for (const auto& finding : diagnosis.groups) worst = std::max(worst, finding.verdict);
  for (const auto& finding : diagnosis.fabric) worst = std::max(worst, finding.verdict);
  for (const auto& set : diagnosis.sets) worst = std::max(worst, set.verdict);
  return worst;
}

}  // namespace weft
