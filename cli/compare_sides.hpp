// What each side of `weft compare run` runs: sweeps of fabrics or labs, or simulated ones, with the settings
// of
// --each and --variant.
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

}  // namespace weft::cli
