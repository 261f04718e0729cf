// What each side of `weft compare run` runs: sweeps of fabrics or labs, or simulated ones, with the settings
// of --each and --variant; or a benchmark of the user's.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/compare_blocks.hpp"
#include "cli/options.hpp"

namespace weft::cli {

/// The values of an option that may be repeated.
std::vector<std::string> texts_of(const po::variables_map& values, const char* name);

/// A and B. What each is built for comes from its fabric file or its lab. Errors: usage, and those of the
/// file or the lab.
Result<std::pair<ComparedSide, ComparedSide>> compared_sides(const po::variables_map& values);

/// A and B of --run. In the command {side} stands for a or b, and {hosts} for the side's hosts, parted by
/// commas: those of --hosts, else of its fabric file. Errors: usage (a side without hosts, a name that a
/// shell would take apart), and those of the file.
Result<std::pair<ComparedSide, ComparedSide>> benchmark_sides(const po::variables_map& values,
                                                              const std::string& command);

}  // namespace weft::cli
