// What the counters of a NIC mean: from the names that the kernel and drivers have to those of weft, each
// with unit and direction (port_counter.hpp). A profile for each family of drivers; a name that is in none is
// passed over. Pure.
#pragma once

#include <map>
#include <span>

#include "collectors/counters/port_counter.hpp"
#include "topology/findings/nic_reading.hpp"

namespace weft::counters {

struct NicName {
  std::string_view name;  // '#' stands for a number: priority or lane
  PortCounter counter;
  bool summed = false;  // with the others of this counter that say so
};
/// The kernel's own names, those of mlx5, bnxt_en, ice and ionic, and what is the same for all others.
struct NicProfile {
  std::string_view name;    // "mlx5"
  std::string_view driver;  // as the kernel calls it, "mlx5_core"; empty: any
  std::span<const NicName> names;
};
std::span<const NicProfile> nic_profiles();

struct NicCount {
  std::uint64_t value = 0;
  std::string name;  // by which its source goes: "rx_crc_errors_phy"
};

/// The counters of a reading. Of two that say the same, what IEEE 802.3 defines stands (FEC, standard
/// groups), then the driver's, then the kernel's packets, which leave out what RDMA moves past it. Where a
/// histogram of codewords has all bins, their sum and the uncorrectable are the codewords received.
std::map<CounterKey, NicCount> nic_counts(const NicReading& reading);

/// How long pauses stopped the port or its peer (topology/findings/pause_times.hpp), of a reading of mlx5, by
/// the names of the counters; empty: this device does not report how long pauses last.
NamedCounts pause_times(const NicReading& reading);

}  // namespace weft::counters
