// Runs a program to its end, within a limit, and gives back what it wrote on stdout.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::os {

/// Runs a program to its end with `input` on its stdin and gives what it wrote on stdout. An exit status
/// other than 0, or no end within `limit` (it is then killed), is an Error with the first lines of its
/// stderr.
Result<std::string> run_program(const std::vector<std::string>& argv, std::string_view input,
                                Nanoseconds limit);

/// What of all that a program started is killed once it has ended: what stayed in its process group, or also
/// what has a session of its own by now. The second is for a process that starts no other children meanwhile
/// (os::Orphans).
enum class Leftovers : std::uint8_t { group, all };

/// The same for a program of somebody else's: it has a session of its own, and what it started is killed
/// with it, also when this process is told to end, or `stop` is requested; what it writes on stdout and
/// stderr may have `most` bytes each.
Result<std::string> run_strange_program(const std::vector<std::string>& argv, std::string_view input,
                                        Nanoseconds limit, Bytes most, Leftovers leftovers = Leftovers::group,
                                        const std::stop_token& stop = {});

}  // namespace weft::os
