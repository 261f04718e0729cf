// The report on forwarding tables as a text for people.
#pragma once

#include <optional>
#include <string>

#include "topology/routing/routing_report.hpp"

namespace weft::report {

/// `engine`: what the subnet manager says it ran, where that is known.
std::string routing_table(const Fabric& fabric, const routing::RoutingReport& report,
                          const std::optional<std::string>& engine, std::size_t columns = 80);

}  // namespace weft::report
