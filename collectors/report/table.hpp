// A diagnosis for people, and as one line for a monitoring system.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "topology/files/diagnosis_document.hpp"

namespace weft::report {

struct TableStyle {
  std::size_t columns = 80;
  bool colour = false;
  bool sign = false;  // a mark before each verdict, for who sees no colours
  bool all = false;   // every finding, however many
};

/// "!! ": told apart without colours too.
std::string_view sign_of(Verdict verdict);
/// `text`, which has the verdict in it, with the verdict coloured where the style says so: it takes no more
/// columns than before.
std::string coloured(std::string text, Verdict verdict, const TableStyle& style);
/// The word of a monitoring plug-in: OK, WARNING, CRITICAL, UNKNOWN.
std::string_view monitoring_word(Verdict verdict);

/// The verdict in a sentence, then what to act on first. No line is wider than `columns`, but where one word
/// is.
std::string diagnosis_table(const files::DiagnosisDocument& document, const TableStyle& style = {});

/// One line in the form of Nagios plug-ins, with performance data behind the bar.
std::string monitoring_line(const files::DiagnosisDocument& document);

}  // namespace weft::report
