// Where the fields of a probe's header stand (docs/wire.md), for who has made sure that all of it is there.
// Pure.
#pragma once

#include <span>

#include "probes/packet/probe_frame.hpp"

namespace weft::packet {

inline constexpr std::uint32_t kProbeMagic = 0x57454654;  // "WEFT"
inline constexpr std::uint8_t kProbeVersion = 1;

using ProbeHeaderBytes = std::span<const std::byte, kProbeHeaderSize>;

inline bool is_probe_header(ProbeHeaderBytes bytes) {
  const auto kind = load_u8(bytes, 5);
  return load_be32(bytes, 0) == kProbeMagic && load_u8(bytes, 4) == kProbeVersion && kind >= 1 && kind <= 4;
}

/// Of one that is_probe_header() takes.
inline ProbeHeader load_probe_header(ProbeHeaderBytes bytes) {
  return {.kind = static_cast<ProbeKind>(load_u8(bytes, 5)),
          .back_label = UdpPort(load_be16(bytes, 6)),
          .run = RunId(load_be64(bytes, 8)),
          .batch = BatchId(load_be32(bytes, 16)),
          .nic = PortId(load_be32(bytes, 20)),
          .spec = load_be32(bytes, 24),
          .sequence = load_be32(bytes, 28),
          .sent_at = Nanoseconds(static_cast<std::int64_t>(load_be64(bytes, 32))),
          .turnaround = Nanoseconds(load_be32(bytes, 40))};
}

}  // namespace weft::packet
