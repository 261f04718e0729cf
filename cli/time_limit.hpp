// --timeout: when a run ends, done or not.
#pragma once

#include <stop_token>

#include "cli/options.hpp"
#include "probes/session/coordinator.hpp"
#include "probes/session/sweep.hpp"

namespace weft::cli {

/// `name`: where --timeout is taken.
void add_timeout_option(po::options_description& options, const char* name = "timeout");
/// From now on; absent: no limit. Error: usage.
Result<std::optional<session::TimeLimit>> read_time_limit(const po::variables_map& values,
                                                          const char* name = "timeout");

/// What the sweep computes ends where the time is over, for the verdict some seconds later, or at once where
/// the user asks for the end.
void limit_computing(session::Sweep& sweep, const std::optional<session::TimeLimit>& limit,
                     std::stop_token stop);

}  // namespace weft::cli
