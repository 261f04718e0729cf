// Demand: what a job (or several) sends. A flow goes from one NIC to another; the flows of one phase are on
// the wire at the same time; phases follow one another. A file of flows is one phase, as is a ring; recursive
// doubling has one phase a step. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"

namespace weft {
class Fabric;
}

namespace weft::demand {

struct Flow {
  PortId src;  // NIC
  PortId dst;  // NIC
  Bytes bytes;
  /// In which order a NIC sends its flows of one phase: those of a turn together, then the next. Turns are
  /// planned so that no NIC receives from two at once (all-to-all); 0 throughout: all together.
  std::uint32_t turn = 0;
  friend bool operator==(const Flow&, const Flow&) = default;
};

struct Phase {
  std::string name;
  std::vector<Flow> flows;
};

struct Demand {
  std::vector<Phase> phases;
};

/// Several jobs at once. Nothing keeps their phases in step, so phase i of the answer holds phase i of every
/// job that has one, and the only phase of every job that has but one.
Demand combine(const std::vector<Demand>& jobs);

/// "host1 -> host2", as people are told of a flow.
std::string describe(const Fabric& fabric, const Flow& flow);

}  // namespace weft::demand
