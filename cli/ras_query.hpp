// Asking NCCL's RAS for the state of a job: a few lines over TCP, bounded in time and size.
#pragma once

#include <string>

#include "topology/base/result.hpp"

namespace weft::cli {

struct RasPlace {
  bool is_file = false;
  std::string host;
  std::string port;
};

/// A file that exists, or HOST:PORT ([ADDRESS]:PORT of IPv6; HOST alone: port 28028). Error (usage): neither.
Result<RasPlace> find_ras(const std::string& place);

/// The answer to STATUS, as JSON where this NCCL has it, else as text. Errors: absent (nobody listens there),
/// timeout (it hangs, also half way).
Result<std::string> ask_ras(const RasPlace& place);

}  // namespace weft::cli
