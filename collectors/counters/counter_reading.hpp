// Reads the counters of every cabled port of an InfiniBand fabric, by performance MADs to the LIDs of its end
// ports; what does not answer is absent.
#pragma once

#include <optional>
#include <vector>

#include "probes/mad/mad_counters.hpp"
#include "probes/mad/mad_exchange.hpp"
#include "topology/model/ib_subnet.hpp"

namespace weft::counters {

struct PortReading {
  mad::IbCounters values{};
  /// Data and packets came from the 64-bit counters, which do not stick.
  bool wide = false;
  /// So did the error counters: the node keeps those 64 bits wide too, and one of the narrow ones stuck.
  bool wide_errors = false;
  /// Read where the port counted errors of its cable and its speed has forward error correction.
  std::optional<mad::FecCounters> fec = std::nullopt;
};

struct CounterReading {
  Nanoseconds at{};                               // when the reading began, on the Mads' clock
  std::vector<std::optional<PortReading>> ports;  // by PortId; absent: no cable, no LID, no answer
  std::size_t unread = 0;                         // cabled ports without a reading
  mad::MadTally tally;
};

Result<CounterReading> read_counters(mad::Mads& mads, const InfinibandFabric& fabric,
                                     const mad::MadLimits& limits = {}, std::stop_token stop = {});

}  // namespace weft::counters
