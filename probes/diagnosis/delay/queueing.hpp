// Where packets wait under load, by channel: what round trips beside flows take beyond the idle ones of the
// same ways is the sum of what they wait on each channel. The fit of late round trips (DelayFit) parts the
// sums. A plain figure: a queue is what load does, and accuses nothing.
#pragma once

#include <span>
#include <vector>

#include "topology/findings/loaded_trip.hpp"
#include "topology/model/path.hpp"

namespace weft::diagnosis {

/// The longest wait first. Of trips whose ways are known; of more than a few thousand every so many-th
/// counts. None where they cross more channels than such a fit can part (2,000), or no channel's wait stands
/// out from what round trips scatter by.
std::vector<ChannelQueue> queues_by_channel(const PathTable& paths, std::span<const LoadedTrip> trips);

}  // namespace weft::diagnosis
