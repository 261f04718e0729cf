// `weft topology discover` and `weft topology check`: the InfiniBand fabric that this host's port is on, read
// by management datagrams or from a dump.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

/// The words after `topology discover`.
OptionParser topology_discover_options();
int topology_discover_command(const Arguments& arguments);
/// The words after `topology check`, where they name a fabric to compare the file with: --lab, --device,
/// --dump.
bool names_a_live_fabric(const Arguments& arguments);
OptionParser topology_cabling_options();
int topology_cabling_command(const Arguments& arguments);

}  // namespace weft::cli
