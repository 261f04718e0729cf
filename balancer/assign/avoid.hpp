// What to avoid, by a blacklist or by a diagnosis, as the balancer takes it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "balancer/assign/capacities.hpp"
#include "balancer/blacklist/entry.hpp"
#include "balancer/blacklist/ledger_json.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::assign {

/// What a diagnosis asks for: failed channels are avoided (both directions of a cable that is down); a
/// channel at a lower rate, or that other traffic holds, counts for the share measured; any other degraded
/// channel for half, so that traffic prefers its neighbours and still uses it when they do not suffice.
std::vector<Avoided> avoided_by(const Diagnosis& diagnosis);

struct DocumentAvoided {
  std::vector<Avoided> channels;
  std::vector<std::string> unknown;  // links and NICs that this fabric has not, each with what is wrong
};

/// Both channels of every link with an entry that has not expired. Entries of other fabrics are passed over.
DocumentAvoided avoided_by(const Fabric& fabric, std::span<const blacklist::BlacklistEntry> entries,
                           UtcTime now);

/// What the active entries of a ledger are about; a link counts in both directions. Entries of other fabrics
/// are passed over.
DocumentAvoided avoided_by(const Fabric& fabric, std::span<const blacklist::LedgerEntry> entries);

/// A diagnosis read from a file, by the rules of avoided_by(diagnosis).
DocumentAvoided avoided_by(const Fabric& fabric, const files::DiagnosisDocument& document);

}  // namespace weft::assign
