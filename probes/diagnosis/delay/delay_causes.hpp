// What may be behind late round trips: channels nearly all of whose round trips are late, whole sides of a
// switch (all its uplinks, all its downlinks, the cables of all its hosts) and a delay that all paths of a
// length share. Causes that add the same to the same round trips are one cause with several options.
#pragma once

#include <cstdint>
#include <vector>

#include "probes/diagnosis/delay/delay_fit.hpp"
#include "probes/diagnosis/delay/delay_rows.hpp"
#include "topology/base/ids.hpp"

namespace weft {
class Fabric;
}

namespace weft::diagnosis {

struct DelayCause {
  std::vector<std::vector<ChannelId>> options;  // one of them is true, if the cause is; ids ascending in each
  // All ways in or out of a switch with two neighbours: they add the same as both ways of one of its cables,
  // and are listed where one of the four is late on its own account, too.
  std::vector<std::vector<ChannelId>> sides;
  bool shared =
      false;  // or all paths of a length take longer, which can be told of none where options are empty
  DelayFit::Column column;  // rows of DelayRows
};

/// `seen` and `late`: round trips over each channel, and those that are late.
std::vector<DelayCause> delay_causes(const Fabric& fabric, const DelayRows& rows,
                                     const std::vector<std::uint32_t>& seen,
                                     const std::vector<std::uint32_t>& late);

/// Whether all belong to one cable: either way of it, or both.
bool are_one_cable(const std::vector<ChannelId>& channels);

/// To the options of each cause at work whose channels another one at work has too: its sides. Two channels
/// late by different times are then no rarer than two equal ones and a third.
void list_sides(std::vector<DelayCause>& causes, const std::vector<std::uint32_t>& at_work);

/// Some channel is on every round trip of each length that crosses it: nothing tells its delay from theirs.
bool has_shared_channel(const DelayRows& rows, const std::vector<std::uint32_t>& seen);

}  // namespace weft::diagnosis
