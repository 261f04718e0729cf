// NICs that standing agents told of, in the database of a watch: a row each, as it was told last.
#pragma once

#include <vector>

#include "collectors/store/database.hpp"
#include "topology/findings/reported_nic.hpp"

namespace weft::store {

/// In place of what was kept of the same ones. All of it, or nothing.
Result<void> keep_reported_nics(Database& database, const std::vector<ReportedNic>& nics);

/// By host, then NIC.
Result<std::vector<ReportedNic>> kept_reported_nics(Database& database);

}  // namespace weft::store
