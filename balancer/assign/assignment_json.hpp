// Assignments as JSON, `weft.assignment/1` (docs/schema/assignment.schema.json).
#pragma once

#include <string>

#include "balancer/assign/assign.hpp"
#include "balancer/assign/ecmp_spread.hpp"
#include "balancer/demand/flow_file.hpp"
#include "topology/files/document.hpp"

namespace weft::assign {

/// `demand` is what `assignment` was made for; `refused` (lines of its file) join what is unassigned; `ecmp`
/// is left out where nothing was drawn.
std::string assignment_json(const Fabric& fabric, const demand::Demand& demand, const Assignment& assignment,
                            const std::vector<demand::RefusedFlow>& refused,
                            const files::DocumentStamp& stamp, const EcmpSpread& ecmp = {});

}  // namespace weft::assign
