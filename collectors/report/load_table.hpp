// What a run's load moved, as lines for people: how long messages took, what each receiver got, who was slow,
// what round trips beside it took and where they waited.
#pragma once

#include <string>

#include "topology/files/diagnosis_document.hpp"

namespace weft::report {

/// Empty where the run tells nothing of it; else after an empty line.
std::string load_part(const files::DiagnosisDocument& document, std::size_t columns);

}  // namespace weft::report
