// The counters of one port as its performance agent tells them: PortCounters (16.1.3.5, narrow, they stick at
// their maximum) and PortCountersExtended (16.1.4.11, 64 bits wide). Encoding and decoding only; what a step
// between two readings means is collectors/counters' business.
#pragma once

#include <array>
#include <string_view>

#include "probes/mad/mad_attributes.hpp"

namespace weft::mad {

enum class IbCounter : std::uint8_t {
  symbol_error,
  link_error_recovery,
  link_downed,
  rcv_errors,
  rcv_remote_physical_errors,
  rcv_switch_relay_errors,
  xmit_discards,
  xmit_constraint_errors,
  rcv_constraint_errors,
  local_link_integrity,
  excessive_buffer_overrun,
  vl15_dropped,
  xmit_data,  // 4-byte words
  rcv_data,   // 4-byte words
  xmit_packets,
  rcv_packets,
  xmit_wait,  // ticks
};
inline constexpr std::size_t kIbCounters = 17;
std::string_view to_string(IbCounter counter);  // the name infiniband-diags use: SymbolErrorCounter, ...

using IbCounters = std::array<std::uint64_t, kIbCounters>;

/// The value at which a classic counter sticks.
std::uint64_t classic_limit(IbCounter counter);

Result<IbCounters> decode_port_counters(ByteSpan data);

/// Data and packets only: the error counters there are optional, and a port without them leaves noise.
struct ExtendedCounters {
  std::uint64_t xmit_data = 0;
  std::uint64_t rcv_data = 0;
  std::uint64_t xmit_packets = 0;
  std::uint64_t rcv_packets = 0;
};
Result<ExtendedCounters> decode_extended_counters(ByteSpan data);

/// Whether a node's performance agent keeps the error counters 64 bits wide too (ClassPortInfo, 16.1.3.1:
/// bit 1 of CapabilityMask2).
Result<bool> decode_has_wide_errors(ByteSpan class_port_info);
/// The error counters and the waiting of PortCountersExtended, where an agent has them; traffic is 0.
Result<IbCounters> decode_wide_errors(ByteSpan data);

/// What the forward error correction of a port counted (PortExtendedSpeedsCounters, 16.1.4.16; 32 bits wide,
/// they stick at their maximum). By lane: blocks, or symbols where one code spans the lanes.
inline constexpr std::size_t kMaxLanes = 12;
struct FecCounters {
  std::uint64_t corrected_blocks = 0;
  std::uint64_t uncorrected_blocks = 0;
  std::array<std::uint32_t, kMaxLanes> corrected_by_lane{};
  friend bool operator==(const FecCounters&, const FecCounters&) = default;
};
Result<FecCounters> decode_fec_counters(ByteSpan data, FecMode mode);

/// The data of a PortCounters answer, for simulated fabrics; values above a limit stick there.
std::array<std::byte, 192> encode_port_counters(std::uint8_t port, const IbCounters& counters);

}  // namespace weft::mad
