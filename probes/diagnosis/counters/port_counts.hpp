// Counts of ports beside the probes of a run: what they add to the search for losses, which channels they
// name by themselves, and what is said of those that they do not. Pure.
#pragma once

#include <string>
#include <vector>

#include "probes/diagnosis/counters/count_weight.hpp"
#include "probes/diagnosis/report.hpp"
#include "topology/findings/observation.hpp"

namespace weft::diagnosis {

/// By channel: nats_for_loss; empty where no port counted an error.
std::vector<double> counted_nats(const Fabric& fabric, const Observations& observations);

/// The counts of one channel whose port counted errors, what they and the probes say, and why.
struct JudgedCounts {
  ChannelId channel;
  ChannelJudged judged;
  std::vector<std::string>
      texts;  // one a count, with value, window, source and age; then what contradicts it
};

/// Adds a finding for each channel that loses frames more likely than not and that the report does not
/// explain; a hypothesis where so many probes as a run may send can tell. Called when the findings from
/// probes are in. Returns all channels with errors, by channel.
std::vector<JudgedCounts> report_port_counts(const Fabric& fabric, const Observations& observations,
                                             Report& report);

/// Counts stand in the evidence of the finding at their channel, or in `counters`.
void note_port_counts(const std::vector<JudgedCounts>& judged, Diagnosis& diagnosis);

}  // namespace weft::diagnosis
