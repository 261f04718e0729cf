// Counters of NICs that tell how long pause frames stopped a port, in microseconds, by the names of mlx5
// (Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst: "Duration of pause received
// (in microSec) on priority p from the far end port").
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace weft {

struct PauseTimeCounter {
  std::string_view name;
  bool of_peer = false;  // the far end stood, stopped by this port
};

/// Of all priorities together, and of each.
inline constexpr std::array<PauseTimeCounter, 18> kPauseTimes{{
    {"rx_global_pause_duration", false},
    {"rx_prio0_pause_duration", false},
    {"rx_prio1_pause_duration", false},
    {"rx_prio2_pause_duration", false},
    {"rx_prio3_pause_duration", false},
    {"rx_prio4_pause_duration", false},
    {"rx_prio5_pause_duration", false},
    {"rx_prio6_pause_duration", false},
    {"rx_prio7_pause_duration", false},
    {"tx_global_pause_duration", true},
    {"tx_prio0_pause_duration", true},
    {"tx_prio1_pause_duration", true},
    {"tx_prio2_pause_duration", true},
    {"tx_prio3_pause_duration", true},
    {"tx_prio4_pause_duration", true},
    {"tx_prio5_pause_duration", true},
    {"tx_prio6_pause_duration", true},
    {"tx_prio7_pause_duration", true},
}};

inline bool is_pause_time(std::string_view counter) {
  return std::ranges::find(kPauseTimes, counter, &PauseTimeCounter::name) != kPauseTimes.end();
}

}  // namespace weft
