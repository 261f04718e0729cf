// Contradictions in a diagnosis document: whoever wrote it, what it says cannot all be so, and nothing is
// done because of it. Documents of weft have none.
#pragma once

#include <optional>
#include <string>

#include "topology/files/diagnosis_document.hpp"
#include "topology/model/fabric.hpp"

namespace weft::blacklist {

/// What cannot be so, in words: a run that is milder than what it found, more lost than sent, more explained
/// or probed than there was, one cause on one channel or group with two verdicts, a share of packets lost
/// where none was sent. Absent: nothing.
std::optional<std::string> contradiction_in(const files::DiagnosisDocument& document);

/// What is said of a host, which is this node, beside its name is its own: else which of the two is meant
/// nobody knows. Error: invalid_input.
Result<void> check_host(const Fabric& fabric, const files::HostReport& report, NodeId node);

/// A whole node is taken out of use for its own channels alone. Error: invalid_input.
Result<void> check_group(const Fabric& fabric, const files::GroupReport& report,
                         const std::vector<ChannelId>& channels);

}  // namespace weft::blacklist
