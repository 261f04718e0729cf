// The exit statuses of the contract, how an Error becomes one, and messages on stderr.
#pragma once

#include <fmt/format.h>

#include <string>

#include "topology/base/result.hpp"
#include "topology/findings/verdict.hpp"

namespace weft::cli {

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

/// A message that cannot be written is lost: no reason to end what it speaks of, as fmt::print would.
void put_stderr(const std::string& text);
template <class... Args>
void print_stderr(fmt::format_string<Args...> text, Args&&... args) {
  put_stderr(fmt::format(text, std::forward<Args>(args)...));
}

inline constexpr const char* kInterruptedMessage = "weft: interrupted before it was done\n";

/// Prints "weft: MESSAGE" on stderr and returns the exit status of that error.
int report(const Error& error);

}  // namespace weft::cli
