// Path maps as JSON, `weft.pathmap/1` (docs/schema/pathmap.schema.json).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topology/base/result.hpp"
#include "topology/files/document.hpp"
#include "topology/findings/field_finding.hpp"
#include "topology/model/path.hpp"

namespace weft {
class Fabric;
}

namespace weft::files {

/// Labels that no packet tried, by the path that each is predicted to take.
struct PredictedPaths {
  PathMap map;
  double confidence = 0;  // the least of all
};

/// `predicted`: stands apart from what was seen; `fields`: what switches choose by. Null: left out.
std::string path_map_json(const Fabric& fabric, const PathMap& map, const DocumentStamp& stamp,
                          const PredictedPaths* predicted = nullptr, const FieldFindings* fields = nullptr);

/// Refused: channels the fabric has not, a path that does not lead from src to dst, a pair that stands twice,
/// labels that repeat within a path. `what` names the document in messages.
struct PathMapDocument {
  PathMap map;
  std::optional<FieldFindings> fields = std::nullopt;
};
Result<PathMapDocument> parse_path_map_document(const Fabric& fabric, std::string_view text,
                                                std::string_view what);
/// The paths alone.
Result<PathMap> parse_path_map(const Fabric& fabric, std::string_view text, std::string_view what);

}  // namespace weft::files
