// A StandingPlan as bytes: what the active watcher keeps for the one that takes over, which then need not map
// paths before it sees anything. Only watchers can write it; what is read is checked all the same. Pure.
#pragma once

#include <string>
#include <string_view>

#include "probes/watch/standing_plan.hpp"
#include "topology/base/result.hpp"

namespace weft::watch {

std::string encode_plan(const Fabric& fabric, const StandingPlan& plan, const PlanLimits& limits);

/// Errors: conflict (of another fabric, also of an older state of its file, or made for other limits),
/// invalid_input.
Result<StandingPlan> decode_plan(const Fabric& fabric, const PlanLimits& limits, std::string_view bytes);

}  // namespace weft::watch
