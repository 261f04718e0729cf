// `weft watch backup FILE`: a copy of what a watcher keeps, while it runs.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& watch_words();

}  // namespace weft::cli
