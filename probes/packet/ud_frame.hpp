// UdFrame: what a port of queue pairs of datagrams (UD) is given to send, and gives when something came: the
// address of the NIC that it goes to and its path label, then the payload of the datagram. Neither crosses
// the wire: the device makes headers of them. Pure.
#pragma once

#include <map>
#include <optional>

#include "probes/packet/bth.hpp"
#include "topology/base/bytes.hpp"
#include "topology/base/ip.hpp"
#include "topology/model/path.hpp"

namespace weft::packet {

/// What who sends datagrams to a NIC must know beside its address.
struct UdPair {
  QpNum qp;
  QueueKey key;
  friend bool operator==(const UdPair&, const UdPair&) = default;
};
/// Of NICs, by their addresses.
using UdPairs = std::map<IpAddress, UdPair>;

inline constexpr std::size_t kUdHeader = 18;  // address, label
/// The largest payload: probes are small, and each place to receive into takes locked memory.
inline constexpr std::size_t kMaxUdPayload = 512;

/// An address in 16 bytes: of IPv4 the mapped one (RFC 4291, 2.5.5.2), as RoCE v2 has it in GIDs.
void store_mapped(MutableByteSpan out, std::size_t at, const IpAddress& address);
/// A mapped address is read as the IPv4 address that it is.
IpAddress load_mapped(ByteSpan bytes, std::size_t at);

struct UdTarget {
  IpAddress to;
  PathLabel label;
};
/// The first kUdHeader bytes of a frame.
void put_ud_target(const UdTarget& target, MutableByteSpan frame);
/// Absent: the frame is shorter.
std::optional<UdTarget> target_of(ByteSpan frame);

}  // namespace weft::packet
