// From the history of ports to observations of channels: errors of what, over which window, as the diagnosis
// weighs them (topology/findings/channel_count.hpp). Pure.
#pragma once

#include <vector>

#include "collectors/counters/port_history.hpp"
#include "topology/findings/channel_count.hpp"

namespace weft::counters {

/// One observation for each port, source and kind that has a window and what it is a share of: uncorrectable
/// codewords (of those counted, or else of those that the rate of the link makes), frames with a bad FCS,
/// errors of any kind where a source has none of the FCS, discards. Zero errors are told, too. Ages are held
/// against the newest reading of each source: clocks of sources differ. `table`: of these histories.
std::vector<ChannelCount> channel_counts(const Fabric& fabric, const CounterTable& table,
                                         const std::vector<SeriesHistory>& histories);

}  // namespace weft::counters
