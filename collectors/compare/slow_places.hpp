// Where a side is slow: the hosts, leaves and rails whose flows get less of their right, or whose round trips
// take longer, than those of the others. A place, with no share in a difference: a slow cable, host or leaf
// shows in it alike. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "collectors/compare/measured_run.hpp"

namespace weft::compare {

struct SlowPlace {
  std::string what;  // "flows from host3", "flows to leaf2", "flows of rail p2", "round trips of host1"
  double ratio = 1;  // what its flows get over what others get, or its times over theirs
};

/// Of each direction of flows, of rails and of round trips the worst place, where it is proven over the runs
/// (three at least; Student's t at 5 % over all places of its kind) and more than 5 %.
std::vector<SlowPlace> slow_places(std::span<const MeasuredRun> runs);

/// "flows from host3 get 60 % less than others".
std::string to_string(const SlowPlace& place);

}  // namespace weft::compare
