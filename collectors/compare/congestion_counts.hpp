// What the NICs of two sides counted of congestion: marks, pauses, waiting for credits, packets out of order.
// Signs beside the layers, with no share in a difference: a count is no time. And what a comparison cannot
// tell, for its runs do not. Pure.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/compare/measured_run.hpp"

namespace weft::compare {

/// Of those that devices have (hw_counters of mlx5, bnxt_re, irdma; counters of InfiniBand): marks, notices
/// of congestion, waiting for credits, packets out of order.
inline constexpr std::array<std::string_view, 13> kCongestionCounters{
    "np_cnp_sent",     "np_ecn_marked_roce_packets",
    "rp_cnp_handled",  "rp_cnp_ignored",
    "out_of_sequence", "rx_cnp_pkts",
    "tx_cnp_pkts",     "rx_ecn_marked_pkts",
    "oos_drop_count",  "cnpSent",
    "cnpHandled",      "RxECNMrkd",
    "port_xmit_wait"};

struct CongestionCount {
  std::string counter;   // np_cnp_sent
  double a = 0, b = 0;   // per second and NIC, the mean over runs
  bool differs = false;  // Welch's t over runs, three a side at least, at 5 % over all counters
};

/// Of the counters that tell of congestion those that grew on either side, where both sides read counters.
std::vector<CongestionCount> congestion_counts(std::span<const MeasuredRun> a,
                                               std::span<const MeasuredRun> b);

/// What the layers cannot tell of these runs and why, a sentence each.
std::vector<std::string> not_told(std::span<const MeasuredRun> a, std::span<const MeasuredRun> b);

/// "np_cnp_sent: 12 a second and NIC on A, 900 on B".
std::string to_string(const CongestionCount& count);

}  // namespace weft::compare
