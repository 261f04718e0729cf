// The invariant CRC of RoCEv2 (InfiniBand vol. 1, annex A17, 17.3.3): CRC-32 (the Ethernet polynomial, seed
// all ones) over eight bytes of ones, the IP, UDP and BTH headers with the fields that change on the way set
// to ones, and the payload. Sent with the low byte first. Pure.
#pragma once

#include <cstdint>

#include "topology/base/bytes.hpp"

namespace weft::packet {

inline constexpr std::size_t kIcrcSize = 4;

/// The ICRC of an IPv4 or IPv6 RoCEv2 packet. `packet` runs from the IP header to the end of the payload,
/// without the ICRC itself; its transport headers stand behind `ip_header_size` bytes, and it holds UDP and
/// BTH at least.
std::uint32_t compute_icrc(ByteSpan packet, std::size_t ip_header_size);

/// Sets what the ICRC takes as ones: of the IP, UDP and BTH headers at the front of `masked` what routers
/// change.
void mask_for_icrc(MutableByteSpan masked, std::size_t ip_header_size);
/// The ICRC of a packet, or of its front, that is masked.
std::uint32_t icrc_of_masked(ByteSpan masked);

/// ZeroTail: the CRC-32 of a message and so many zeros behind it, from the CRC of the message. Zeros multiply
/// the CRC's polynomial by a power of x, whatever their number: 4 KB cost as much as 100 bytes.
class ZeroTail {
 public:
  explicit ZeroTail(std::size_t bytes);
  std::uint32_t operator()(std::uint32_t crc) const;

 private:
  std::uint32_t power_;
};

/// The ICRC in the last four bytes of `bytes`, and where to put it.
inline std::uint32_t load_icrc(ByteSpan bytes) {
  return __builtin_bswap32(load_be32(bytes, bytes.size() - kIcrcSize));
}
inline void store_icrc(MutableByteSpan bytes, std::uint32_t icrc) {
  store_be32(bytes, bytes.size() - kIcrcSize, __builtin_bswap32(icrc));
}

}  // namespace weft::packet
