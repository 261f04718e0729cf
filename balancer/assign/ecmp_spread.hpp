// What hashing makes of a demand: every QP on a random one of its routes, as ECMP does. Against the bound of
// an assignment, that says what steering gains.
#pragma once

#include <cstdint>

#include "balancer/assign/assign.hpp"
#include "balancer/demand/demand.hpp"

namespace weft::assign {

/// The busiest channel's bytes, phases added up, over so many draws.
struct EcmpSpread {
  std::uint32_t draws = 0;
  double mean = 0;
  double low = 0;   // 5 % of the draws are below
  double high = 0;  // 5 % are above
};

/// Of `options`: qps, avoid, seed. No draws where no flow has a choice of routes.
EcmpSpread ecmp_spread(const Fabric& fabric, const demand::Demand& demand, const AssignOptions& options);

}  // namespace weft::assign
