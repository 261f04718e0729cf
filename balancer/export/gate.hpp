// What stands in the file of `weft gate` (gate_file.hpp): of each host whether a job should start there, by a
// diagnosis, a ledger or both. Pure.
#pragma once

#include "balancer/blacklist/capacity.hpp"
#include "balancer/blacklist/evidence.hpp"
#include "balancer/blacklist/ledger.hpp"
#include "balancer/export/gate_file.hpp"

namespace weft::exports {

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

}  // namespace weft::exports
