// PingSchedule: when a simulated prober sends the packets of each spec: all specs of a request take turns at
// its pace, as a real prober's do (probes/datapath/ping_book.hpp).
#pragma once

#include <vector>

#include "probes/datapath/probe_engine.hpp"

namespace weft::sim {

/// How long a request takes, its wait for answers included.
Nanoseconds length_of(const datapath::PingRequest& request);
Nanoseconds length_of(const datapath::TraceRequest& request);
/// Between two packets.
Nanoseconds interval_of(const datapath::Pace& pace);

class PingSchedule {
 public:
  /// `request` outlives the schedule, and begins at `begin`.
  PingSchedule(const datapath::PingRequest& request, Nanoseconds begin);

  /// Of the spec's packets.
  TimeWindow window(std::uint32_t spec) const;
  /// After the last packet of all.
  Nanoseconds end() const;

 private:
  const datapath::PingRequest& request_;
  Nanoseconds begin_;
  double length_;  // ns, of all packets
};

/// When the packet of a row of `count` goes.
Nanoseconds send_time(const TimeWindow& window, std::uint32_t packet, std::uint32_t count);

}  // namespace weft::sim
