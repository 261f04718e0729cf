// Management datagrams (MADs): 256 bytes that ask a node of an InfiniBand subnet about itself. Values and
// their encoding; offsets are those of the InfiniBand Architecture Specification, volume 1, release 1.4
// (13.4.2 the common header, 14.2.1 subnet management packets, 16.1 performance, 16.5 vendor classes).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "topology/base/bytes.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/result.hpp"

namespace weft::mad {

inline constexpr std::size_t kMadSize = 256;
using MadBytes = std::array<std::byte, kMadSize>;

enum class MadClass : std::uint8_t {
  subnet = 0x01,           // LID routed
  subnet_directed = 0x81,  // directed route
  performance = 0x04,
  mellanox = 0x0A,  // that vendor's own
  // Classes of weft's own, in the vendor range 0x30..0x4F. Two, so that a standing agent and the agent of a
  // run can both be registered at a port.
  probe = 0x32,
  standing_probe = 0x33,
};
/// Names weft's messages in these classes, at kOuiOffset of the MAD (16.5.1): "wef".
inline constexpr std::uint32_t kOui = 0x776566;
inline constexpr std::size_t kOuiOffset = 37;

enum class MadMethod : std::uint8_t { get = 0x01, send = 0x03, get_response = 0x81 };
enum class MadAttribute : std::uint16_t {
  class_port_info = 0x0001,
  node_description = 0x0010,
  node_info = 0x0011,
  switch_info = 0x0012,
  port_info = 0x0015,
  linear_forwarding_table = 0x0019,
  port_info_extended = 0x0033,
  adaptive_routing = 0xFF20,        // Mellanox's AdaptiveRoutingInfo
  vendor_port_info = 0xFF90,        // Mellanox's ExtendedPortInfo: tells FDR10 from QDR
  port_counters = 0x0012,           // of the performance class
  port_counters_extended = 0x001D,  // of the performance class
  port_extended_speeds = 0x001F,    // of the performance class: PortExtendedSpeedsCounters
  general_info = 0x0017,            // of Mellanox's class
  probe = 0x0051,                   // of weft's classes
};

/// A directed route: the ports by which a packet leaves our own port, then one switch after the other. Empty:
/// our own node. At most 63 hops.
class DirectedRoute {
 public:
  static constexpr std::size_t kMax = 63;
  std::size_t hops() const { return hops_; }
  std::span<const std::uint8_t> ports() const { return {ports_.data(), hops_}; }
  bool full() const { return hops_ == kMax; }
  /// This route and one hop more. Precondition: !full().
  DirectedRoute then(std::uint8_t port) const;
  friend bool operator==(const DirectedRoute&, const DirectedRoute&) = default;

 private:
  std::array<std::uint8_t, kMax> ports_{};
  std::uint8_t hops_ = 0;
};

using MadTarget = std::variant<DirectedRoute, Lid>;

/// What one MAD asks. Only the fields a class uses count; `port` is the port-select byte of the performance
/// class.
struct MadQuestion {
  MadTarget to;
  MadClass mad_class = MadClass::subnet_directed;
  MadMethod method = MadMethod::get;
  MadAttribute attribute = MadAttribute::node_info;
  std::uint32_t modifier = 0;
  std::uint8_t port = 0;
  std::uint64_t tag = 0;  // the asker's own; not on the wire
};

/// The low 32 bits of a transaction id: the high ones belong to whoever carries the MAD (kernel, simulator).
using MadTransaction = Strong<struct MadTransactionTag>;

MadBytes encode_mad(const MadQuestion& question, MadTransaction transaction);

/// The common header of any MAD.
struct MadHeader {
  MadClass mad_class;
  std::uint8_t method = 0;   // bit 0x80: a response
  std::uint16_t status = 0;  // without the direction bit of directed routes
  MadTransaction transaction;
  MadAttribute attribute;
  std::uint32_t modifier = 0;
  bool is_response() const { return (method & 0x80U) != 0; }
};
Result<MadHeader> decode_mad_header(ByteSpan mad);

/// Offset of the attribute's data in a MAD: 64 for subnet and performance management; 24 for vendor classes
/// 0x09 to 0x0F, 40 for those from 0x30 on.
std::size_t mad_data_offset(MadClass mad_class);

}  // namespace weft::mad
