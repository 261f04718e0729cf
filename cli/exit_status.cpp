#include "cli/exit_status.hpp"

#include <cstdio>

#include "topology/base/outside_text.hpp"

namespace weft::cli {

int exit_status(Verdict verdict) {
  switch (verdict) {
    case Verdict::healthy:
      return kExitHealthy;
    case Verdict::unknown:
      return kExitUnknown;
    case Verdict::congested:
    case Verdict::degraded:
      return kExitDegraded;
    case Verdict::failed:
      return kExitFailed;
  }
  return kExitInternal;
}

int exit_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage:
    case ErrorKind::invalid_input:
    case ErrorKind::not_found:
      return kExitUsage;
    case ErrorKind::absent:
    case ErrorKind::permission:
    case ErrorKind::not_supported:
    case ErrorKind::timeout:
    case ErrorKind::conflict:
      return kExitAbsent;
    case ErrorKind::internal:
      return kExitInternal;
  }
  return kExitInternal;
}

void put_stderr(const std::string& text) { std::fputs(text.c_str(), stderr); }

int report(const Error& error) {
  // Readers have made harmless what they read; an argument or a server's log may be quoted as it is.
  print_stderr("weft: {}\n", outside_text(error.message, LineBreaks::kept));
  return exit_status(error.kind);
}

}  // namespace weft::cli
