// `weft gate`: on a host, whether a job should start there; `weft gate publish` makes the file that it reads.
#pragma once

#include "cli/options.hpp"
#include "cli/words.hpp"

namespace weft::cli {

int gate_command(const Arguments& arguments);
OptionParser gate_options();
const WordGroup& gate_words();

}  // namespace weft::cli
