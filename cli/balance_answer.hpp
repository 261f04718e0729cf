// What `weft balance` says of an assignment.
#pragma once

#include "cli/balance_options.hpp"

namespace weft {

/// Table or document on stdout, what is unassigned on stderr; the exit status.
int answer_balance(const Fabric& fabric, const BalanceOptions& options, const Assignment& assignment);

/// What is unassigned, on stderr; how many.
std::size_t print_unassigned(const AskedDemand& asked, const Assignment& assignment);

}  // namespace weft
