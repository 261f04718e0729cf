#include "probes/packet/checksum.hpp"

namespace weft {

std::uint64_t checksum_add(ByteSpan bytes, std::uint64_t sum) {
  std::size_t at = 0;
  for (; at + 4 <= bytes.size(); at += 4) sum += load_be32(bytes, at);
  if (at + 2 <= bytes.size()) {
    sum += load_be16(bytes, at);
    at += 2;
  }
  if (at < bytes.size()) sum += static_cast<std::uint64_t>(load_u8(bytes, at)) << 8;
  return sum;
}

std::uint16_t checksum_fold(std::uint64_t sum) {
  while (sum >> 16 != 0) sum = (sum & 0xFFFF) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum);
}

std::uint64_t pseudo_header_sum(const IpAddress& source, const IpAddress& destination, std::uint8_t protocol,
                                std::size_t length) {
  const auto sum = checksum_add(std::as_bytes(std::span(source.bytes())));
  return checksum_add(std::as_bytes(std::span(destination.bytes())), sum) + protocol + length;
}

}  // namespace weft
