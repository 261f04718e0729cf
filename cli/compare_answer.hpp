// `weft compare`: its words, and what both ways of comparing share: the margin, what is printed and written,
// and the exit status.
#pragma once

#include <vector>

#include "cli/options.hpp"
#include "cli/words.hpp"
#include "collectors/report/comparison_report.hpp"
#include "topology/model/fabric.hpp"

namespace weft::cli {

const WordGroup& compare_words();

void add_margin_option(po::options_description& options);
/// Error: usage, where nothing could be equal.
Result<double> read_margin(const po::variables_map& values);

/// -o and --html.
void add_comparison_output(po::options_description& options);
/// Prints the comparison, writes its report where one is asked for; the exit status: 0 equal, 1 differs, 3
/// undecided. `fabrics`: of A and of B, where their runs tell of channels.
Result<int> answer_comparison(const po::variables_map& values, const report::ComparedRuns& runs,
                              const std::vector<const Fabric*>& fabrics = {});

}  // namespace weft::cli
