// The temperatures of runs whose time is known, from the database of a watch of their fabric.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "collectors/compare/run.hpp"

namespace weft::cli {

/// Where a run has a time and no temperature, that of the fabric's NICs then. Errors: those of the database;
/// not_found (it keeps none); usage (no run has a time).
Result<void> take_temperatures(const std::filesystem::path& database,
                               std::span<std::vector<compare::Run>* const> sides);

}  // namespace weft::cli
