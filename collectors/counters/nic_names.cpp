#include "collectors/counters/nic_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "collectors/counters/counter_pattern.hpp"
#include "topology/base/whole_number.hpp"
#include "topology/findings/pause_times.hpp"

namespace weft::counters {
namespace {

using enum PortCounter;

// IEEE 802.3 clause 30 by ethtool's groups, and FEC (Documentation/networking/ethtool-netlink.rst).
constexpr std::array kStandard{NicName{"corrected_blocks", fec_corrected},
                               NicName{"uncorrectable_blocks", fec_uncorrectable},
                               NicName{"corrected_bits", fec_bits},
                               NicName{"corrected_bits.lane#", fec_bits},
                               NicName{"eth-phy-SymbolErrorDuringCarrier", symbol_errors},
                               NicName{"eth-mac-FramesReceivedOK", frames_in},
                               NicName{"eth-mac-FramesTransmittedOK", frames_out},
                               NicName{"eth-mac-OctetsReceivedOK", bytes_in},
                               NicName{"eth-mac-OctetsTransmittedOK", bytes_out},
                               NicName{"eth-mac-FrameCheckSequenceErrors", fcs_errors},
                               NicName{"rx_pause_frames", pause_in},
                               NicName{"tx_pause_frames", pause_out},
                               NicName{"carrier_changes", link_events}};
// Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst. rx_symbol_err_phy counts
// packets, rx_pcs_symbol_err_phy symbols behind the correction, rx_err_lane_#_phy errors before it;
// those of mlxlink are the same of the device (PPCNT), read another way. rx_global_pause is not told by every
// driver, nor while priorities pause; rx_pause_ctrl_phy is the same of the port.
constexpr std::array kMlx5{NicName{"rx_packets_phy", frames_in},
                           NicName{"tx_packets_phy", frames_out},
                           NicName{"rx_bytes_phy", bytes_in},
                           NicName{"tx_bytes_phy", bytes_out},
                           NicName{"rx_crc_errors_phy", fcs_errors},
                           NicName{"rx_corrected_bits_phy", fec_bits},
                           NicName{"rx_pcs_symbol_err_phy", symbol_errors},
                           NicName{"mlxlink_symbol_errors", symbol_errors},
                           NicName{"rx_err_lane_#_phy", symbol_errors},
                           NicName{"mlxlink_raw_errors_lane#", symbol_errors},
                           NicName{"rx_discards_phy", discards_in},
                           NicName{"tx_discards_phy", discards_out},
                           NicName{"tx_errors_phy", errors_out},
                           NicName{"rx_prio#_pause", pause_in},
                           NicName{"tx_prio#_pause", pause_out},
                           NicName{"rx_global_pause", pause_in},
                           NicName{"tx_global_pause", pause_out},
                           NicName{"rx_pause_ctrl_phy", pause_in},
                           NicName{"tx_pause_ctrl_phy", pause_out},
                           NicName{"link_down_events_phy", link_events},
                           NicName{"mlxlink_link_down", link_events},
                           NicName{"mlxlink_fec_bin#", fec_bin}};
// drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c. Frames of a priority that PFC is on for are pauses.
constexpr std::array kBnxt{NicName{"rx_good_frames", frames_in},
                           NicName{"tx_good_frames", frames_out},
                           NicName{"rx_bytes", bytes_in},
                           NicName{"tx_bytes", bytes_out},
                           NicName{"rx_fcs_err_frames", fcs_errors},
                           NicName{"rx_fec_corrected_blocks", fec_corrected},
                           NicName{"rx_fec_uncorrectable_blocks", fec_uncorrectable},
                           NicName{"rx_corrected_bits", fec_bits},
                           NicName{"rx_pcs_symbol_err", symbol_errors},
                           NicName{"rx_stat_discard", discards_in},
                           NicName{"tx_stat_discard", discards_out},
                           NicName{"rx_stat_err", errors_in},
                           NicName{"tx_stat_error", errors_out},
                           NicName{"rx_pause_frames", pause_in},
                           NicName{"tx_pause_frames", pause_out},
                           NicName{"rx_pfc_ena_frames_pri#", pause_in},
                           NicName{"tx_pfc_ena_frames_pri#", pause_out},
                           NicName{"link_down_events", link_events}};
// drivers/net/ethernet/intel/ice/ice_ethtool.c. XOFF begins a pause, XON ends it. rx_dropped (GLV_RDPC)
// found no room in the rings, rx_dropped.nic none in the buffer of the port.
constexpr std::array kIce{NicName{"rx_unicast.nic", frames_in, true},
                          NicName{"rx_multicast.nic", frames_in, true},
                          NicName{"rx_broadcast.nic", frames_in, true},
                          NicName{"tx_unicast.nic", frames_out, true},
                          NicName{"tx_multicast.nic", frames_out, true},
                          NicName{"tx_broadcast.nic", frames_out, true},
                          NicName{"rx_bytes.nic", bytes_in},
                          NicName{"tx_bytes.nic", bytes_out},
                          NicName{"rx_crc_errors.nic", fcs_errors},
                          NicName{"rx_dropped", discards_in, true},
                          NicName{"rx_dropped.nic", discards_in, true},
                          NicName{"tx_dropped_link_down.nic", discards_out},
                          NicName{"link_xoff_rx.nic", pause_in},
                          NicName{"link_xoff_tx.nic", pause_out},
                          NicName{"rx_priority_#_xoff.nic", pause_in},
                          NicName{"tx_priority_#_xoff.nic", pause_out}};
// Documentation/networking/device_drivers/ethernet/pensando/ionic.rst; "pripause" is of all priorities.
constexpr std::array kIonic{
    NicName{"frames_rx_ok", frames_in},       NicName{"frames_tx_ok", frames_out},
    NicName{"octets_rx_ok", bytes_in},        NicName{"octets_tx_ok", bytes_out},
    NicName{"frames_rx_bad_fcs", fcs_errors}, NicName{"frames_rx_bad_all", errors_in},
    NicName{"frames_tx_bad", errors_out},     NicName{"frames_rx_dropped", discards_in},
    NicName{"frames_rx_pause", pause_in},     NicName{"frames_tx_pause", pause_out}};
// e1000e, igb, ixgbe and others. A driver that names it counts it; the kernel's own sum is zero where none
// does.
constexpr std::array kAny{NicName{"rx_crc_errors", fcs_errors}};
// hw_counters of mlx5_ib, bnxt_re and irdma: what congestion control saw and said.
constexpr std::array kRdma{NicName{"np_ecn_marked_roce_packets", ecn_marked},
                           NicName{"np_cnp_sent", cnp_out},
                           NicName{"rp_cnp_handled", cnp_in},
                           NicName{"rx_ecn_marked_pkts", ecn_marked},
                           NicName{"tx_cnp_pkts", cnp_out},
                           NicName{"rx_cnp_pkts", cnp_in},
                           NicName{"RxECNMrkd", ecn_marked},
                           NicName{"cnpSent", cnp_out},
                           NicName{"cnpHandled", cnp_in}};
// rtnl_link_stats64: what the driver tells the kernel.
constexpr std::array kLink{NicName{"rx_packets", frames_in},   NicName{"tx_packets", frames_out},
                           NicName{"rx_bytes", bytes_in},      NicName{"tx_bytes", bytes_out},
                           NicName{"rx_dropped", discards_in}, NicName{"tx_dropped", discards_out}};

constexpr std::array kProfiles{NicProfile{"mlx5", "mlx5_core", kMlx5},
                               NicProfile{"bnxt_en", "bnxt_en", kBnxt}, NicProfile{"ice", "ice", kIce},
                               NicProfile{"ionic", "ionic", kIonic}, NicProfile{"any", "", kAny}};

class Counts {
 public:
  /// What stands already is not replaced.
  void take(std::span<const NicName> rules, const NamedCounts& from) {
    std::map<CounterKey, NicCount> taken;
    for (const auto& [name, value] : from)
      for (const NicName& rule : rules) {
        const auto key = key_by_pattern(rule.name, rule.counter, name);
        if (!key) continue;
        const auto [at, is_new] = taken.try_emplace(*key, NicCount{value, name});
        if (is_new || !rule.summed) continue;
        at->second.value += value;
        at->second.name += "+" + name;
      }
    all.merge(taken);
  }

