// Which ports a NIC asks for an echo where no agent of weft answers: an InfiniBand port's own management
// agent does, in every adapter. What an echo shows is its round trip alone, so these come second to pings.
#pragma once

#include <vector>

#include "probes/plan/pairs.hpp"
#include "topology/model/path.hpp"

namespace weft::plan {

/// An echo that can be asked for, by labels, and the channels it takes.
struct Echo {
  NicPair pair;
  PathLabel label;
  PathLabel back_label;
  std::vector<ChannelId> there, back;
};

/// Of `all`, few that between them cross every channel of `needed` (by channel) that any of them crosses; at
/// most `most` from one NIC. The next is always the one that crosses most that is still needed; of equal
/// ones the first whose NIC asks least.
std::vector<Echo> choose_echoes(const std::vector<Echo>& all, std::vector<bool> needed, std::size_t most);

}  // namespace weft::plan
