// What lost packets (cause loss, down or mtu) or corrupted them (cause corruption), in words: one pass over
// the counts of a run (count_problem, count_search) to findings and hypotheses.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "probes/diagnosis/counts/count_problem.hpp"
#include "probes/diagnosis/report.hpp"

namespace weft::diagnosis {

struct CountFindings {
  /// What was found of one group of rivals, and what would settle it; one of the two at least.
  struct Reported {
    std::optional<Found> found = std::nullopt;
    std::optional<Hypothesis> hypothesis = std::nullopt;
    /// Where one of several channels loses packets that is not named: all of them.
    std::vector<ChannelId> one_of = {};
  };
  std::vector<Reported> told;
  std::optional<FabricFinding> even_loss = std::nullopt;
  AccountLine account;
  bool is_rough = false;  // of flows that took one of several paths it was counted only which lost all
};

/// `dead`: channels known to be, ascending; what they swallowed is left out of `counting`.
CountFindings count_findings(const Fabric& fabric, const Observations& observations, const Counting& counting,
                             std::span<const ChannelId> dead, const Tolerance& tolerance);

}  // namespace weft::diagnosis
