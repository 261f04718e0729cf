// A probe as it crosses the wire: Ethernet, IPv4 or IPv6, UDP to 4791, BTH (UD SEND only), DETH, ProbeHeader,
// zero padding up to the wanted size, ICRC: a valid RoCEv2 datagram, so that switches treat it as they treat
// the job's packets. docs/wire.md says why each field is what it is. Pure.
#pragma once

#include "probes/packet/bth.hpp"

#include <algorithm>
#include <cstdint>
#include "probes/packet/ethernet.hpp"
#include "probes/packet/ip_packet.hpp"
#include "probes/packet/run_secrets.hpp"
#include "probes/packet/udp.hpp"
#include "topology/base/bytes.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/units.hpp"

namespace weft::packet {

// ProbeHeader: the first 52 bytes of a probe's payload, and the authenticator that makes a probe ours: a
// keyed SipHash-2-4 over the header, both addresses and the UDP source port. docs/wire.md gives the layout.
// Pure.

enum class ProbeKind : std::uint8_t {
  probe = 1,    // asks for an echo
  echo = 2,     // the answer
  flow = 3,     // load: counted, never answered
  segment = 4,  // part of a transfer: counted, and acknowledged by an echo of the smallest size
};

struct ProbeHeader {
  ProbeKind kind = ProbeKind::probe;
  UdpPort back_label;  // the source port that the echo takes
  RunId run;
  BatchId batch;
  PortId nic;  // of the prober; echoed
  std::uint32_t spec = 0;
  std::uint32_t sequence = 0;  // from 0 within (batch, nic, spec)
  Nanoseconds sent_at{};       // on the prober's clock; echoed
  Nanoseconds turnaround{};    // echo: from receipt to reply, 0 to 4.29 s; else zero
  friend bool operator==(const ProbeHeader&, const ProbeHeader&) = default;
};

/// What of the packet around the header the authenticator covers.
struct ProbeEnvelope {
  IpAddress source;
  IpAddress destination;
  UdpPort source_port;
};

inline constexpr std::size_t kProbeHeaderSize = 52;

/// Magic, version and kind are checked; the authenticator is not.
Result<ProbeHeader> decode_probe_header(ByteSpan payload);
/// Writes 52 bytes with the authenticator.
void encode_probe_header(const ProbeHeader& header, const ProbeEnvelope& envelope, const RunKey& key,
                         MutableByteSpan out);
/// Whether the authenticator of the header at the front of `payload` was made with `key`.
bool authenticate(ByteSpan payload, const ProbeEnvelope& envelope, const RunKey& key);
/// The packet sequence number of the first packet of (batch, NIC, spec), 24 bits; the others count on from
/// it. Only a holder of the key can say it beforehand.
std::uint32_t first_psn(const ProbeHeader& header, const RunKey& key);
/// The IPv4 identification of a batch's first probe; the others count on from it. Only a holder of the key
/// can say it beforehand, which keeps an answer that quotes nothing else from being made up blindly.
std::uint16_t first_identification(BatchId batch, const RunKey& key);

/// The queue pair that probes are addressed to and come from. No device hands it out by itself (IBTA: QPs 0
/// and 1 are special, 0xFFFFFF is multicast; drivers count from the low end), so RDMA hardware drops a stray
/// probe.
inline constexpr QpNum kProbeQueuePair{0xFFFFFE};
inline constexpr QueueKey kProbeQueueKey{0x57454654};

/// Largest UDP payload offset behind Ethernet: where frames of both families carry the least and the most.
constexpr std::size_t ip_header_size(bool v6) { return v6 ? kIpv6Size : kIpv4Size; }
constexpr std::size_t probe_payload_offset(bool v6) {
  return ip_header_size(v6) + kUdpSize + kBthSize + kDethSize;
}
/// The smallest IP packet that holds a probe: 104 bytes (IPv4), 124 (IPv6).
constexpr std::size_t min_probe_size(bool v6) { return probe_payload_offset(v6) + kProbeHeaderSize + 4; }

/// The size on the wire of a probe asked to be `wanted` bytes: whole 4-byte words of payload (rounded down),
/// at least the smallest probe.
constexpr std::size_t probe_size(std::size_t wanted, bool v6) {
  return std::max(wanted & ~std::size_t{3}, min_probe_size(v6));
}

struct ProbeRoute {
  MacAddress from_mac;
  MacAddress to_mac;
  IpAddress from;
  IpAddress to;   // of the same family
  UdpPort label;  // UDP source port
  std::uint8_t hop_limit = 64;
  std::uint8_t traffic_class = 0;
  std::uint16_t identification = 0;    // IPv4 only
  QpNum queue_pair = kProbeQueuePair;  // destination
  std::uint32_t flow_label = 0;        // IPv6 only, 20 bits
};

/// Writes a frame of kEthernetSize + `ip_size` bytes to the front of `out` and returns that. `ip_size` is one
/// that probe_size() gives. The padding is not written: `out` holds it already (zeros, from its creation).
std::size_t encode_probe_frame(const ProbeRoute& route, const ProbeHeader& header, const RunKey& key,
                               std::size_t ip_size, MutableByteSpan out);

/// A received probe, echo or flow packet. `header` may be damaged or forged: see `authentic`.
struct ProbePacket {
  EthernetHeader ethernet;
  IpPacket ip;
  UdpPort label;
  ProbeHeader header;
  bool authentic = false;  // the authenticator was made with the key
  bool intact = false;     // the ICRC is right
};

/// An error where the frame is no probe of ours, or is cut short.
Result<ProbePacket> decode_probe_frame(ByteSpan frame, const RunKey& key);
/// Where the header says which key to use: it is not `authentic` until authenticate() says so. The frame
/// outlives the packet.
Result<ProbePacket> decode_probe_frame(ByteSpan frame);
/// The same of a frame whose Ethernet and IP headers are read already.
Result<ProbePacket> decode_probe_packet(const EthernetHeader& ethernet, const IpPacket& ip);
bool authenticate(const ProbePacket& packet, const RunKey& key);

}  // namespace weft::packet
