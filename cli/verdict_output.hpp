// How a diagnosis is printed: by -o, --quiet, --all and --color, and by what stdout is. For sweep, simulate,
// diagnose and doctor alike.
#pragma once

#include "cli/options.hpp"
#include "collectors/report/table.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::cli {

/// -o, --quiet, --all, --color. `rows`: of a run, for --metrics-file too.
void add_verdict_options(po::options_description& options, bool rows = true);
/// Error: usage.
Result<void> check_verdict_options(const po::variables_map& values);

/// Of a table on stdout, by --all, --color and what stdout is.
report::TableStyle table_style(const po::variables_map& values);

/// On stdout, by options that were checked; for --metrics-file in that file too.
void print_diagnosis(const po::variables_map& values, const files::DiagnosisDocument& document);

}  // namespace weft::cli
