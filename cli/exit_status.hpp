// The exit statuses of the contract, and how an Error becomes one.
#pragma once

#include "topology/base/result.hpp"
#include "topology/findings/verdict.hpp"

namespace weft {

inline constexpr int kExitHealthy = 0;
inline constexpr int kExitDegraded = 1;  // or congested
inline constexpr int kExitFailed = 2;
inline constexpr int kExitUnknown = 3;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitAbsent = 69;
inline constexpr int kExitInternal = 70;
inline constexpr int kExitInterrupted = 130;  // ended by Ctrl-C: 128 + SIGINT

int exit_status(Verdict verdict);
int exit_status(ErrorKind kind);

/// Prints "weft: MESSAGE" on stderr and returns the exit status of that error.
int report(const Error& error);

}  // namespace weft
