// The report on forwarding tables as a document, weft.routing/1.
#pragma once

#include <optional>
#include <string>

#include "topology/files/document.hpp"
#include "topology/routing/routing_report.hpp"

namespace weft::files {

std::string routing_json(const Fabric& fabric, const routing::RoutingReport& report,
                         const std::optional<std::string>& engine, const DocumentStamp& stamp);

}  // namespace weft::files
