// `weft balance --lab`: paths are mapped in the lab before they are assigned; with --run the flows are sent.
#pragma once

#include "cli/options.hpp"

namespace weft::cli {

/// --lab, --labels, --run, --repeat, --fail.
void add_balance_lab_options(po::options_description& options);

int balance_lab(const po::variables_map& values);

}  // namespace weft::cli
