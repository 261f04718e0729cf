// What RoCEv2 does around a message: the UDP source port (the path label) that a device makes from a GRH flow
// label, and the packets and bytes of a message on the wire. Pure.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "probes/packet/transfer_buffer.hpp"
#include "topology/base/check.hpp"
#include "topology/base/ids.hpp"
#include "topology/base/units.hpp"
#include "topology/findings/flow_result.hpp"

namespace weft::packet {

/// ibv_flow_label_to_udp_sport (libibverbs, verbs.h): 0xC000 and above. Several flow labels give one port. A
/// flow label of 0 means that the device chooses: see default_flow_label.
UdpPort udp_port_of(std::uint32_t flow_label);

/// A 20-bit flow label, never 0, that gives `port`; ports below 0xC000 are not reached by any and give the
/// one that shares their low 14 bits.
std::uint32_t flow_label_for(UdpPort port);

/// What the kernel takes for a queue pair whose flow label is 0 (rdma_calc_flow_label, ib_verbs.h).
std::uint32_t default_flow_label(QpNum local, QpNum remote);

/// Around the payload of every packet: IP, UDP, BTH, ICRC.
constexpr std::int64_t roce_headers(bool v6) { return (v6 ? 40 : 20) + 8 + 12 + 4; }

/// DETH, of a datagram.
inline constexpr std::int64_t kDatagramHeader = 8;

/// The largest extra header of a message's packets: RETH of the first (write), AETH of the first and of the
/// last (answers to a read), none (send).
constexpr std::int64_t operation_header(FlowOperation operation) {
  switch (operation) {
    case FlowOperation::write:
      return 16;
    case FlowOperation::read:
      return 4;
    case FlowOperation::send:
      return 0;
  }
  return 0;
}

/// AETH, of an acknowledgement.
inline constexpr std::int64_t kAcknowledgementHeader = 4;

/// The largest MTU of RoCE whose packets, with every header there is, fit those of an interface
/// (iboe_get_mtu, ib_addr.h).
constexpr Bytes roce_mtu(Bytes interface_mtu) {
  constexpr std::int64_t kHeaders = 96;
  const auto room = std::clamp<std::int64_t>(interface_mtu.count() - kHeaders, 256, 4096);
  return Bytes(static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(room))));
}

/// The largest message, in whole kMemoryUnit, that makes one IP packet of `packet` bytes at most; 64 bytes
/// at the least.
constexpr Bytes one_packet_message(FlowOperation operation, Bytes packet, Bytes mtu, bool v6) {
  const std::int64_t headers = roce_headers(v6) + operation_header(operation);
  const std::int64_t room = std::clamp<std::int64_t>(packet.count() - headers, 64, mtu.count());
  return Bytes(room / kMemoryUnit.count() * kMemoryUnit.count());
}

struct MessageOnWire {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;  // of IP packets
};

constexpr MessageOnWire message_on_wire(FlowOperation operation, Bytes message, Bytes mtu, bool v6) {
  WEFT_CHECK(message.count() > 0 && mtu.count() > 0);
  const std::int64_t packets = (message.count() + mtu.count() - 1) / mtu.count();
  const std::int64_t extra = operation == FlowOperation::read && packets > 1 ? 2 * operation_header(operation)
                                                                             : operation_header(operation);
  return {static_cast<std::uint64_t>(packets),
          static_cast<std::uint64_t>(message.count() + packets * roce_headers(v6) + extra)};
}

}  // namespace weft::packet
