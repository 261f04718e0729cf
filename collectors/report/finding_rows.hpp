// The findings of a diagnosis as rows for programs: one a finding, in the order of the table for people. A
// healthy fabric has none.
#pragma once

#include "topology/files/diagnosis_document.hpp"
#include "topology/files/row_text.hpp"

namespace weft::report {

files::RowSet finding_rows(const files::DiagnosisDocument& document);

}  // namespace weft::report
