#include "cli/broken_lines.hpp"

#include <fmt/format.h>

namespace weft {

void name_broken_lines(const ReadObservations& read, const std::string& file) {
  for (const BrokenLine& broken : read.first_broken)
    fmt::print(stderr, "weft: {}:{}: {}\n", file, broken.line, broken.message);
  if (read.broken > 0)
    fmt::print(stderr, "weft: {}: {} of {} lines left out\n", file, read.broken, read.lines);
}

}  // namespace weft