  /// "fec_bin.0-0" on. A bin of several is none of weft's, but a part of the sum.
  void take_bins(const NamedCounts& from) {
    std::map<unsigned, std::pair<unsigned, std::uint64_t>> bins;  // by their first
    for (const auto& [name, value] : from) {
      constexpr std::string_view kBin = "fec_bin.";
      const auto dash = name.find('-');
      if (!name.starts_with(kBin) || dash == std::string::npos) continue;
      const auto low = parse_whole_number<unsigned>(name.substr(kBin.size(), dash - kBin.size()));
      const auto high = parse_whole_number<unsigned>(name.substr(dash + 1));
      if (!low || !high || *low > *high) continue;
      bins[*low] = {*high, value};
      if (const auto key = parse_counter_key(fmt::format("fec_bin.{}", *low)); key && *low == *high)
        all.try_emplace(*key, NicCount{value, name});
    }
    unsigned next = 0;
    std::uint64_t sum = 0;
    for (const auto& [low, bin] : bins) {
      if (low != next) return;  // some are missing
      next = bin.first + 1;
      sum += bin.second;
    }
    const auto lost = all.find(CounterKey{fec_uncorrectable});
    if (bins.empty() || lost == all.end()) return;
    all.try_emplace(CounterKey{fec_codewords}, NicCount{sum + lost->second.value, "fec_bin"});
  }

  std::map<CounterKey, NicCount> all;
};

}  // namespace

std::span<const NicProfile> nic_profiles() { return kProfiles; }

std::map<CounterKey, NicCount> nic_counts(const NicReading& reading) {
  Counts counts;
  counts.take(kStandard, reading.kernel);
  counts.take_bins(reading.kernel);
  const auto profile = std::ranges::find_if(
      kProfiles, [&](const NicProfile& one) { return one.driver.empty() || one.driver == reading.driver; });
  counts.take(profile->names, reading.driver_counters);
  counts.take(kRdma, reading.rdma);
  counts.take(kLink, reading.kernel);
  return std::move(counts.all);
}

NamedCounts pause_times(const NicReading& reading) {
  NamedCounts times;
  if (reading.driver != "mlx5_core") return times;  // whatever another driver means by such a name
  for (const auto& [name, micros] : reading.driver_counters)
    if (is_pause_time(name)) times.emplace(name, micros);
  return times;
}

}  // namespace weft::counters
