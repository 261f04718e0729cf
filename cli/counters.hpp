// `weft counters check`: whether the counters of a fabric's ports are read as they should be.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& counters_words();
int counters_command(const Arguments& arguments);
OptionParser counters_check_options();
int counters_check_command(const Arguments& arguments);

}  // namespace weft::cli
