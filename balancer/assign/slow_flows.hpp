// Slow flows: where some channels are busier than others, whoever crosses one of them is through late. Each
// channel carrying what it carries, or as many channels as much, the fewest flows shall: those that are slow
// on their way up are the ones to be slow on their way down, and slow QPs belong into one flow.
#pragma once

#include <vector>

#include "balancer/assign/placement.hpp"

namespace weft {

/// Moves items, one or two at a time, so that the sum over all items of the level of their busiest channel
/// falls, while the sum of the squares of the loads does not rise and no channel gets beyond `most`.
/// Precondition: all items placed. Bounded in steps.
void join_slow(Placement& placement, const std::vector<double>& most);

/// How good a placement is: what counts first stands first.
struct Evenness {
  double busiest = 0;   // level of the busiest channel
  double squares = 0;   // sum over channels of the level squared
  double slowness = 0;  // sum over items of the level of their busiest channel
  /// Less is better; differences of rounding are none.
  bool better_than(const Evenness& other) const;
};
Evenness evenness_of(const Placement& placement);

/// QPs of a pair of leaves that take slow routes (those over busier channels) are gathered in as few flows as
/// may be, each channel carrying what it carried: a flow is through when its last QP is. QPs of one flow
/// still take different routes as far as there are. Where labels are known by pair every pair stands alone,
/// and nothing changes.
void gather_slow(const Instance& instance, std::vector<SwitchRoute>& taken);

}  // namespace weft
