// `weft blacklist`: which links to keep work away from, for schedulers and fabric managers.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& blacklist_words();
int blacklist_command(const Arguments& arguments);
OptionParser blacklist_export_options();
int blacklist_export_command(const Arguments& arguments);

}  // namespace weft::cli
