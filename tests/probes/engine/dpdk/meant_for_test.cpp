// Whom a frame is for: the device's own sorting against the socket filters of the raw engine, run by an
// interpreter.
#include <gtest/gtest.h>
#include <linux/filter.h>

#include <random>

#include "probes/engine/dpdk/dpdk_device.hpp"
#include "probes/nic/packet_filter.hpp"
#include "probes/packet/probe_frame.hpp"

namespace weft::dpdk {
namespace {

/// Bytes that a filter hands over of the frame; the instructions that our filters are made of.
std::uint32_t run_filter(const std::vector<sock_filter>& program, ByteSpan frame) {
  std::uint32_t a = 0, x = 0;
  for (std::size_t pc = 0; pc < program.size(); ++pc) {
    const sock_filter& one = program[pc];
    const auto load = [&](std::size_t at, std::size_t size) {
      if (at + size > frame.size()) return false;
      a = size == 1 ? load_u8(frame, at) : load_be16(frame, at);
      return true;
    };
    bool whole = true;
    switch (one.code) {
      case BPF_LD | BPF_B | BPF_ABS:
        whole = load(one.k, 1);
        break;
      case BPF_LD | BPF_H | BPF_ABS:
        whole = load(one.k, 2);
        break;
      case BPF_LD | BPF_B | BPF_IND:
        whole = load(x + one.k, 1);
        break;
      case BPF_LD | BPF_H | BPF_IND:
        whole = load(x + one.k, 2);
        break;
      case BPF_LDX | BPF_W | BPF_IMM:
        x = one.k;
        break;
      case BPF_LDX | BPF_B | BPF_MSH:
        whole = one.k < frame.size();
        if (whole) x = (load_u8(frame, one.k) & 0xFu) * 4;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        pc += a == one.k ? one.jt : one.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        pc += (a & one.k) != 0 ? one.jt : one.jf;
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        pc += a > one.k ? one.jt : one.jf;
        break;
      case BPF_RET | BPF_K:
        return one.k;
      default:
        ADD_FAILURE() << "instruction " << one.code;
        return 0;
    }
    if (!whole) return 0;
  }
  ADD_FAILURE() << "the filter does not end";
  return 0;
}

/// A probe's frame with some bytes changed and a length of its own, often one that a filter looks at.
std::vector<std::byte> drawn_frame(std::mt19937& draws, bool v6) {
  const auto address = [&](int host) {
    return *IpAddress::parse((v6 ? "fd00::" : "10.0.0.") + std::to_string(host));
  };
  std::vector<std::byte> frame(packet::kEthernetSize + 160);
  const auto kind = static_cast<packet::ProbeKind>(draws() % 4);
  packet::encode_probe_frame({.from = address(1), .to = address(2), .label = UdpPort(50000)}, {.kind = kind},
                             {}, 160, frame);
  const std::size_t looked_at[] = {12, 13, 14, 20, 21, 23, 34, 36, 37, 54, 56, 57, 67, 87};
  for (auto changes = draws() % 3; changes > 0; --changes) {
    const std::uint8_t values[] = {0,  1,    2,    3,    6,    11,   17,
                                   58, 0x08, 0x45, 0x46, 0x86, 0xDD, static_cast<std::uint8_t>(draws())};
    frame[looked_at[draws() % std::size(looked_at)]] = std::byte{values[draws() % std::size(values)]};
  }
  if (draws() % 4 == 0) frame.resize(draws() % frame.size());
  return frame;
}

TEST(MeantFor, SortsWhatTheSocketFiltersOfBothReadersTake) {
  std::mt19937 draws(7);
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool v6 = i % 2 == 0;
    const auto frame = drawn_frame(draws, v6);
    if (run_filter(nic::engine_filter(v6), frame) == 0) continue;  // the kernel keeps it
    const auto whose = meant_for(frame);
    EXPECT_EQ(whose == MeantFor::prober,
              run_filter(nic::packet_filter(nic::PacketRole::prober, v6), frame) > 0)
        << i;
    EXPECT_EQ(whose == MeantFor::responder,
              run_filter(nic::packet_filter(nic::PacketRole::responder, v6), frame) > 0)
        << i;
    taken += whose != MeantFor::nobody ? 1 : 0;
  }
  EXPECT_GT(taken, 5'000);
}

TEST(MeantFor, AStandingAgentTakesWhatBothReadersTakeButFlowsAndSegments) {
  std::mt19937 draws(9);
  int flows = 0, others = 0;
  for (int i = 0; i < 20'000; ++i) {
    const bool v6 = i % 2 == 0;
    const auto frame = drawn_frame(draws, v6);
    if (run_filter(nic::engine_filter(v6), frame) == 0) continue;
    const bool answer = run_filter(nic::packet_filter(nic::PacketRole::prober, v6), frame) > 0;
    const bool asked = run_filter(nic::packet_filter(nic::PacketRole::responder, v6), frame) > 0;
    const std::size_t ip = v6 ? packet::kIpv6Size : (load_u8(frame, packet::kEthernetSize) & 0xFu) * 4;
    const auto kind = asked ? load_u8(frame, packet::kEthernetSize + ip + packet::kUdpSize +
                                                 packet::kBthSize + packet::kDethSize + 5)
                            : 0;
    const bool is_flow = kind > static_cast<std::uint8_t>(packet::ProbeKind::echo);
    (is_flow ? flows : others) += 1;
    EXPECT_EQ(run_filter(nic::packet_filter(nic::PacketRole::standing, v6), frame) > 0,
              answer || (asked && !is_flow))
        << i;
  }
  EXPECT_GT(flows, 1'000);
  EXPECT_GT(others, 1'000);
}

TEST(MeantFor, TheSharedFilterTakesWhatEitherReaderTakesAndNoOtherFamily) {
  std::mt19937 draws(8);
  for (int i = 0; i < 20'000; ++i) {
    const bool v6 = i % 2 == 0;
    const auto frame = drawn_frame(draws, v6);
    const auto family = frame.size() < 14 ? 0 : load_be16(frame, 12);
    const bool either = family == (v6 ? 0x86DD : 0x0800) && meant_for(frame) != MeantFor::nobody &&
                        (run_filter(nic::packet_filter(nic::PacketRole::prober, v6), frame) > 0 ||
                         run_filter(nic::packet_filter(nic::PacketRole::responder, v6), frame) > 0);
    if (!either) continue;
    EXPECT_GT(run_filter(nic::engine_filter(v6), frame), 0u) << i;
  }
}

TEST(MeantFor, ShortFramesAreForNobody) {
  for (std::size_t size = 0; size < 34; ++size)
    EXPECT_EQ(meant_for(std::vector<std::byte>(size, std::byte{0x45})), MeantFor::nobody);
}

}  // namespace
}  // namespace weft::dpdk
