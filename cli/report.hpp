// `weft report`: what a watcher kept of the last days.
#pragma once

#include "cli/options.hpp"

namespace weft::cli {

OptionParser report_options();
int report_command(const Arguments& arguments);

}  // namespace weft::cli
