// What became of queue pairs with default settings: the label that their device chose, and where they were to
// move to another while they lived, whether they did. Values.
#pragma once

#include <optional>
#include <string>

#include "topology/model/path.hpp"

namespace weft {

/// Of a live queue pair.
struct LabelChange {
  bool done = false;
  std::string how;  // by which way; or why not
  friend bool operator==(const LabelChange&, const LabelChange&) = default;
};

struct AuditedQp {
  PathLabel chosen;                                  // by its device, as it was connected
  std::optional<PathLabel> then = std::nullopt;      // it was to move there
  std::optional<LabelChange> change = std::nullopt;  // absent: not tried
  std::optional<std::string> error = std::nullopt;   // what it said as it broke
  bool has_moved() const { return change && change->done && !error; }
};

}  // namespace weft
