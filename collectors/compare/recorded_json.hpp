// JSON documents of benchmarks as runs: what nccl-tests writes with -J (from 2.17.3 on) and perftest with
// --out_json, in both its forms (before 2024 names have no quotes, and it is no JSON); and a sweep's
// document, whose flows are its cells. Pure.
#pragma once

#include <string>
#include <string_view>

#include "collectors/compare/run.hpp"
#include "topology/base/result.hpp"

namespace weft::compare {

/// A longer document is refused: with the times of 1,000 iterations a size has 12 KB.
inline constexpr std::size_t kMaxDocument = 64 << 20;

/// Percentiles of fewer iterations are the largest of them: there are none then.
inline constexpr std::size_t kMinForPercentile95 = 20;
inline constexpr std::size_t kMinForPercentile99 = 100;

/// `name` names the run in reports and errors. Cells are those of the same job's table; where nccl-tests
/// tells the time of each iteration, its 95th and 99th percentile are cells too. Errors: invalid_input.
Result<Run> read_recorded_json(std::string name, std::string_view text);

}  // namespace weft::compare
