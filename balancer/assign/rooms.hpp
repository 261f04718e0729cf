// Rooms: what every channel may carry when the busiest carries so many bytes (on the reference rate). For
// equal items whole items count, for others bytes.
#pragma once

#include <vector>

#include "balancer/assign/bounds.hpp"

namespace weft::assign {

/// No channel beyond `bytes`. Indexed by channel.
std::vector<double> rooms_of(const Instance& instance, double bytes);

/// No leaf beyond its own bound, no other channel beyond the integral bound.
std::vector<double> rooms_by_leaf(const Instance& instance, const Routes& routes, const Bounds& bounds);

/// The next `bytes` worth a try when the items do not fit: the least that gives some channel more room, a per
/// cent more where items differ.
double next_rooms(const Instance& instance, double bytes);

}  // namespace weft::assign
