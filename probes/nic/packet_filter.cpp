#include "probes/nic/packet_filter.hpp"

#include <netinet/in.h>

#include "probes/packet/probe_frame.hpp"

namespace weft::nic {
namespace {

constexpr std::uint32_t kTakeAll = 0x40000;  // bytes of a frame to hand over
constexpr std::uint32_t kKindAt =
    packet::kUdpSize + packet::kBthSize + packet::kDethSize + 5;  // from the UDP header; docs/wire.md
constexpr auto kEcho = static_cast<std::uint32_t>(packet::ProbeKind::echo);

sock_filter load_byte(std::uint32_t at) { return BPF_STMT(BPF_LD | BPF_B | BPF_ABS, at); }
sock_filter load_half(std::uint32_t at) { return BPF_STMT(BPF_LD | BPF_H | BPF_ABS, at); }
/// Relative to X.
sock_filter load_byte_behind(std::uint32_t at) { return BPF_STMT(BPF_LD | BPF_B | BPF_IND, at); }
sock_filter load_half_behind(std::uint32_t at) { return BPF_STMT(BPF_LD | BPF_H | BPF_IND, at); }
/// Jumps count the instructions to skip.
sock_filter equal(std::uint32_t value, std::uint8_t if_so, std::uint8_t if_not) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, if_so, if_not);
}
sock_filter above(std::uint32_t value, std::uint8_t if_so, std::uint8_t if_not) {
  return BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, value, if_so, if_not);
}
sock_filter any_bit(std::uint32_t bits, std::uint8_t if_so, std::uint8_t if_not) {
  return BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, if_so, if_not);
}
sock_filter give(std::uint32_t bytes) { return BPF_STMT(BPF_RET | BPF_K, bytes); }

/// Both families alike: X holds the size of the IP header, A its protocol.
std::vector<sock_filter> transport_part(PacketRole role, std::uint32_t icmp, std::uint32_t ran_out,
                                        std::uint32_t unreachable) {
  constexpr auto ip = static_cast<std::uint32_t>(packet::kEthernetSize);
  const bool probes = role != PacketRole::responder;
  // At 4, to 9 or 10. Of a standing agent: flows and segments are dropped; the probes and echoes of a sweep
  // beside are told apart by their run.
  const auto by_kind = role == PacketRole::standing ? above(kEcho, 5, 4)
                       : probes                     ? equal(kEcho, 4, 5)
                                                    : equal(kEcho, 5, 4);
  return {
      equal(IPPROTO_UDP, 0, 4),                // 0: else to 5
      load_half_behind(ip + 2),                // 1: destination port
      equal(packet::kRocePort.value(), 0, 7),  // 2: else drop
      load_byte_behind(ip + kKindAt),          // 3
      by_kind,                                 // 4
      equal(icmp, 0, 4),                       // 5: else drop
      load_byte_behind(ip),                    // 6: ICMP type
      equal(ran_out, probes ? 1 : 2, 0),       // 7: to 9 or 10, else on
      equal(unreachable, probes ? 0 : 1, 1),   // 8
      give(kTakeAll),                          // 9
      give(0),                                 // 10
  };
}

/// Probes, flows and echoes, and what routers say.
std::vector<sock_filter> engine_part(std::uint32_t icmp, std::uint32_t ran_out, std::uint32_t unreachable) {
  constexpr auto ip = static_cast<std::uint32_t>(packet::kEthernetSize);
  return {
      equal(IPPROTO_UDP, 0, 2),                // 0: else to 3
      load_half_behind(ip + 2),                // 1: destination port
      equal(packet::kRocePort.value(), 4, 5),  // 2: to 7, else drop
      equal(icmp, 0, 4),                       // 3: else drop
      load_byte_behind(ip),                    // 4: ICMP type
      equal(ran_out, 1, 0),                    // 5: to 7, else on
      equal(unreachable, 0, 1),                // 6
      give(kTakeAll),                          // 7
      give(0),                                 // 8
  };
}

/// X holds the size of the IP header, A its protocol; what is a fragment is dropped.
std::vector<sock_filter> ip_part(bool v6) {
  constexpr auto ip = static_cast<std::uint32_t>(packet::kEthernetSize);
  if (v6) return {BPF_STMT(BPF_LDX | BPF_W | BPF_IMM, packet::kIpv6Size), load_byte(ip + 6)};
  return {load_half(ip + 6), any_bit(0x3FFF, 0, 1), give(0),  // a fragment
          BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, ip), load_byte(ip + 9)};
}

}  // namespace

std::vector<sock_filter> drop_all_filter() { return {give(0)}; }

std::vector<sock_filter> engine_filter(bool v6) {
  const auto family = (v6 ? packet::kEtherTypeIpv6 : packet::kEtherTypeIpv4).value();
  std::vector<sock_filter> program{load_half(packet::kEthernetSize - 2), equal(family, 1, 0), give(0)};
  const auto ip = ip_part(v6);
  const auto rest = v6 ? engine_part(IPPROTO_ICMPV6, 3, 1) : engine_part(IPPROTO_ICMP, 11, 3);
  program.insert(program.end(), ip.begin(), ip.end());
  program.insert(program.end(), rest.begin(), rest.end());
  return program;
}

std::vector<sock_filter> packet_filter(PacketRole role, bool v6) {
  if (role == PacketRole::sender) return drop_all_filter();
  std::vector<sock_filter> program = ip_part(v6);
  const auto rest =
      v6 ? transport_part(role, IPPROTO_ICMPV6, 3, 1) : transport_part(role, IPPROTO_ICMP, 11, 3);
  program.insert(program.end(), rest.begin(), rest.end());
  return program;
}

}  // namespace weft::nic
