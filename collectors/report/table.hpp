// A diagnosis for people, and as one line for a monitoring system.
#pragma once

#include <cstddef>
#include <string>

#include "topology/files/diagnosis_document.hpp"

namespace weft::report {

struct TableStyle {
  std::size_t columns = 80;
  bool colour = false;
  bool sign = false;  // a mark before each verdict, for who sees no colours
  bool all = false;   // every finding, however many
};

/// The verdict in a sentence, then what to act on first. No line is wider than `columns`, but where one word
/// is.
std::string diagnosis_table(const files::DiagnosisDocument& document, const TableStyle& style = {});

/// One line in the form of Nagios plug-ins, with performance data behind the bar.
std::string monitoring_line(const files::DiagnosisDocument& document);

}  // namespace weft::report
