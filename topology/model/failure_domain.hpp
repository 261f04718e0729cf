// A failure domain: hosts and switches that one cause takes away at the same time (a rack's power, cooling, a
// firmware). How often it does so was seen as events within a time of exposure, never as a bare rate.
#pragma once

#include <chrono>
#include <ratio>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"

namespace weft {

/// Of failures and repairs: from seconds to decades, with fractions.
using Hours = std::chrono::duration<double, std::ratio<3600>>;

struct FailureDomain {
  std::string name;
  std::string kind;             // "power", "rack", "cooling", "firmware", or what the site calls it
  std::vector<NodeId> members;  // each once, in the order of the file
  double events = 0;            // seen in `exposure`; 0: none was seen in it
  Hours exposure{};
  Fraction share{1};  // of the members that an event hits, each by itself
  Hours repair{};     // mean, exponential; of each member hit
};

}  // namespace weft
