// What a device with flow rules takes from the kernel, and what it leaves; and what a device gets that cannot
// take them.
#include "probes/engine/dpdk/probe_rules.hpp"

#include <gmock/gmock.h>

#include <cstring>

#include "probes/packet/probe_frame.hpp"
#include "tests/fakes/fake_dpdk.hpp"

namespace weft::dpdk {
namespace {

using fakes::FakeDpdk;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Frame = std::vector<std::byte>;

IpAddress address(bool v6, int host) {
  return *IpAddress::parse((v6 ? "fd00::" : "10.0.0.") + std::to_string(host));
}

/// What a device makes of a rule: an interpreter of the few headers that rules have.
bool takes(const WeftDpdkRule& rule, const Frame& frame) {
  constexpr std::size_t ip = packet::kEthernetSize;
  const bool v6 = load_be16(frame, ip - 2) == 0x86DD;
  const std::size_t behind = ip + packet::ip_header_size(v6);
  if (v6 != (rule.v6 != 0)) return false;
  if (!v6 && (load_be16(frame, ip + 6) & 0x3FFF) != 0) return false;
  if (std::memcmp(frame.data() + ip + (v6 ? 24 : 16), rule.to, v6 ? 16 : 4) != 0) return false;
  const auto protocol = load_u8(frame, ip + (v6 ? 6 : 9));
  if (protocol != (rule.icmp_type == 0 ? 17 : v6 ? 58 : 1)) return false;
  if (rule.icmp_type == 0 ? load_be16(frame, behind + 2) != rule.udp_port
                          : load_u8(frame, behind) != rule.icmp_type)
    return false;
  if (frame.size() < behind + 8 + rule.size) return false;
  for (std::size_t i = 0; i < rule.size; ++i)
    if (((load_u8(frame, behind + 8 + i) ^ rule.bytes[i]) & rule.mask[i]) != 0) return false;
  return true;
}

bool any_takes(const std::vector<WeftDpdkRule>& rules, const Frame& frame) {
  return std::ranges::any_of(rules, [&](const WeftDpdkRule& rule) { return takes(rule, frame); });
}

Frame probe(bool v6, packet::ProbeKind kind, QpNum queue_pair = packet::kProbeQueuePair, int from = 2,
            int to = 1) {
  Frame frame(packet::kEthernetSize + 160);
  packet::encode_probe_frame({.from = address(v6, from),
                              .to = address(v6, to),
                              .label = UdpPort(50000),
                              .traffic_class = 0x68,
                              .queue_pair = queue_pair},
                             {.kind = kind, .sequence = 7}, {}, 160, frame);
  return frame;
}

/// Of a router, about a frame that got no further than to it.
Frame icmp(const Frame& sent, std::uint8_t type, std::size_t quoted) {
  const bool v6 = load_be16(sent, packet::kEthernetSize - 2) == 0x86DD;
  const std::size_t behind = packet::kEthernetSize + packet::ip_header_size(v6);
  Frame frame(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(behind));
  const std::size_t addresses = packet::kEthernetSize + (v6 ? 8 : 12), size = v6 ? 16 : 4;
  std::memcpy(frame.data() + addresses + size, sent.data() + addresses, size);  // to who sent it
  frame[packet::kEthernetSize + (v6 ? 6 : 9)] = std::byte{static_cast<std::uint8_t>(v6 ? 58 : 1)};
  frame.resize(behind + 8);
  frame[behind] = std::byte{type};
  const auto from = sent.begin() + packet::kEthernetSize;
  frame.insert(frame.end(), from, from + static_cast<std::ptrdiff_t>(quoted));
  return frame;
}

class ProbeRules : public ::testing::TestWithParam<bool> {
 protected:
  const bool v6_ = GetParam();
  const std::vector<WeftDpdkRule> rules_ = probe_rules(address(v6_, 1));
};
INSTANTIATE_TEST_SUITE_P(Families, ProbeRules, ::testing::Bool(),
                         [](const auto& v6) { return v6.param ? "IPv6" : "IPv4"; });

TEST_P(ProbeRules, TakeWhatAnEngineReads) {
  using Kind = packet::ProbeKind;
  for (const auto kind : {Kind::probe, Kind::echo, Kind::flow, Kind::segment})
    EXPECT_TRUE(any_takes(rules_, probe(v6_, kind)));
}

TEST_P(ProbeRules, TakeWhatRoutersSayOfOurProbesToAnyQueuePair) {
  for (const QpNum queue_pair : {packet::kProbeQueuePair, QpNum(0x1234)}) {
    const auto sent = probe(v6_, packet::ProbeKind::probe, queue_pair, 1, 2);
    for (const int type : v6_ ? std::array{3, 1} : std::array{11, 3}) {
      const auto said = static_cast<std::uint8_t>(type);
      EXPECT_TRUE(any_takes(rules_, icmp(sent, said, v6_ ? 68 : 48))) << type;
      EXPECT_TRUE(any_takes(rules_, icmp(sent, said, 128))) << type;
    }
  }
}

TEST_P(ProbeRules, LeaveAJobsPackets) {
  // RDMA of this host: its queue pairs are other ones, and reliable connections have other opcodes.
  EXPECT_FALSE(any_takes(rules_, probe(v6_, packet::ProbeKind::probe, QpNum(0x1234))));
  const std::size_t bth = packet::kEthernetSize + packet::ip_header_size(v6_) + packet::kUdpSize;
  const auto changed = [&](std::size_t at) {
    auto frame = probe(v6_, packet::ProbeKind::probe);
    frame[at] ^= std::byte{1};
    return frame;
  };
  EXPECT_FALSE(any_takes(rules_, changed(bth)));       // opcode
  EXPECT_FALSE(any_takes(rules_, changed(bth + 12)));  // Q_Key
  EXPECT_FALSE(any_takes(rules_, changed(bth + 19)));  // source queue pair
  EXPECT_FALSE(any_takes(rules_, changed(bth + 20)));  // "WEFT"
  EXPECT_FALSE(any_takes(rules_, changed(bth - 5)));   // UDP port
}

TEST_P(ProbeRules, LeaveWhatIsForOthers) {
  EXPECT_FALSE(any_takes(rules_, probe(v6_, packet::ProbeKind::probe, packet::kProbeQueuePair, 2, 3)));
  EXPECT_FALSE(any_takes(probe_rules(address(!v6_, 1)), probe(v6_, packet::ProbeKind::probe)));
}

TEST_P(ProbeRules, LeaveWhatRoutersSayToOthers) {
  const std::uint8_t ran_out = v6_ ? 3 : 11, asks = v6_ ? 128 : 8;
  const auto sent = probe(v6_, packet::ProbeKind::probe, packet::kProbeQueuePair, 1, 2);
  const auto quoted = [&](std::size_t at) {
    auto other = sent;
    other[packet::kEthernetSize + at] ^= std::byte{1};
    return icmp(other, ran_out, 128);
  };
  const std::size_t udp = packet::ip_header_size(v6_);
  EXPECT_FALSE(any_takes(rules_, quoted(v6_ ? 6 : 9)));             // no UDP
  EXPECT_FALSE(any_takes(rules_, quoted(udp + 2)));                 // a traceroute's port
  EXPECT_FALSE(any_takes(rules_, quoted(udp + packet::kUdpSize)));  // a job's packet
  EXPECT_FALSE(any_takes(rules_, quoted(udp + packet::kUdpSize + 12)));
  EXPECT_FALSE(any_takes(rules_, icmp(sent, ran_out, udp + 8))) << "too short to say whose it was";
  EXPECT_FALSE(any_takes(rules_, icmp(sent, asks, 128)));
}

TEST_P(ProbeRules, FitTheirPlace) {
  for (const WeftDpdkRule& rule : rules_) {
    EXPECT_GT(rule.size, 0u);
    EXPECT_LE(rule.size, std::size_t{WEFT_DPDK_RULE_BYTES});
  }
}

class OpenPort : public ::testing::Test {
 protected:
  Result<OpenedPort> open() { return open_port(dpdk_.library(), {}, rules_); }
  const std::vector<WeftDpdkRule> rules_ = probe_rules(address(false, 1));
  FakeDpdk dpdk_;
};

TEST_F(OpenPort, OfADeviceThatTakesAllRulesIsIsolatedWithAllOfThem) {
  const auto opened = open();
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->no_rules, "");
  EXPECT_EQ(opened->has.isolated, 1u);
  EXPECT_THAT(dpdk_.rules, SizeIs(rules_.size()));
  EXPECT_EQ(dpdk_.open_ports, 1);
}

TEST_F(OpenPort, OfADeviceWithoutIsolatedModeIsAsItWasAndSaysWhy) {
  dpdk_.isolates = false;
  const auto opened = open();
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->no_rules, "no isolated mode: Function not implemented");
  EXPECT_THAT(dpdk_.opened_isolated, ElementsAre(false)) << "it is not opened twice";
  EXPECT_THAT(dpdk_.rules, IsEmpty()) << "a rule without isolated mode adds nothing";
}

