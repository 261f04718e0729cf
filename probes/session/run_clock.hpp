// RunClock: the times that engines tell on one clock of the run. Every host has a clock of its own; what they
// share is that the NICs of a wave begin together. The run's clock starts with its first wave of packets and
// is good to the time that agents take to begin. Pure.
#pragma once

#include <map>
#include <optional>

#include "topology/base/ids.hpp"
#include "topology/findings/observation.hpp"

namespace weft::session {

class RunClock {
 public:
  /// A wave began: when each of its NICs sent first, by its own clock. A clock that jumped since the last
  /// wave is set by the others anew.
  void begin_wave(const std::map<PortId, Nanoseconds>& first_sends);
  /// Absent: the NIC was in no wave yet.
  std::optional<TimeWindow> window(PortId nic, const TimeWindow& by_its_clock);

 private:
  std::map<PortId, Nanoseconds> ahead_;  // the run's clock, less the NIC's own
  Nanoseconds latest_{};                 // of all that was told
};

}  // namespace weft::session
