// The InfiniBand transport headers that weft sends: BTH (12 bytes) and DETH (8 bytes). Pure.
// Source: InfiniBand Architecture Specification vol. 1, chapter 9, "Base Transport Header" and "Datagram
// Extended Transport Header".
#pragma once

#include <cstdint>

#include "topology/base/bytes.hpp"
#include "topology/base/ids.hpp"

namespace weft::packet {

using PartitionKey = Strong<struct PartitionKeyTag, std::uint16_t>;
using QueueKey = Strong<struct QueueKeyTag>;
using PacketSequence = Strong<struct PacketSequenceTag>;  // 24 bits on the wire

inline constexpr std::uint8_t kOpcodeUdSendOnly = 0x64;
inline constexpr PartitionKey kDefaultPartition{0xFFFF};

struct Bth {
  std::uint8_t opcode = 0;
  bool solicited = false;
  bool migrated = false;
  std::uint8_t pad_count = 0;  // bytes added to fill the last word, 0 to 3
  std::uint8_t version = 0;    // 4 bits
  PartitionKey partition;
  bool fecn = false;
  bool becn = false;
  QpNum destination;
  bool ack_request = false;
  PacketSequence sequence;
  friend bool operator==(const Bth&, const Bth&) = default;
};

struct Deth {
  QueueKey queue_key;
  QpNum source;
  friend bool operator==(const Deth&, const Deth&) = default;
};

inline constexpr std::size_t kBthSize = 12;
inline constexpr std::size_t kDethSize = 8;

Result<Bth> decode_bth(ByteSpan bytes);
void encode_bth(const Bth& header, MutableByteSpan out);
Result<Deth> decode_deth(ByteSpan bytes);
void encode_deth(const Deth& header, MutableByteSpan out);

}  // namespace weft::packet
