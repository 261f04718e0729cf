// From the history of ports to observations of channels: errors of what, over which window, as the diagnosis
// weighs them (topology/findings/channel_count.hpp). Pure.
#pragma once

#include <vector>

#include "collectors/counters/port_history.hpp"
#include "topology/findings/channel_count.hpp"

namespace weft::counters {

/// Observations for each port, source and kind that has a window and what it is a share of: uncorrectable
/// codewords (of those counted, or else of those that the rate of the link makes), frames with a bad FCS,
/// errors of any kind where a source has none of the FCS, discards. One a window, of many windows neighbours
/// in one; of a counter without an error one for all (of discards none). Ages are held against the newest
/// window of each source: clocks of sources differ. The table is sorted.
std::vector<ChannelCount> channel_counts(const Fabric& fabric, CounterTable& table);

}  // namespace weft::counters
