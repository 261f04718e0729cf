// Where the fields of a probe's header stand (docs/wire.md), for who has made sure that all of it is there.
// Pure.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>

#include "probes/packet/probe_frame.hpp"

namespace weft::packet {

inline constexpr std::uint32_t kProbeMagic = 0x57454654;  // "WEFT"
inline constexpr std::uint8_t kProbeVersion = 1;

inline constexpr std::size_t kAuthenticatorAt = 44;
static_assert(kAuthenticatorAt + sizeof(std::uint64_t) == kProbeHeaderSize);

/// Bytes before it in the payload of the IP packet.
inline constexpr std::size_t kBeforeHeader = kUdpSize + kBthSize + kDethSize;

using ProbeHeaderBytes = std::span<const std::byte, kProbeHeaderSize>;

inline ProbeHeaderBytes header_of(const ProbePacket& packet) {
  WEFT_CHECK(packet.ip.payload.size() >= kBeforeHeader + kProbeHeaderSize);
  return packet.ip.payload.subspan(kBeforeHeader).first<kProbeHeaderSize>();
}

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

/// Compared as one word: the time does not tell how many bytes of it are right.
inline std::uint64_t stored_authenticator(ProbeHeaderBytes bytes) {
  std::uint64_t stored = 0;
  std::memcpy(&stored, bytes.data() + kAuthenticatorAt, sizeof stored);
  return stored;
}
inline void store_authenticator(std::span<std::byte, kProbeHeaderSize> out, std::uint64_t authenticator) {
  std::memcpy(out.data() + kAuthenticatorAt, &authenticator, sizeof authenticator);
}

/// All but the authenticator.
inline void store_probe_header(const ProbeHeader& header, std::span<std::byte, kProbeHeaderSize> out) {
  constexpr std::int64_t kLongest = std::numeric_limits<std::uint32_t>::max();  // turnaround, ns
  const auto turnaround = std::clamp<std::int64_t>(header.turnaround.count(), 0, kLongest);
  store_be32(out, 0, kProbeMagic);
  store_u8(out, 4, kProbeVersion);
  store_u8(out, 5, static_cast<std::uint8_t>(header.kind));
  store_be16(out, 6, header.back_label.value());
  store_be64(out, 8, header.run.value());
  store_be32(out, 16, header.batch.value());
  store_be32(out, 20, header.nic.value());
  store_be32(out, 24, header.spec);
  store_be32(out, 28, header.sequence);
  store_be64(out, 32, static_cast<std::uint64_t>(header.sent_at.count()));
  store_be32(out, 40, static_cast<std::uint32_t>(turnaround));
}

}  // namespace weft::packet
