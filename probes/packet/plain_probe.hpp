// Probes as nearly all come, read in one pass: Ethernet without a tag, IPv4 without options or IPv6 without
// extension headers. What is read is what the decoders of the layers read. Pure.
#pragma once

#include <optional>

#include "probes/packet/probe_frame.hpp"

namespace weft::packet {

/// As decode_probe_frame() reads it; nothing where the frame is not plain, or no probe of ours: the decoders
/// of the layers say why. It is not `authentic` until authenticate() says so. The frame outlives the packet.
std::optional<ProbePacket> read_plain_probe(ByteSpan frame);
/// The same into `packet`, of which nothing counts where it is false: for who reads one after the other.
bool read_plain_probe(ByteSpan frame, ProbePacket& packet);

}  // namespace weft::packet
