// What the device of a NIC has counted, and what it counted between two readings. Names are those of its
// files in sysfs (docs/verbs.md); drivers differ in which they have. Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"
#include "topology/findings/counter_step.hpp"

namespace weft {

struct NicCounters {
  std::string device;      // mlx5_0
  std::uint32_t port = 1;  // of the device
  Nanoseconds at{};        // on a clock of its host that only goes forward
  std::map<std::string, std::uint64_t> values;
  friend bool operator==(const NicCounters&, const NicCounters&) = default;
};

/// The same NIC, read twice.
struct NicCounterSteps {
  PortId nic;
  std::string device;
  std::uint32_t port = 1;
  Nanoseconds window{};
  std::map<std::string, CounterStep> steps;  // of the counters that both readings have
  // From a third reading on, which was taken before the fabric was loaded; 0: there was none.
  Nanoseconds load_window{};
  std::map<std::string, CounterStep> load_steps = {};

  /// By how much a counter grew; absent where there is none, or it was reset between the readings.
  std::optional<std::uint64_t> grew(const std::string& counter) const;
};

/// Absent where the readings are not of the same port or not in this order.
std::optional<NicCounterSteps> steps_between(PortId nic, const NicCounters& before, const NicCounters& after);

}  // namespace weft
