// What `weft gate` and the program weft-gate answer: the verdict of one host, by one file that is waited for
// for three seconds at most.
#pragma once

#include <optional>
#include <string>

#include "topology/base/result.hpp"
#include "topology/base/utc.hpp"
#include "topology/findings/verdict.hpp"

namespace weft::cli {

inline constexpr const char* kUsualGateFile = "/var/lib/weft/gate";
inline constexpr const char* kUsualGateAge = "48h";

struct GateQuestion {
  std::string file, host;
  std::chrono::seconds longest{};   // a file that is older says nothing
  std::optional<Verdict> refuse{};  // this verdict and worse
};
struct GateAnswer {
  std::string line;  // "VERDICT WHY"
  int status = 0;
};

/// As Slurm calls this host (SLURMD_NODENAME), or as it calls itself, without its domain.
std::string this_host();
/// failed or degraded. Error: usage.
Result<Verdict> parse_refusal(const std::string& word);
GateAnswer answer_of(const GateQuestion& question, UtcTime now);

}  // namespace weft::cli
