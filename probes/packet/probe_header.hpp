// ProbeHeader: the first 52 bytes of a probe's payload, and the authenticator that makes a probe ours: a
// keyed SipHash-2-4 over the header, both addresses and the UDP source port. docs/wire.md gives the layout.
// Pure.
#pragma once

#include <cstdint>

#include "probes/packet/decoded.hpp"
#include "probes/packet/run_secrets.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/ip.hpp"
#include "topology/base/units.hpp"

namespace weft {

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

}  // namespace weft
