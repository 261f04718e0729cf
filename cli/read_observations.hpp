// A file of observations; what could not be used of it is said on standard error.
#pragma once

#include <string>

#include "topology/files/observation_lines.hpp"

namespace weft::cli {

/// `-` is stdin. Error `invalid_input` where the file has no line that could be used: it is another file, or
/// nothing was written.
Result<files::ReadObservations> read_observations(const Fabric& fabric, const std::string& path);

}  // namespace weft::cli
