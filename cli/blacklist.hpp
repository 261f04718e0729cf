// `weft blacklist`: which links to keep work away from, for schedulers and fabric managers.
#pragma once

#include "cli/commands.hpp"

namespace weft::cli {

int blacklist_command(const Arguments& arguments);
int blacklist_export_command(const Arguments& arguments);

}  // namespace weft::cli
