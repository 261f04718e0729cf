// Asking NCCL's RAS for the state of a job: a few lines over TCP, bounded in time and size.
#pragma once

#include <string>

#include "topology/base/result.hpp"
#include "topology/base/units.hpp"

namespace weft::cli {

struct RasPlace {
  bool is_file = false;
  std::string host;
  std::string port;
};

/// A file that exists, or HOST:PORT ([ADDRESS]:PORT of IPv6; HOST alone: port 28028). Error (usage): neither.
Result<RasPlace> find_ras(const std::string& place);

/// What RAS may take, whatever it sends meanwhile.
struct RasLimits {
  Nanoseconds connect = std::chrono::seconds(5);
  Nanoseconds greeting = std::chrono::seconds(2);  // for the answer to SET FORMAT, a line
  Nanoseconds answer = std::chrono::seconds(20);   // it waits 5 s itself for a process that is silent
};

/// The answer to STATUS, as JSON where this NCCL has it, else as text. Errors: absent (nobody listens there),
/// timeout (it hangs, also half way).
Result<std::string> ask_ras(const RasPlace& place, const RasLimits& limits = {});

}  // namespace weft::cli
