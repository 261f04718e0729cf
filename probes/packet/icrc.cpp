#include "probes/packet/icrc.hpp"

#include <libdeflate.h>

#include <array>
#include <cstring>

#include "probes/packet/bth.hpp"
#include "probes/packet/ipv4.hpp"
#include "probes/packet/udp.hpp"

namespace weft::packet {
namespace {

constexpr std::size_t kPseudoLrh = 8;  // stands for the local route header that RoCE does not have
constexpr std::size_t kMaxIpHeader = 60;
constexpr std::size_t kMaxMasked = kPseudoLrh + kMaxIpHeader + kUdpSize + kBthSize;

void mask_ip(MutableByteSpan ip) {
  const bool v4 = load_u8(ip, 0) >> 4 == 4;
  if (v4) {
    store_u8(ip, 1, 0xFF);       // type of service
    store_u8(ip, 8, 0xFF);       // time to live
    store_be16(ip, 10, 0xFFFF);  // header checksum
  } else {
    store_be32(ip, 0, load_be32(ip, 0) | 0x0FFFFFFF);  // traffic class and flow label
    store_u8(ip, 7, 0xFF);                             // hop limit
  }
}

}  // namespace

std::uint32_t compute_icrc(ByteSpan packet, std::size_t ip_header_size) {
  const auto headers = ip_header_size + kUdpSize + kBthSize;
  WEFT_CHECK(ip_header_size <= kMaxIpHeader && ip_header_size >= kIpv4Size && headers <= packet.size());
  std::array<std::byte, kMaxMasked> masked;
  masked.fill(std::byte{0xFF});
  const auto view = MutableByteSpan(masked).first(kPseudoLrh + headers);
  std::memcpy(view.data() + kPseudoLrh, packet.data(), headers);
  mask_ip(view.subspan(kPseudoLrh));
  const auto udp = kPseudoLrh + ip_header_size;
  store_be16(view, udp + 6, 0xFFFF);         // UDP checksum
  store_u8(view, udp + kUdpSize + 4, 0xFF);  // BTH: FECN, BECN and six reserved bits
  const auto crc = libdeflate_crc32(0, view.data(), view.size());
  return libdeflate_crc32(crc, packet.data() + headers, packet.size() - headers);
}

std::uint32_t load_icrc(ByteSpan bytes) {
  const auto big = load_be32(bytes, bytes.size() - kIcrcSize);
  return __builtin_bswap32(big);
}

void store_icrc(MutableByteSpan bytes, std::uint32_t icrc) {
  store_be32(bytes, bytes.size() - kIcrcSize, __builtin_bswap32(icrc));
}

}  // namespace weft::packet
