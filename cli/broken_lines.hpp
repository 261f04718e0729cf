// Lines of a file of observations that could not be used, said on standard error.
#pragma once

#include <string>

#include "topology/files/observation_lines.hpp"

namespace weft::cli {

void name_broken_lines(const files::ReadObservations& read, const std::string& file);

}  // namespace weft::cli
