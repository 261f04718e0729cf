// The answer of `weft balance --lab --run`.
#pragma once

#include "balancer/trial/balance_trial.hpp"
#include "cli/balance_options.hpp"

namespace weft {

/// Table or document (weft.trial/1) on stdout. Exit status: healthy when everything was delivered, the links
/// counted what was planned and the steered flows took the time predicted (and, after a failure, were in
/// force within a second of the diagnosis); else degraded.
int answer_trial(const Fabric& fabric, const BalanceOptions& options, const TrialOptions& trial_options,
                 const BalanceTrial& trial);

}  // namespace weft
