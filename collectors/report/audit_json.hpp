// An audit as a document (weft.audit/1).
#pragma once

#include "collectors/report/audit.hpp"
#include "topology/files/document.hpp"

namespace weft::report {

std::string audit_json(const Fabric& fabric, const PathTable& table, const Audit& audit,
                       const files::DocumentStamp& stamp);

}  // namespace weft::report
