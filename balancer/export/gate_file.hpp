// The file of `weft gate`: of each host whether a job should start there. The hosts of a cluster read it
// without asking anybody, so it needs nothing but this. Pure: values in, the file's text out, and one host's
// line of it back.
//
//   weft.gate/1 pod7 2026-11-25T17:15:00Z
//   gpu001 healthy nothing found
//   gpu002 failed gpu002--leaf1: down
//   end 2
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/base/units.hpp"
#include "topology/base/utc.hpp"
#include "topology/findings/verdict.hpp"

namespace weft::exports {

struct HostVerdict {
  std::string host;
  Verdict verdict = Verdict::unknown;
  std::string text;  // why, for people
  friend bool operator==(const HostVerdict&, const HostVerdict&) = default;
};

struct Gate {
  std::string fabric;
  UtcTime told_at{};  // the age of the file counts from here
  std::vector<HostVerdict> hosts;
};

inline constexpr Bytes kMaxGateBytes = Bytes(16'000'000);

std::string gate_text(const Gate& gate);

/// What the file says of a host. Unknown, with the reason as its text, where the text is no such file or a
/// part of one, has not the host or has it twice, is older than `longest`, or is of more than five minutes
/// from now.
HostVerdict read_gate(std::string_view text, std::string_view host, UtcTime now,
                      std::chrono::seconds longest);

}  // namespace weft::exports
