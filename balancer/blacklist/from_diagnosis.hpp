// From a diagnosis to the blacklist: which links to keep work away from.
#pragma once

#include <chrono>

#include "balancer/blacklist/entry.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::blacklist {

struct BlacklistOptions {
  /// How long an entry holds unless a later run sees the fault again. A day: long enough for a daily sweep to
  /// renew it, short enough that a mended cable comes back by itself.
  std::chrono::seconds lifetime = std::chrono::hours(24);
};

/// An entry for every link that is degraded or failed, and for the cable of every NIC that is; in the order
/// of the document, each link once with the worst of its findings. Congestion is no fault of a cable, and
/// what is unknown blames nobody. Error: a link whose ends the document does not give (a document that weft
/// did not write).
Result<std::vector<BlacklistEntry>> blacklist_of(const files::DiagnosisDocument& document,
                                                 const BlacklistOptions& options = {});

/// What of the diagnosis' faults no entry says, in words: whole switches, sets of channels one of which is at
/// fault, hosts of which no link is known.
std::vector<std::string> left_out_of_blacklist(const files::DiagnosisDocument& document);

/// Fills in what the links and NICs of `document` join, where it does not say, from the fabric it speaks of.
/// Error: the fabric has no such link or NIC.
Result<void> complete_ends(files::DiagnosisDocument& document, const Fabric& fabric);

}  // namespace weft::blacklist
