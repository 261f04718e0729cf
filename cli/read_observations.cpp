#include "cli/read_observations.hpp"

#include <fmt/format.h>

#include "cli/exit_status.hpp"

namespace weft::cli {

Result<files::ReadObservations> read_observations(const Fabric& fabric, const std::string& path) {
  const std::string file = path == "-" ? "stdin" : path;
  WEFT_TRY(auto read, files::read_observation_file(fabric, path == "-" ? "/dev/stdin" : path));
  constexpr const char* kWritten = "expected JSON Lines, as `weft sweep --observations FILE` writes them";
  if (read.lines == 0) return fail(ErrorKind::invalid_input, "{} has no line: {}", file, kWritten);
  if (read.broken == read.lines)
    return fail(ErrorKind::invalid_input, "{} has no observation of this fabric: {}; line {}: {}", file,
                kWritten, read.first_broken.front().line, read.first_broken.front().message);
  for (const files::BrokenLine& broken : read.first_broken)
    print_stderr("weft: {}:{}: {}\n", file, broken.line, broken.message);
  if (read.broken > 0) print_stderr("weft: {}: {} of {} lines left out\n", file, read.broken, read.lines);
  if (read.repeated > 0)
    print_stderr("weft: {}: {} of {} lines left out, from line {} on: they repeat rows before them\n", file,
                 read.repeated, read.lines, read.first_repeated);
  return read;
}

}  // namespace weft::cli
