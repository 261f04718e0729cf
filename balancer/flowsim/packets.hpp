// The packet mode of the completion-time model: the packets of every QP, one by one, over store-and-forward
// switches whose queues are finite, each packet acknowledged by a small one that takes its own way back. It
// shows what the fluid model leaves out: queues, losses and what is sent again, start-up, incast. Senders do
// as the transfers of the lab do (`probes/datapath`, segments): a NIC has a window of packets on their way,
// in equal parts for its QPs, and there is no congestion control. Pure and deterministic; for small fabrics:
// a packet costs about a microsecond of computing for every hop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "balancer/flowsim/sending.hpp"

namespace weft::flowsim {

struct PacketSettings {
  FrameSizes frames;
  Bytes payload;             // of a data packet
  std::uint32_t window = 1;  // packets that a NIC has on their way, in equal parts for its QPs
  Bytes queue;               // that one channel holds before it drops; a host's own never drops
  /// Where a token bucket shapes the links instead of a wire (a lab): what passes at once after a pause.
  Bytes burst;
  Nanoseconds hop_delay{};  // of cable and switch, beside the time on the wire
  Nanoseconds patience{};   // of a QP that hears nothing: then all on its way is taken for lost
  /// Packets wait for the wire in one queue, acknowledgements behind data, as in a kernel (a lab's hosts).
  /// Otherwise a NIC takes the next packet, of its QPs in turn, when the wire is free, and acknowledgements
  /// go first, as RDMA hardware does.
  bool host_queue = false;
};

/// Packets of RoCE v2 with `payload` bytes. The window is three round trips of a path of two
/// tiers, so that one QP fills its path, and a few packets for each of many; a queue holds four windows, as a
/// lab's does.
PacketSettings usual_packets(const Fabric& fabric, Bytes payload = Bytes(4096));

struct PacketRun {
  std::vector<double> seconds;  // per sending: until its last acknowledgement came
  std::uint64_t sent = 0;       // data packets, those sent again included
  std::uint64_t dropped = 0;    // packets and acknowledgements
};

/// All start at once. A NIC takes the packets of its QPs in rotation, in the order of their turns: where
/// turns are permutations, the NICs send to different ones, packet by packet, and nobody meets an incast.
/// `capacity`: bytes per second, indexed by channel, above zero on every path.
PacketRun send_packets(std::span<const double> capacity, std::span<const Sending> sendings,
                       const PacketSettings& settings);

}  // namespace weft::flowsim
