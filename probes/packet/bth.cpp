#include "probes/packet/bth.hpp"

namespace weft::packet {

Result<Bth> decode_bth(ByteSpan bytes) {
  if (auto enough = need_bytes(bytes, kBthSize, "BTH"); !enough) return pass_on(enough);
  const auto flags = load_u8(bytes, 1);  // SE 1, M 1, PadCnt 2, TVer 4
  const auto marks = load_u8(bytes, 4);  // FECN 1, BECN 1, reserved 6
  return Bth{.opcode = load_u8(bytes, 0),
             .solicited = (flags & 0x80) != 0,
             .migrated = (flags & 0x40) != 0,
             .pad_count = static_cast<std::uint8_t>(flags >> 4 & 3),
             .version = static_cast<std::uint8_t>(flags & 0xF),
             .partition = PartitionKey(load_be16(bytes, 2)),
             .fecn = (marks & 0x80) != 0,
             .becn = (marks & 0x40) != 0,
             .destination = QpNum(load_be24(bytes, 5)),
             .ack_request = (load_u8(bytes, 8) & 0x80) != 0,  // AckReq 1, reserved 7
             .sequence = PacketSequence(load_be24(bytes, 9))};
}

void encode_bth(const Bth& header, MutableByteSpan out) {
  store_u8(out, 0, header.opcode);
  store_u8(out, 1,
           static_cast<std::uint8_t>((header.solicited ? 0x80 : 0) | (header.migrated ? 0x40 : 0) |
                                     (header.pad_count & 3) << 4 | (header.version & 0xF)));
  store_be16(out, 2, header.partition.value());
  store_u8(out, 4, static_cast<std::uint8_t>((header.fecn ? 0x80 : 0) | (header.becn ? 0x40 : 0)));
  store_be24(out, 5, header.destination.value());
  store_u8(out, 8, header.ack_request ? 0x80 : 0);
  store_be24(out, 9, header.sequence.value());
}

Result<Deth> decode_deth(ByteSpan bytes) {
  if (auto enough = need_bytes(bytes, kDethSize, "DETH"); !enough) return pass_on(enough);
  return Deth{.queue_key = QueueKey(load_be32(bytes, 0)),  // Q_Key at 0, reserved at 4, SrcQP at 5
              .source = QpNum(load_be24(bytes, 5))};
}

void encode_deth(const Deth& header, MutableByteSpan out) {
  store_be32(out, 0, header.queue_key.value());
  store_u8(out, 4, 0);
  store_be24(out, 5, header.source.value());
}

}  // namespace weft::packet
