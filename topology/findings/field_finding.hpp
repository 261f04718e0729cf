// What was found of the fields of a packet that switches between two NICs choose paths by. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/model/packet_fields.hpp"

namespace weft {

enum class MovesPath : std::uint8_t {
  yes,
  no,
  unknown,  // too few answers, or packets that do not differ go different ways
};

constexpr std::string_view to_string(MovesPath moves) {
  switch (moves) {
    case MovesPath::yes:
      return "yes";
    case MovesPath::no:
      return "no";
    case MovesPath::unknown:
      return "unknown";
  }
  return "";
}

constexpr std::optional<MovesPath> parse_moves_path(std::string_view text) {
  for (const auto moves : {MovesPath::yes, MovesPath::no, MovesPath::unknown})
    if (to_string(moves) == text) return moves;
  return std::nullopt;
}

struct FieldFinding {
  PacketField field = PacketField::source_port;
  MovesPath moves = MovesPath::unknown;
  std::uint64_t values = 0;     // whose packets were answered far enough to tell
  std::uint64_t moved = 0;      // of these, went another way than packets with the usual value
  std::vector<NodeId> at = {};  // switches that chose otherwise, as far as answers tell; ascending
  friend bool operator==(const FieldFinding&, const FieldFinding&) = default;
};

struct FieldFindings {
  PortId src;
  PortId dst;
  std::uint64_t repeats = 0;        // packets that differ in nothing, answered
  std::uint64_t repeats_moved = 0;  // of these, went another way than the first
  std::vector<FieldFinding> fields = {};

  /// Packets that differ in nothing go different ways: then fields tell nothing.
  bool sprays() const { return repeats_moved > 0; }
  MovesPath moves(PacketField field) const {
    for (const FieldFinding& finding : fields)
      if (finding.field == field) return finding.moves;
    return MovesPath::unknown;
  }
};

}  // namespace weft
