// The seams under the datagram prober, the responder and the flow sender. PacketPort: frames out, frames in,
// and the clock they are stamped with. NextHops: which station a packet for an address goes to first. An
// engine (raw sockets, DPDK) implements both; tests give them fakes with a virtual clock. One thread at a
// time per port.
#pragma once

#include <cstdint>
#include <span>

#include "probes/packet/ethernet.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/units.hpp"

namespace weft::datapath {

/// The NIC that a port sends from.
struct LocalNic {
  packet::MacAddress mac;
  IpAddress address;
  std::size_t mtu = 1500;          // bytes of the largest IP packet
  std::uint8_t traffic_class = 0;  // of every packet sent: chooses a queue, not a path
};

/// A frame that came in; its bytes are valid until the next receive on that port.
struct Arrival {
  ByteSpan frame;
  Nanoseconds at{};  // when the kernel or the device took it in, on the port's clock
};

/// How far a send got.
struct SendOutcome {
  std::size_t taken = 0;   // frames handed to the wire, from the front
  bool too_large = false;  // the frame after those will never go: the NIC does not take that size
};

class PacketPort {
 public:
  virtual ~PacketPort() = default;
  /// A clock that never steps back.
  virtual Nanoseconds now() const = 0;
  /// Does not block: a full queue leaves the rest untaken.
  virtual Result<SendOutcome> send(std::span<const ByteSpan> frames) = 0;
  /// Frames that came in, a few dozen at most; where there are none, waits for one until `until` (a past
  /// time: not at all) and may give none.
  virtual Result<std::span<const Arrival>> receive(Nanoseconds until) = 0;
  /// Frames that came in and were dropped since the last call because this host did not read fast enough: no
  /// loss of the fabric. Any thread; 0 where a port cannot tell.
  virtual std::uint64_t overruns() { return 0; }
  /// Frames came in that nobody has read yet. Any thread; false where a port cannot tell.
  virtual bool has_unread() const { return false; }
};

class NextHops {
 public:
  virtual ~NextHops() = default;
  /// May wait a second for a neighbour to answer. An Error says that there is no route or no such neighbour.
  virtual Result<packet::MacAddress> next_hop(const IpAddress& destination) = 0;
};

}  // namespace weft::datapath
