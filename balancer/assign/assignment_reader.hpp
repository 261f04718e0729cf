// The reader of `weft.assignment/1`: what a job's QPs were steered to, to start a change from.
#pragma once

#include <string_view>
#include <vector>

#include "balancer/assign/assign.hpp"

namespace weft::assign {

/// The steered QPs, phase by phase. Refused: NICs and channels the fabric has not, paths that do not lead
/// from src to dst. `what` names the document in messages.
Result<std::vector<std::vector<KeptQp>>> parse_assignment(const Fabric& fabric, std::string_view text,
                                                          std::string_view what);

}  // namespace weft::assign
