// Signs of what is broken about a cable (topology/findings/repair.hpp), from the counters of its ports, the
// modules in them, and those of their peers. Pure.
#pragma once

#include <string>
#include <vector>

#include "collectors/counters/counter_series.hpp"
#include "topology/findings/repair.hpp"

namespace weft::counters {

/// Of all ports of a fabric, looked at once.
class RepairSurvey {
 public:
  /// Sorts the table. Both outlive it.
  RepairSurvey(const Fabric& fabric, CounterTable& table);

  /// Peers are ports with the same module part; of errors, where too few tell theirs, all that tell errors.
  RepairSigns signs(ChannelId channel) const;
  /// What is not known of the ends of a channel and would tell more: "the module at leaf4/p6".
  std::vector<std::string> missing(ChannelId channel) const;
  /// Of the two directions that with clearly more errors into its end; absent where neither has.
  std::optional<ChannelId> worse(LinkId link) const;

 private:
  /// What one port measures itself.
  struct Measured {
    std::optional<double> sent, received, bias, celsius, errors;  // dBm, dBm, mA, degrees, decades
    bool few_errors = false;                                      // too few to be above those of peers
    std::optional<double> flaps;                                  // a day
  };
  using Value = std::optional<double> Measured::*;
  std::string part_of(PortId port) const;
  std::optional<double> above_peers(PortId port, Value value) const;
  std::optional<double> errors_above_peers(PortId port) const;
  std::optional<double> neighbours_bad(PortId port) const;
  EndSigns end(PortId port) const;

  const Fabric& fabric_;
  const CounterTable& table_;
  std::map<PortId, Measured> measured_;
};

}  // namespace weft::counters
