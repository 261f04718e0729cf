// Authenticator: makes what authenticates the probes of one key (docs/wire.md). The headers of a stream begin
// with the same 24 bytes: the state of the hash behind them is kept for the streams that were seen last.
// Pure; one thread.
#pragma once

#include <vector>

#include "probes/packet/probe_header_bytes.hpp"
#include "probes/packet/siphash.hpp"

namespace weft::packet {

/// Kind, back label, run, batch and NIC, as they stand in a header.
struct HeaderStart {
  std::uint64_t first, second, third;
  friend bool operator==(const HeaderStart&, const HeaderStart&) = default;
};

class Authenticator {
 public:
  explicit Authenticator(const RunKey& key);

  /// Of the first 44 bytes of the header, and of the packet around it.
  std::uint64_t of(ProbeHeaderBytes header, const IpAddress& source, const IpAddress& destination,
                   UdpPort source_port);

 private:
  static constexpr std::size_t kStarts = 64;  // a power of two; 4 KB
  struct alignas(64) Kept {
    HeaderStart start;
    SipHash hash;  // behind it
  };
  const SipHash& behind(const HeaderStart& start);

  SipHash of_nothing_;
  std::vector<Kept> starts_;
};

/// Whether it is the one that stands in the packet.
inline bool authenticate(const ProbePacket& packet, Authenticator& authenticator) {
  const auto header = header_of(packet);
  return stored_authenticator(header) ==
         authenticator.of(header, packet.ip.source, packet.ip.destination, packet.label);
}

/// The same of a single header.
std::uint64_t authenticator_of(ProbeHeaderBytes header, const IpAddress& source, const IpAddress& destination,
                               UdpPort source_port, const RunKey& key);

}  // namespace weft::packet
