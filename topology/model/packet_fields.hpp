// What else of a RoCE packet than its addresses and its path label switches may hash: for probes that differ
// in one of these, and for what is said of them. Plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"

namespace weft {

/// Absent: as probes have it usually.
struct PacketFields {
  std::optional<QpNum> queue_pair = std::nullopt;            // destination
  std::optional<std::uint8_t> traffic_class = std::nullopt;  // DSCP and ECN
  std::optional<std::uint32_t> flow_label = std::nullopt;    // of IPv6
  std::optional<Bytes> size = std::nullopt;                  // of the IP packet
  friend bool operator==(const PacketFields&, const PacketFields&) = default;
};

/// As wide as on the wire: 24 bits, 20 bits, 16 bits.
constexpr bool are_possible(const PacketFields& fields) {
  return (!fields.queue_pair || fields.queue_pair->value() <= 0xFFFFFF) &&
         (!fields.flow_label || *fields.flow_label <= 0xFFFFF) &&
         (!fields.size || (fields.size->count() >= 0 && fields.size->count() <= 0xFFFF));
}

/// A field by which a switch may tell flows apart.
enum class PacketField : std::uint8_t { source_port, queue_pair, traffic_class, flow_label, size };
inline constexpr std::array kPacketFields{PacketField::source_port, PacketField::queue_pair,
                                          PacketField::traffic_class, PacketField::flow_label,
                                          PacketField::size};

/// As documents have it: "queue_pair".
constexpr std::string_view to_string(PacketField field) {
  switch (field) {
    case PacketField::source_port:
      return "source_port";
    case PacketField::queue_pair:
      return "queue_pair";
    case PacketField::traffic_class:
      return "traffic_class";
    case PacketField::flow_label:
      return "flow_label";
    case PacketField::size:
      return "size";
  }
  return "";
}

/// The same for people: "destination queue pair".
constexpr std::string_view words_of(PacketField field) {
  switch (field) {
    case PacketField::source_port:
      return "source port";
    case PacketField::queue_pair:
      return "destination queue pair";
    case PacketField::traffic_class:
      return "traffic class";
    case PacketField::flow_label:
      return "flow label";
    case PacketField::size:
      return "size";
  }
  return "";
}

constexpr std::optional<PacketField> parse_packet_field(std::string_view text) {
  for (const PacketField field : kPacketFields)
    if (to_string(field) == text) return field;
  return std::nullopt;
}

}  // namespace weft
