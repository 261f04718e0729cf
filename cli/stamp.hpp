// The stamp of documents written now.
#pragma once

#include "topology/files/document.hpp"

namespace weft::cli {

files::DocumentStamp stamp_now();

}  // namespace weft::cli
