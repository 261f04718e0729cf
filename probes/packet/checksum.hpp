// The Internet checksum (RFC 1071): the one's complement of the one's complement sum of 16-bit words. Pure.
#pragma once

#include <cstdint>

#include "topology/base/bytes.hpp"
#include "topology/base/ip.hpp"

namespace weft {

/// The sum of `bytes` (an odd last byte is padded with zero) added to `sum`; not yet folded.
std::uint64_t checksum_add(ByteSpan bytes, std::uint64_t sum = 0);
/// Folds a sum to 16 bits and complements it: the value of a checksum field, or 0 over bytes that hold a
/// right one.
std::uint16_t checksum_fold(std::uint64_t sum);
inline std::uint16_t internet_checksum(ByteSpan bytes) { return checksum_fold(checksum_add(bytes)); }

/// The sum of the IPv6 pseudo header (RFC 8200, 8.1) of `length` bytes of `protocol`.
std::uint64_t pseudo_header_sum(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                                std::size_t length);

}  // namespace weft
