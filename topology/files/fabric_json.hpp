// The fabric as a JSON document, `weft.fabric/1` (docs/schema/fabric.schema.json).
#pragma once

#include <string>

#include "topology/files/document.hpp"

namespace weft {
class Fabric;
}

namespace weft::files {

/// Rates are in bits per second. One node or link a line.
std::string fabric_json(const Fabric& fabric, const DocumentStamp& stamp);

}  // namespace weft::files
