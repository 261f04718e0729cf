// What a command says before it goes by paths of probes, where switches hash what probes do not vary.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "topology/findings/field_finding.hpp"

namespace weft::cli {

/// On stderr, what a file tells of its switches, where that is of weight for who goes by paths of probes:
/// `where` it stands.
void note_hashed(const std::vector<PacketField>& hashed, std::string_view where);
void note_hashed(const std::optional<FieldFindings>& fields, std::string_view where);

}  // namespace weft::cli
