// The socket filters (classic BPF) of packet engines: the kernel hands a socket only what is meant for it.
// They choose cheaply and trust nothing: every frame is decoded and authenticated again behind them.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace weft::nic {

enum class PacketRole {
  prober,     // takes echoes and "hops ran out"
  responder,  // takes probes and flow packets
  sender,     // takes nothing
  standing,   // takes probes, echoes and "hops ran out": both ends of a standing agent's NIC
};

/// A program over Ethernet frames of one family. A sender's takes nothing.
std::vector<sock_filter> packet_filter(PacketRole role, bool v6);
/// What prober and responder take together, of frames of any family: for a device that both share.
std::vector<sock_filter> engine_filter(bool v6);
/// A program that takes nothing.
std::vector<sock_filter> drop_all_filter();

}  // namespace weft::nic
