// What every document carries besides its content.
#pragma once

#include <string>

#include "topology/base/utc.hpp"

namespace weft::files {

struct DocumentStamp {
  UtcTime generated_at{};
  std::string tool_version;
};

}  // namespace weft::files
