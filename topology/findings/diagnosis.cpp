#include "topology/findings/diagnosis.hpp"

#include <algorithm>

namespace weft {

Verdict run_verdict(const Diagnosis& diagnosis) {
  Verdict worst = diagnosis.coverage.complete ? Verdict::healthy : Verdict::unknown;
  for (const auto& finding : diagnosis.links) worst = std::max(worst, finding.verdict);
  for (const auto& finding : diagnosis.hosts) worst = std::max(worst, finding.verdict);
  for (const auto& finding : diagnosis.groups) worst = std::max(worst, finding.verdict);
  return worst;
}

}  // namespace weft
