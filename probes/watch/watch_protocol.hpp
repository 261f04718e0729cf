// Which agents a watcher works with. Upgrades go from the watcher to its agents, so it speaks its own number
// and the one before.
#pragma once

#include "probes/watch/assignment_json.hpp"

namespace weft::watch {

constexpr bool speaks(std::uint32_t theirs, std::uint32_t ours = kWatchProtocol) {
  return theirs >= 1 && theirs <= ours && theirs + 1 >= ours;
}

}  // namespace weft::watch
