// When recorded runs were taken, and at which temperature: a table with the columns file,time or
// file,time,celsius, which names the files as the command does. Logs of benchmarks do not tell it. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "collectors/compare/run.hpp"
#include "topology/base/result.hpp"

namespace weft::compare {

inline constexpr std::size_t kMaxRunTimes = 1'000'000;  // lines

using RunTimes = std::map<std::string, Moment, std::less<>>;  // by file

/// Times as 2026-01-31T12:00:00Z; degrees from -50 to 200, and none where the column is empty. `what` names
/// the table in errors. Error: invalid_input, with the line.
Result<RunTimes> parse_run_times(std::string_view text, std::string_view what);

}  // namespace weft::compare
