// The tables of docs/diagnosis.md, filled from the figures of one run or of its pieces.
#pragma once

#include <string>

#include "tests/bench/support/figures.hpp"

namespace weft::bench {

/// Markdown. What has not been measured shows as a dash.
std::string diagnosis_tables(const Figures& figures);

}  // namespace weft::bench
