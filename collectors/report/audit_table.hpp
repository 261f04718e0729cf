// An audit as a table for people.
#pragma once

#include "collectors/report/audit.hpp"

namespace weft::report {

/// No line is wider than `columns`.
std::string audit_table(const Fabric& fabric, const PathTable& table, const Audit& audit,
                        std::size_t columns = 80);

}  // namespace weft::report
