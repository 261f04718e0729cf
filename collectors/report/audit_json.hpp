// An audit as a document (weft.audit/1).
#pragma once

#include "collectors/report/audit.hpp"
#include "topology/files/document.hpp"

namespace weft {

std::string audit_json(const Fabric& fabric, const PathTable& table, const Audit& audit,
                       const DocumentStamp& stamp);

}  // namespace weft
