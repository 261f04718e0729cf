#include "cli/broken_lines.hpp"
#include "cli/exit_status.hpp"

#include <fmt/format.h>

namespace weft::cli {

void name_broken_lines(const files::ReadObservations& read, const std::string& file) {
  for (const files::BrokenLine& broken : read.first_broken)
    print_stderr("weft: {}:{}: {}\n", file, broken.line, broken.message);
  if (read.broken > 0) print_stderr("weft: {}: {} of {} lines left out\n", file, read.broken, read.lines);
  if (read.repeated > 0)
    print_stderr("weft: {}: {} of {} lines left out, from line {} on: they repeat rows before them\n", file,
                 read.repeated, read.lines, read.first_repeated);
}

}  // namespace weft::cli
