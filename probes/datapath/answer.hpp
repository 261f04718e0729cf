// What a frame that comes back to a prober says about one of its probes. Forged, foreign and damaged frames
// say nothing; whether the probe was still waiting for it is for the prober to tell. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <variant>

#include "probes/datapath/packet_port.hpp"
#include "probes/packet/authenticator.hpp"

namespace weft::datapath {

/// The peer's echo of a probe.
struct Echo {
  packet::ProbeHeader header;  // authenticated
  IpAddress from;
  bool intact = true;  // false: its ICRC is wrong
};

/// A router says that the probe's hops ran out, or that it knows no way on (it looks for the way before it
/// counts the hops): either names the router. A router may quote no more than the IP header and eight bytes
/// (RFC 792): then `header` is absent and the probe is known by its addresses, label and identification.
struct HopsRanOut {
  IpAddress from;
  IpAddress destination;  // where the probe was going
  UdpPort label;
  std::optional<std::uint16_t> identification = std::nullopt;
  std::optional<packet::ProbeHeader> header = std::nullopt;  // authenticated
};

/// The key with which a quoted probe to `destination` was made; null: it is none of ours.
using KeyOfQuoted =
    std::function<const packet::RunKey*(const packet::ProbeHeader& header, const IpAddress& destination)>;
/// Nothing where the frame is no router's word about a probe that `nic` sent.
std::optional<HopsRanOut> read_hops_ran_out(ByteSpan frame, const LocalNic& nic, const KeyOfQuoted& key_of);

using Answer = std::variant<Echo, HopsRanOut>;

/// Reads one frame after the other. One thread.
class AnswerReader {
 public:
  /// `nic` and `secrets` outlive the reader.
  AnswerReader(const LocalNic& nic, const packet::RunSecrets& secrets)
      : nic_(nic), secrets_(secrets), authenticator_(secrets.key) {}

  /// Nothing where the frame is no answer to a probe that the NIC sent in this run.
  std::optional<Answer> read(ByteSpan frame);

 private:
  std::optional<Answer> echo_of(const packet::ProbePacket& packet);

  const LocalNic& nic_;
  const packet::RunSecrets& secrets_;
  packet::Authenticator authenticator_;
  packet::ProbePacket plain_;  // kept: to make one empty costs as much as to read some fields
};

}  // namespace weft::datapath
