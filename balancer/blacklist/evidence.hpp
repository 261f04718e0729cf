// Evidence for the blacklist: what a run says is at fault, and over what it was clean.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balancer/blacklist/subject.hpp"
#include "topology/base/utc.hpp"
#include "topology/files/diagnosis_document.hpp"

namespace weft::blacklist {

struct Fault {
  Subject subject;
  Cause cause = Cause::loss;
  Verdict verdict = Verdict::degraded;
  double confidence = 0;
  std::vector<std::string> evidence{};
  std::optional<double> size{};  // least of the estimate's interval, in the unit that Estimate has by cause
};
/// A cable that leads elsewhere than the fabric file says: it carries packets all the same, and what the file
/// has at its ends may be well. It is for people to mend, and makes no entry. A fault of which anything else
/// tells too is more than that.
bool indicates_miswiring(const Fault& fault);

struct Evidence {
  std::string run;          // two of one name are one
  UtcTime from{}, until{};  // when its packets were sent
  std::vector<Fault> faults{};
  /// By channel: crossed by enough packets, and nothing that was found has to do with it.
  std::vector<bool> clean{};
  /// By channel: it also carried a full load.
  std::vector<bool> loaded{};
  /// The smallest fault that it would have shown, in the units of Estimate: a smaller one may still be there.
  std::optional<double> shows_loss{}, shows_delay{}, shows_rate{}, shows_size{};
  /// It tells of an incident of that cause alone; absent: of the fabric.
  std::optional<Cause> of_incident{};
};

/// Whether the run would have shown a fault of that cause and size over these channels, and showed none. Of a
/// size that nobody estimated: one that the run shows.
bool is_clean_over(const Evidence& evidence, const std::vector<ChannelId>& channels, Cause cause,
                   std::optional<double> size);

struct ReadEvidence {
  Evidence evidence;
  /// Faults that no entry can say, in words: a set over several cables, the fabric as a whole, a cable that
  /// leads elsewhere.
  std::vector<std::string> advice;
};

/// Nothing is clean where the coverage does not add up, where a loss is unexplained, an even fault of the
/// whole fabric was found, or where hosts were chosen and the document does not say which channels lay
/// outside. Errors: invalid_input (it is of another fabric), not_found (it names what the fabric has not).
Result<ReadEvidence> evidence_of(const Fabric& fabric, const files::DiagnosisDocument& document);

}  // namespace weft::blacklist
