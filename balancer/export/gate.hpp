// The gate: of each host whether a job should start there, in one file that the hosts of a cluster read
// without asking anybody. Pure: a diagnosis or a ledger in, the file's text out, and one host's line of it
// back.
//
//   weft.gate/1 pod7 2026-11-25T17:15:00Z
//   gpu001 healthy nothing found
//   gpu002 failed gpu002--leaf1: down
//   end 2
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "balancer/blacklist/capacity.hpp"
#include "balancer/blacklist/evidence.hpp"
#include "balancer/blacklist/ledger.hpp"
#include "topology/base/units.hpp"

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

/// By a run, of its time: the worst that it found of what a host needs (its NICs, its cables, its leaf), else
/// healthy where all of its cables are clean and were loaded if any were, else unknown. Faults between
/// switches are no host's. More faults of hosts that are failed than hosts may be drained by `caps` are
/// likelier our error: all of those are unknown then. A leaf counts once for the hosts that hang on it alone.
/// Errors: those of evidence_of().
Result<Gate> gate_of(const Fabric& fabric, const files::DiagnosisDocument& document,
                     const blacklist::Caps& caps);

/// By a ledger, as of `now`: failed where an active entry takes the host out of use, degraded where it takes
/// a rail, else unknown: a ledger does not say what is well.
Gate gate_of(const Fabric& fabric, const blacklist::Ledger& ledger, blacklist::NicAction nic_action,
             UtcTime now);

/// Both: the ledger decides who is refused, for its policy and caps hold; what a run alone calls failed is
/// degraded. What the ledger only proposes is not healthy. As old as the run.
Gate decided_by(const Fabric& fabric, const blacklist::Ledger& ledger, blacklist::NicAction nic_action,
                Gate run);

std::string gate_text(const Gate& gate);

/// What the file says of a host. Unknown, with the reason as its text, where the text is no such file or a
/// part of one, has not the host, is older than `longest`, or is of more than five minutes from now.
HostVerdict read_gate(std::string_view text, std::string_view host, UtcTime now,
                      std::chrono::seconds longest);

}  // namespace weft::exports
