// `weft compare run A.yaml B.yaml`: the same work over two fabrics, or over one with two settings, block by
// block, until it is decided whether they differ, and why.
#pragma once

#include "cli/words.hpp"

namespace weft::cli {

const WordGroup& compare_words();

}  // namespace weft::cli
