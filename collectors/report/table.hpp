// A diagnosis as a table for people: at most `columns` wide, what to act on first.
#pragma once

#include <string>

#include "topology/files/diagnosis_document.hpp"

namespace weft::report {

std::string diagnosis_table(const files::DiagnosisDocument& document, std::size_t columns = 80);

}  // namespace weft::report
