// The stamp of documents written now.
#pragma once

#include "topology/files/document.hpp"

namespace weft {

DocumentStamp stamp_now();

}  // namespace weft