TEST_F(OpenPort, OfADeviceThatRefusesAnyRuleHasNoneAndAllFramesAgain) {
  for (dpdk_.validates = 0; dpdk_.validates < rules_.size(); ++dpdk_.validates) {
    dpdk_.opened_isolated.clear();
    const auto opened = open();
    ASSERT_TRUE(opened);
    EXPECT_THAT(opened->no_rules, HasSubstr("it takes not all of them: item not supported"));
    EXPECT_EQ(opened->has.isolated, 0u);
    EXPECT_THAT(dpdk_.opened_isolated, ElementsAre(true, false));
    EXPECT_THAT(dpdk_.rules, IsEmpty()) << "and none wider in its place";
    EXPECT_EQ(dpdk_.open_ports, 1);
    dpdk_.open_ports = 0;
  }
}

TEST_F(OpenPort, OfADeviceThatFailsHalfWayIsClosedAndOpenedAnewWithoutRules) {
  dpdk_.creates = 1;  // all are valid, one finds room
  const auto opened = open();
  ASSERT_TRUE(opened);
  EXPECT_THAT(opened->no_rules, HasSubstr("no room for rules"));
  EXPECT_THAT(dpdk_.opened_isolated, ElementsAre(true, false));
  EXPECT_THAT(dpdk_.rules, IsEmpty());
  EXPECT_EQ(dpdk_.open_ports, 1);
}

TEST_F(OpenPort, OfADeviceThatDoesNotOpenIsolatedIsOpenedWithoutRules) {
  dpdk_.opens_isolated = false;
  const auto opened = open();
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->no_rules, "isolated it does not open: no queue");
  EXPECT_THAT(dpdk_.opened_isolated, ElementsAre(false));
}

TEST_F(OpenPort, OfADeviceThatDoesNotOpenIsAnErrorInItsWords) {
  dpdk_.opens = false;
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::not_supported);
  EXPECT_EQ(opened.error().message, "no queue");
  EXPECT_EQ(dpdk_.open_ports, 0);
}

}  // namespace
}  // namespace weft::dpdk
