#include "probes/mad/mad.hpp"

#include <algorithm>

namespace weft::mad {
namespace {

constexpr std::uint8_t kBaseVersion = 1;
constexpr std::uint16_t kPermissiveLid = 0xFFFF;
constexpr std::uint16_t kDirectionBit = 0x8000;  // of a directed-route SMP's status word (14.2.2)

void put_directed_route(MutableByteSpan mad, const DirectedRoute& route) {
  store_u8(mad, 6, 0);                                                                      // hop pointer
  store_u8(mad, 7, static_cast<std::uint8_t>(route.hops()));                                // hop count
  store_be16(mad, 32, kPermissiveLid);                                                      // DrSLID
  store_be16(mad, 34, kPermissiveLid);                                                      // DrDLID
  for (std::size_t i = 0; i < route.hops(); ++i) store_u8(mad, 129 + i, route.ports()[i]);  // from byte 1 on
}

}  // namespace

DirectedRoute DirectedRoute::then(std::uint8_t port) const {
  WEFT_CHECK(!full());
  DirectedRoute longer = *this;
  longer.ports_[longer.hops_++] = port;
  return longer;
}

std::size_t mad_data_offset(MadClass mad_class) {
  const bool is_ours = mad_class == MadClass::probe || mad_class == MadClass::standing_probe;
  return is_ours ? 40 : mad_class == MadClass::mellanox ? 24 : 64;
}

MadBytes encode_mad(const MadQuestion& question, MadTransaction transaction) {
  MadBytes mad{};
  store_u8(mad, 0, kBaseVersion);
  store_u8(mad, 1, static_cast<std::uint8_t>(question.mad_class));
  store_u8(mad, 2, 1);  // class version
  store_u8(mad, 3, static_cast<std::uint8_t>(question.method));
  store_be32(mad, 12, transaction.value());
  store_be16(mad, 16, static_cast<std::uint16_t>(question.attribute));
  store_be32(mad, 20, question.modifier);
  if (question.mad_class == MadClass::subnet_directed)
    put_directed_route(mad, std::get<DirectedRoute>(question.to));
  if (question.mad_class == MadClass::performance) {
    store_u8(mad, 65, question.port);  // PortSelect (16.1.3.5)
    store_be16(mad, 66, 0xFFFF);       // CounterSelect: all
  }
  return mad;
}

Result<MadHeader> decode_mad_header(ByteSpan mad) {
  if (mad.size() < kMadSize)
    return fail(ErrorKind::invalid_input, "a MAD of {} bytes: expected {}", mad.size(), kMadSize);
  if (load_u8(mad, 0) != kBaseVersion)
    return fail(ErrorKind::invalid_input, "a MAD of base version {}: expected 1", load_u8(mad, 0));
  const auto mad_class = static_cast<MadClass>(load_u8(mad, 1));
  const std::uint16_t status = load_be16(mad, 4);
  return MadHeader{.mad_class = mad_class,
                   .method = load_u8(mad, 3),
                   .status = mad_class == MadClass::subnet_directed
                                 ? static_cast<std::uint16_t>(status & ~kDirectionBit)
                                 : status,
                   .transaction = MadTransaction(load_be32(mad, 12)),
                   .attribute = static_cast<MadAttribute>(load_be16(mad, 16)),
                   .modifier = load_be32(mad, 20)};
}

}  // namespace weft::mad
