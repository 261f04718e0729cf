// What a sweep's document got right of the faults that were there.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/lab_verdicts/lab_case.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::bench {

struct LabScore {
  std::size_t faults = 0;
  std::size_t right = 0;  // cable, direction and cause named, or in a set that holds it
  std::size_t wrong_names = 0;
  bool false_healthy = false;
  std::vector<std::string> failures;  // in words
};

/// A case without a fault counts as one, which is right when the run is healthy.
LabScore score_sweep(const LabCase& one, const files::DiagnosisDocument& said);

/// What was found, a line each.
std::vector<std::string> words_of(const files::DiagnosisDocument& said);

}  // namespace weft::bench
