// ProbeCodec: how a standing probe and its echo are put on the wire of a NIC, and read again: RoCE datagrams
// (roce_codec) or management datagrams of InfiniBand (mad_codec.hpp). Schedule, keys and counts above it know
// neither. A codec has no state: any thread.
#pragma once

#include <functional>
#include <optional>

#include "probes/datapath/packet_port.hpp"
#include "probes/packet/probe_frame.hpp"
#include "topology/model/path.hpp"

namespace weft::watch {

/// A standing probe or an echo, whatever carries it.
struct CarriedProbe {
  packet::ProbeHeader header;  // its back label: a UDP source port, or a LID
  IpAddress from;              // of the NICs; InfiniBand: the GIDs of their ports
  IpAddress to;
  PathLabel label;                   // that it takes
  packet::MacAddress station{};      // to be sent: where it goes first; read: whence it came. RoCE alone
  std::uint16_t identification = 0;  // of its IPv4 packet
  std::uint8_t hop_limit = 64;       // to be sent. RoCE alone
  std::size_t frame_size = 0;        // one that frame_size() gives, or as it came
};

class ProbeCodec {
 public:
  /// The key that such a probe must have been made with; null: it is none of ours.
  using KeyOf = std::function<const packet::RunKey*(const CarriedProbe&)>;

  virtual ~ProbeCodec() = default;
  /// Bytes of a frame for probes of `wanted` bytes.
  virtual std::size_t frame_size(Bytes wanted, const datapath::LocalNic& nic) const = 0;
  /// Writes the frame that leaves `nic` to the front of `out`, zeros at first or a frame of this size, and
  /// returns probe.frame_size.
  virtual std::size_t write(const datapath::LocalNic& nic, const CarriedProbe& probe,
                            const packet::RunKey& key, MutableByteSpan out) const = 0;
  /// Any bytes that came. Absent: damaged, no standing probe, or not made with its key.
  virtual std::optional<CarriedProbe> read(ByteSpan frame, const KeyOf& key_of) const = 0;
  /// Frames have the time at which they came in, not that at which they are read: round trips mean something.
  virtual bool has_arrival_times() const = 0;
  /// Where the hops of what it writes run out, a router says so.
  virtual bool is_routed() const = 0;
  /// What its port does not take is lost as on a cable: an Ethernet interface that takes nothing is down.
  /// Management datagrams wait in the host for a device, or a simulator, that takes them: no cable lost
  /// those.
  virtual bool loses_what_is_refused() const = 0;
};

const ProbeCodec& roce_codec();

}  // namespace weft::watch
