#include "probes/packet/ud_frame.hpp"

#include <algorithm>

namespace weft::packet {
namespace {

constexpr std::size_t kAddress = 16;
constexpr std::size_t kMappedPrefix = 12;  // ten zeros, two 0xFF

}  // namespace

void store_mapped(MutableByteSpan out, std::size_t at, const IpAddress& address) {
  std::array<std::uint8_t, kAddress> bytes = address.bytes();
  if (!address.is_v6()) {
    bytes = {};
    bytes[10] = bytes[11] = 0xFF;
    std::ranges::copy(address.v4(), bytes.begin() + kMappedPrefix);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) store_u8(out, at + i, bytes[i]);
}

IpAddress load_mapped(ByteSpan from, std::size_t at) {
  IpAddress::V6 bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = load_u8(from, at + i);
  const bool is_mapped = bytes[10] == 0xFF && bytes[11] == 0xFF &&
                         std::all_of(bytes.begin(), bytes.begin() + 10, [](auto byte) { return byte == 0; });
  if (!is_mapped) return IpAddress(bytes);
  return IpAddress(IpAddress::V4{bytes[12], bytes[13], bytes[14], bytes[15]});
}

void put_ud_target(const UdTarget& target, MutableByteSpan frame) {
  store_mapped(frame, 0, target.to);
  store_be16(frame, kAddress, static_cast<std::uint16_t>(target.label.value()));
}

std::optional<UdTarget> target_of(ByteSpan frame) {
  if (frame.size() < kUdHeader) return std::nullopt;
  return UdTarget{load_mapped(frame, 0), PathLabel(load_be16(frame, kAddress))};
}

}  // namespace weft::packet
