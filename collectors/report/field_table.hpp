// Which fields of a packet move its path, as a table for people and rows for programs; and what that means
// for who goes by a path map.
#pragma once

#include <string>

#include "topology/files/row_text.hpp"
#include "topology/findings/field_finding.hpp"

namespace weft {
class Fabric;
}

namespace weft::report {

std::string field_table(const Fabric& fabric, const FieldFindings& findings, std::size_t columns = 80);

files::RowSet field_rows(const Fabric& fabric, const FieldFindings& findings);

/// Why paths that probes found are not those of queue pairs: for who is about to go by them.
inline constexpr std::string_view kProbesPathsAlone =
    "switches hash the destination queue pair, so that the paths of labels are those of probes, not those of "
    "a job's queue pairs";

}  // namespace weft::report
