// Path maps as JSON, `weft.pathmap/1` (docs/schema/pathmap.schema.json).
#pragma once

#include <string>
#include <string_view>

#include "topology/base/result.hpp"
#include "topology/files/document.hpp"
#include "topology/model/path.hpp"

namespace weft {
class Fabric;
}

namespace weft::files {

std::string path_map_json(const Fabric& fabric, const PathMap& map, const DocumentStamp& stamp);

/// Refused: channels the fabric has not, a path that does not lead from src to dst, a pair that stands twice,
/// labels that repeat within a path. `what` names the document in messages.
Result<PathMap> parse_path_map(const Fabric& fabric, std::string_view text, std::string_view what);

}  // namespace weft::files
