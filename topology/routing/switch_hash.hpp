// The hashes by which switches choose among equal next hops: CRC, Toeplitz and XOR of a packet's addresses
// and UDP source port, which are affine over GF(2), and one without such a structure. A device has its own
// seed, bit offset and order of members. The simulator's switches use them; who learns hashes from answers
// asks for the columns of known CRCs. Pure values.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/result.hpp"
#include "topology/model/path.hpp"

namespace weft::routing {

/// What tells flows of RoCE apart, as bits: words 0 and 1 the source address, 2 and 3 the destination
/// address, 4 the UDP source port (16 bits), the destination queue pair (24), the traffic class (8) and the
/// port by which a packet comes in (16); those behind the source port are 0 where they are not hashed. An
/// IPv4 address stands in the low 32 bits of its first word.
struct FlowBits {
  static constexpr std::size_t kWords = 5;
  static constexpr std::size_t kBits = kWords * 64;
  std::array<std::uint64_t, kWords> words{};

  static FlowBits of(const IpAddress& src, const IpAddress& dst, PathLabel label);
  void add(QpNum queue_pair) { words[4] |= std::uint64_t{queue_pair.value() & 0xFFFFFFU} << 16; }
  void add_traffic_class(std::uint8_t value) { words[4] |= std::uint64_t{value} << 40; }
  void add_ingress(PortId port) { words[4] |= std::uint64_t{port.value() & 0xFFFFU} << 48; }
  /// An address has bits that an IPv4 address has not.
  bool is_v6() const;
  FlowBits& operator^=(const FlowBits& other);
  friend FlowBits operator^(FlowBits a, const FlowBits& b) { return a ^= b; }
  bool test(std::size_t bit) const { return (words[bit / 64] >> bit % 64 & 1U) != 0; }
  /// The highest bit that is set; absent: none is.
  std::optional<std::size_t> top() const;
  friend auto operator<=>(const FlowBits&, const FlowBits&) = default;
};

enum class HashFamily : std::uint8_t { structureless, crc16, crc32, toeplitz, xor_fold };

/// How a hash becomes one of n members: its remainder, its share of the range, or an entry of a table of 256
/// (resilient hashing). Where n is a power of two the first two are some of the hash's bits.
enum class Reduction : std::uint8_t { modulo, threshold, table };

struct HashOptions {
  HashFamily family = HashFamily::structureless;
  Reduction reduction = Reduction::modulo;
  // What is hashed beside addresses and source port.
  bool queue_pair = false;
  bool traffic_class = false;
  bool ingress_port = false;
  /// Devices differ in their seeds alone: one polynomial or key and one bit offset for all (without
  /// structure: one seed), so that a second tier sees flows that the first has sorted by the same bits.
  bool polarised = false;
  friend bool operator==(const HashOptions&, const HashOptions&) = default;
};

/// FAMILY and, behind colons and in any order, a REDUCTION and what else is so: structureless, crc16, crc32,
/// toeplitz, xor; modulo, threshold, table; qp, class, ingress, polarised. Error: usage, with the words that
/// are known.
Result<HashOptions> parse_hash(std::string_view text);

/// What a CRC is of: the fields in their order, from the first bit sent.
enum class HashedFields : std::uint8_t {
  addresses_protocol_ports,  // source, destination, protocol, both UDP ports
  addresses_ports,
  addresses_source_port,
  ports_addresses,
};
inline constexpr std::array kHashedFields{HashedFields::addresses_protocol_ports,
                                          HashedFields::addresses_ports, HashedFields::addresses_source_port,
                                          HashedFields::ports_addresses};

/// Polynomials of 16-bit CRCs in use, without their highest term: CCITT, IBM (Modbus, USB), DNP, T10-DIF,
/// Teledisk, CDMA2000, DECT, NRSC-5 (G. Cook, "Catalogue of parametrised CRC algorithms").
inline constexpr std::array<std::uint16_t, 8> kCrc16Polynomials{0x1021, 0x8005, 0x3D65, 0x8BB7,
                                                                0xA097, 0xC867, 0x0589, 0x080B};
inline constexpr std::uint32_t kCrc32Polynomial = 0x04C11DB7;  // IEEE 802.3

/// A linear hash as what each bit of FlowBits adds to it by XOR.
using HashColumns = std::array<std::uint32_t, FlowBits::kBits>;

/// The columns of a CRC of `width` bits (16 or 32) over these fields; `reflected`: bytes go in, and the
/// remainder comes out, lowest bit first.
HashColumns crc_columns(std::uint32_t polynomial, unsigned width, bool reflected, HashedFields fields,
                        bool is_v6);

/// All CRCs of `width` bits (16 or 32) that switches are known to have: each polynomial, either order of
/// bits, each order of fields.
const std::vector<HashColumns>& known_crcs(unsigned width, bool is_v6);

/// The XOR of all 16-bit words, and of the two bytes of that.
HashColumns fold_columns();
inline constexpr unsigned kFoldBits = 8;

std::uint32_t hash_of(const HashColumns& columns, const FlowBits& flow);

/// The `width` bits of `hash`, turned right by `offset`.
constexpr std::uint32_t turned(std::uint32_t hash, unsigned offset, unsigned width) {
  const std::uint64_t doubled = std::uint64_t{hash} << width | hash;
  return static_cast<std::uint32_t>(doubled >> offset & ((std::uint64_t{1} << width) - 1));
}

/// The bucket of a hash of `width` bits among `count`, by modulo or threshold.
constexpr std::uint32_t bucket_of(std::uint32_t hash, std::uint32_t count, bool by_threshold,
                                  unsigned width) {
  return by_threshold ? static_cast<std::uint32_t>(std::uint64_t{hash} * count >> width) : hash % count;
}

/// The hash of one device. Precondition: the family is not structureless.
class SwitchHash {
 public:
  SwitchHash(const HashOptions& options, std::uint64_t device_seed, bool is_v6);

  /// Which of `choices` equal next hops the device takes: 0 ... choices - 1. Precondition: choices > 0.
  std::uint32_t choose(const FlowBits& flow, std::uint32_t choices) const;

 private:
  std::uint64_t seed_;
  Reduction reduction_;
  std::uint8_t width_;
  std::uint8_t offset_;
  std::uint32_t constant_;
  std::shared_ptr<const HashColumns> columns_;  // all devices of one polynomial have the same
};

}  // namespace weft::routing
