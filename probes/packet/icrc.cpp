#include "probes/packet/icrc.hpp"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "probes/packet/bth.hpp"
#include "probes/packet/ipv4.hpp"
#include "probes/packet/udp.hpp"

namespace weft::packet {
namespace {

constexpr std::size_t kMaxIpHeader = 60;
constexpr std::size_t kCopied = 256;  // most probes are no larger: their CRC is one run over a copy
static_assert(kCopied >= kMaxIpHeader + kUdpSize + kBthSize);

// The polynomial of Ethernet's CRC-32 with the highest power in the lowest bit, as all polynomials here.
constexpr std::uint32_t kPolynomial = 0xEDB88320;
constexpr std::uint32_t kOne = 0x80000000;     // x^0
constexpr std::uint32_t kOneByte = kOne >> 8;  // x^8

/// The product of two polynomials, modulo kPolynomial.
constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int power = 0; power < 32; ++power) {
    product ^= b & (0 - (a >> (31 - power) & 1));
    b = b >> 1 ^ (kPolynomial & (0 - (b & 1)));
  }
  return product;
}

// The CRC of the eight bytes of ones that stand for the local route header which RoCE does not have: the
// first four cancel the seed, the others are multiplied by x^32, which is kPolynomial.
constexpr std::uint32_t kCrcOfOnes = ~multiply(0xFFFFFFFF, kPolynomial);

inline std::uint32_t crc_of_masked(ByteSpan masked) {
  return libdeflate_crc32(kCrcOfOnes, masked.data(), masked.size());
}

inline void mask(MutableByteSpan masked, std::size_t ip_header_size) {
  WEFT_CHECK(ip_header_size >= kIpv4Size && ip_header_size + kUdpSize + kBthSize <= masked.size());
  const auto ip = masked.first<kIpv4Size>();
  if (load_u8(ip, 0) >> 4 == 4) {
    store_u8(ip, 1, 0xFF);       // type of service
    store_u8(ip, 8, 0xFF);       // time to live
    store_be16(ip, 10, 0xFFFF);  // header checksum
  } else {
    store_be32(ip, 0, load_be32(ip, 0) | 0x0FFFFFFF);  // traffic class and flow label
    store_u8(ip, 7, 0xFF);                             // hop limit
  }
  const auto transport = masked.subspan(ip_header_size).first<kUdpSize + kBthSize>();
  store_be16(transport, 6, 0xFFFF);         // UDP checksum
  store_u8(transport, kUdpSize + 4, 0xFF);  // BTH: FECN, BECN and six reserved bits
}

}  // namespace

void mask_for_icrc(MutableByteSpan masked, std::size_t ip_header_size) { mask(masked, ip_header_size); }

std::uint32_t icrc_of_masked(ByteSpan masked) { return crc_of_masked(masked); }

ZeroTail::ZeroTail(std::size_t bytes) : power_(kOne) {
  for (auto square = kOneByte; bytes > 0; bytes >>= 1, square = multiply(square, square))
    if ((bytes & 1) != 0) power_ = multiply(power_, square);
}

std::uint32_t ZeroTail::operator()(std::uint32_t crc) const { return ~multiply(~crc, power_); }

std::uint32_t compute_icrc(ByteSpan packet, std::size_t ip_header_size) {
  WEFT_CHECK(ip_header_size <= kMaxIpHeader);
  std::array<std::byte, kCopied> masked;
  const auto copied = std::min(packet.size(), kCopied);
  std::copy_n(packet.begin(), copied, masked.begin());
  mask(MutableByteSpan(masked).first(copied), ip_header_size);
  const auto crc = crc_of_masked(ByteSpan(masked).first(copied));
  if (copied == packet.size()) return crc;
  return libdeflate_crc32(crc, packet.data() + copied, packet.size() - copied);
}

}  // namespace weft::packet
