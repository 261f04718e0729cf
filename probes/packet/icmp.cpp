#include "probes/packet/icmp.hpp"

#include <algorithm>

#include "probes/packet/ipv4.hpp"

namespace weft::packet {
namespace {

constexpr std::uint8_t kFragmentationNeeded = 4;  // code of ICMP type 3 (RFC 1191)

struct TypeAndCode {
  std::uint8_t type;
  std::uint8_t code;
};

/// RFC 792: 3 destination unreachable, 11 time exceeded.
std::optional<IcmpKind> kind_of_v4(TypeAndCode wire) {
  if (wire.type == 11) return IcmpKind::time_exceeded;
  if (wire.type != 3) return std::nullopt;
  return wire.code == kFragmentationNeeded ? IcmpKind::too_big : IcmpKind::unreachable;
}

/// RFC 4443: 1 destination unreachable, 2 packet too big, 3 time exceeded.
std::optional<IcmpKind> kind_of_v6(TypeAndCode wire) {
  if (wire.type == 1) return IcmpKind::unreachable;
  if (wire.type == 2) return IcmpKind::too_big;
  if (wire.type == 3) return IcmpKind::time_exceeded;
  return std::nullopt;
}

std::uint8_t type_of(IcmpKind kind, bool v6) {
  switch (kind) {
    case IcmpKind::time_exceeded:
      return v6 ? 3 : 11;
    case IcmpKind::unreachable:
      return v6 ? 1 : 3;
    case IcmpKind::too_big:
      return v6 ? 2 : 3;
  }
  return 0;
}

std::uint64_t checksum_start(const IpAddress& source, const IpAddress& destination, std::size_t length) {
  if (!source.is_v6()) return 0;
  return pseudo_header_sum(source, destination, kProtocolIcmpv6.value(), length);
}

/// IPv4 keeps the MTU in the low half of the second word (RFC 1191), IPv6 in all of it.
std::optional<std::uint32_t> load_mtu(ByteSpan message, bool v6) {
  const std::uint32_t mtu = v6 ? load_be32(message, 4) : load_be16(message, 6);
  return mtu == 0 ? std::nullopt : std::optional(mtu);
}

}  // namespace

Result<IcmpError> decode_icmp(const IpPacket& packet) {
  const bool v6 = packet.source.is_v6();
  if (packet.protocol != (v6 ? kProtocolIcmpv6 : kProtocolIcmp))
    return fail(ErrorKind::invalid_input, "protocol {} where ICMP was expected", packet.protocol.value());
  const auto message = packet.payload;
  if (auto enough = need_bytes(message, kIcmpErrorSize, "ICMP message"); !enough) return pass_on(enough);
  const TypeAndCode wire{load_u8(message, 0), load_u8(message, 1)};
  const auto kind = v6 ? kind_of_v6(wire) : kind_of_v4(wire);
  if (!kind)
    return fail(ErrorKind::invalid_input, "ICMP type {} code {} is no error of a path", wire.type, wire.code);
  if (checksum_fold(
          checksum_add(message, checksum_start(packet.source, packet.destination, message.size()))) != 0)
    return fail(ErrorKind::invalid_input, "ICMP checksum is wrong");
  IcmpError error{.kind = *kind, .code = wire.code, .quoted = message.subspan(kIcmpErrorSize)};
  if (*kind == IcmpKind::too_big) error.mtu = load_mtu(message, v6);
  return error;
}

std::size_t encode_icmp(const IcmpError& error, const IpAddress& source, const IpAddress& destination,
                        MutableByteSpan out) {
  const bool v6 = source.is_v6();
  const auto message = out.first(kIcmpErrorSize + error.quoted.size());
  const bool v4_too_big = error.kind == IcmpKind::too_big && !v6;
  store_u8(message, 0, type_of(error.kind, v6));
  store_u8(message, 1, v4_too_big ? kFragmentationNeeded : error.code);
  store_be16(message, 2, 0);
  const auto mtu = error.mtu.value_or(0);
  store_be32(message, 4, v6 ? mtu : std::min<std::uint32_t>(mtu, 0xFFFF));
  std::copy(error.quoted.begin(), error.quoted.end(), message.begin() + kIcmpErrorSize);
  store_be16(message, 2,
             checksum_fold(checksum_add(message, checksum_start(source, destination, message.size()))));
  return message.size();
}

}  // namespace weft::packet
