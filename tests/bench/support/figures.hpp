// Figures: what a benchmark measured, as build/bench/NAME.json:
// {"schema":"weft.bench/1","machine":...,"figures":{name: number}}.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topology/base/result.hpp"

namespace weft::bench {

using Figures = std::vector<std::pair<std::string, double>>;

/// Processor and number of cores.
std::string machine();

/// Writes build/bench/NAME.json beside the build folder this program came from; gives its path.
Result<std::string> write_figures(std::string_view name, const Figures& figures);

}  // namespace weft::bench
