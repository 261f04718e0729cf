// What `weft balance` says of an assignment, and `weft balance --lab --run` of a trial.
#pragma once

#include "balancer/trial/balance_trial.hpp"
#include "cli/balance_options.hpp"

namespace weft::cli {

/// Table or document on stdout, what is unassigned on stderr; the exit status.
int answer_balance(const Fabric& fabric, const BalanceOptions& options, const assign::Assignment& assignment);

/// What is unassigned, on stderr; how many.
std::size_t print_unassigned(const AskedDemand& asked, const assign::Assignment& assignment);

/// Table or document (weft.trial/1) on stdout. Exit status: healthy when everything was delivered, the links
/// counted what was planned and the steered flows took the time predicted (and, after a failure, were in
/// force within a second of the diagnosis); else degraded.
int answer_trial(const Fabric& fabric, const BalanceOptions& options,
                 const trial::TrialOptions& trial_options, const trial::BalanceTrial& trial);

}  // namespace weft::cli
