// A trial as JSON, `weft.trial/1` (docs/schema/trial.schema.json).
#pragma once

#include "balancer/trial/trial_summary.hpp"
#include "cli/balance_options.hpp"
#include "topology/files/document.hpp"

namespace weft {

std::string trial_json(const Fabric& fabric, const BalanceOptions& options, const TrialOptions& trial_options,
                       const BalanceTrial& trial, const TrialSummary& summary, const DocumentStamp& stamp);

}  // namespace weft
