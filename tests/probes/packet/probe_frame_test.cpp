#include "probes/packet/probe_frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "probes/packet/plain_probe.hpp"
#include "tests/support/hex.hpp"

namespace weft::packet {
namespace {

using fakes::from_hex;

// Both made by tests/data/wire/golden_probe.py from the page that describes the format, without this code.
const auto kGoldenV4 = from_hex(
    "020000000002020000000001080045680080beef40000511a2130a0000010a000002c35112b7006c00006400ffff00ff"
    "fffe00c6a0a75745465400fffffe574546540101c3521122334455667788000000090000001100000003010203040000"
    "0000075bcd1500000000247a52702f276534000000000000000000000000000000000000000000000000ad481409");
const auto kGoldenV6 = from_hex(
    "02000000000202000000000186dd6680000000581105fd000000000000000000000000000001fd000000000000000000"
    "000000000002c35112b7005800006400ffff00fffffe00c6a0a75745465400fffffe574546540101c352112233445566"
    "77880000000900000011000000030102030400000000075bcd1500000000020a8b28c1ab822f000000008043e438");

RunKey golden_key() {
  RunKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  return key;
}

ProbeRoute golden_route(bool v6) {
  return {.from_mac = {{2, 0, 0, 0, 0, 1}},
          .to_mac = {{2, 0, 0, 0, 0, 2}},
          .from = *IpAddress::parse(v6 ? "fd00::1" : "10.0.0.1"),
          .to = *IpAddress::parse(v6 ? "fd00::2" : "10.0.0.2"),
          .label = UdpPort(50001),
          .hop_limit = 5,
          .traffic_class = 0x68,
          .identification = 0xBEEF};
}

ProbeHeader golden_header() {
  return {.kind = ProbeKind::probe,
          .back_label = UdpPort(50002),
          .run = RunId(0x1122334455667788),
          .batch = BatchId(9),
          .nic = PortId(17),
          .spec = 3,
          .sequence = 0x01020304,
          .sent_at = Nanoseconds(123456789)};
}

const auto& golden(bool v6) { return v6 ? kGoldenV6 : kGoldenV4; }

class ProbeFrameTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Families, ProbeFrameTest, ::testing::Values(false, true),
                         [](const auto& family) { return family.param ? "IPv6" : "IPv4"; });

TEST_P(ProbeFrameTest, IsWrittenAsTheGoldenFrame) {
  std::vector<std::byte> frame(kEthernetSize + 128);
  EXPECT_EQ(encode_probe_frame(golden_route(GetParam()), golden_header(), golden_key(), 128, frame),
            frame.size());
  EXPECT_EQ(frame, golden(GetParam()));
}

TEST_P(ProbeFrameTest, TheGoldenFrameReadsBack) {
  const auto packet = decode_probe_frame(golden(GetParam()), golden_key());
  ASSERT_TRUE(packet) << packet.error().message;
  EXPECT_TRUE(packet->authentic);
  EXPECT_TRUE(packet->intact);
  EXPECT_EQ(packet->header, golden_header());
  EXPECT_EQ(packet->label, UdpPort(50001));
  EXPECT_EQ(packet->ip.hop_limit, 5);
  EXPECT_EQ(packet->ip.bytes.size(), 128u);
}

TEST_P(ProbeFrameTest, AnotherKeyDoesNotAuthenticate) {
  auto key = golden_key();
  key[15] ^= std::byte{1};
  const auto packet = decode_probe_frame(golden(GetParam()), key);
  ASSERT_TRUE(packet);
  EXPECT_FALSE(packet->authentic);
  EXPECT_TRUE(packet->intact);
}

/// Every truncation is refused, and every flipped bit is noticed by one check or the other, but for those
/// that routers may change on the way.
TEST_P(ProbeFrameTest, NoTruncatedFrameIsRead) {
  const auto& frame = golden(GetParam());
  for (std::size_t size = 0; size < frame.size(); ++size)
    EXPECT_FALSE(decode_probe_frame(ByteSpan(frame).first(size), golden_key())) << size;
}

TEST_P(ProbeFrameTest, NoFlippedBitPassesForAnIntactProbe) {
  const auto& frame = golden(GetParam());
  const std::size_t transport = kEthernetSize + ip_header_size(GetParam());
  for (std::size_t at = transport; at < frame.size(); ++at) {
    const bool masked = at == transport + 6 || at == transport + 7 || at == transport + kUdpSize + 4;
    if (masked) continue;  // UDP checksum; FECN and BECN
    auto flipped = frame;
    flipped[at] ^= std::byte{0x04};
    const auto packet = decode_probe_frame(flipped, golden_key());
    EXPECT_FALSE(packet && packet->intact) << "byte " << at;
  }
}

TEST_P(ProbeFrameTest, TheAuthenticatorHoldsTheHeaderAndItsEnvelope) {
  const auto authentic_with = [&](const std::function<void(std::vector<std::byte>&)>& change) {
    auto frame = golden(GetParam());
    change(frame);
    const auto packet = decode_probe_frame(frame, golden_key());
    return packet && packet->authentic;
  };
  const std::size_t transport = kEthernetSize + ip_header_size(GetParam());
  const std::size_t payload = kEthernetSize + probe_payload_offset(GetParam());
  for (std::size_t at = 0; at < kProbeHeaderSize; ++at)
    EXPECT_FALSE(authentic_with([&](auto& frame) { frame[payload + at] ^= std::byte{0x40}; })) << at;
  EXPECT_FALSE(authentic_with([&](auto& frame) { frame[transport + 1] ^= std::byte{1}; }));  // source port
  EXPECT_TRUE(authentic_with([&](auto& frame) { frame.back() ^= std::byte{1}; }));
  // The IP addresses, with the checksum of the new header.
  EXPECT_FALSE(authentic_with([&](auto& frame) {
    const auto at = GetParam() ? kEthernetSize + 23 : kEthernetSize + 15;
    frame[at] = std::byte{9};
    if (!GetParam()) store_be16(frame, kEthernetSize + 10, static_cast<std::uint16_t>(0xA213 - 8));
  }));
}

/// What the decoders of the layers read of a frame, one after the other.
Result<ProbePacket> read_by_layers(ByteSpan frame) {
  WEFT_TRY(const auto ethernet, decode_ethernet(frame));
  WEFT_TRY(const auto ip, decode_ip(frame.subspan(ethernet.size)));
  return decode_probe_packet(ethernet.header, ip);
}

void expect_same(const ProbePacket& one, const ProbePacket& other) {
  EXPECT_EQ(one.ethernet, other.ethernet);
  EXPECT_EQ(one.ip.source, other.ip.source);
  EXPECT_EQ(one.ip.destination, other.ip.destination);
  EXPECT_EQ(one.ip.protocol, other.ip.protocol);
  EXPECT_EQ(one.ip.hop_limit, other.ip.hop_limit);
  EXPECT_EQ(one.ip.identification, other.ip.identification);
  EXPECT_EQ(one.ip.header_size, other.ip.header_size);
  EXPECT_EQ(one.ip.bytes.data(), other.ip.bytes.data());
  EXPECT_EQ(one.ip.bytes.size(), other.ip.bytes.size());
  EXPECT_EQ(one.ip.payload.data(), other.ip.payload.data());
  EXPECT_EQ(one.ip.payload.size(), other.ip.payload.size());
  EXPECT_EQ(one.label, other.label);
  EXPECT_EQ(one.header, other.header);
  EXPECT_EQ(one.intact, other.intact);
}

TEST_P(ProbeFrameTest, OnePassReadsWhatTheLayersReadAndRefusesWhatTheyRefuse) {
  std::mt19937_64 random(7);
  std::size_t read = 0;
  const std::size_t headers = kEthernetSize + probe_payload_offset(GetParam()) + 8;
  for (int i = 0; i < 40'000; ++i) {
    auto frame = golden(GetParam());
    for (auto changes = random() % 3; changes > 0; --changes)
      frame[random() % headers] ^= static_cast<std::byte>(1 << random() % 8);
    const bool right_sum = !GetParam() && random() % 2 == 0;
    if (right_sum) {  // so that what else was changed counts
      store_be16(frame, kEthernetSize + 10, 0);
      store_be16(frame, kEthernetSize + 10,
                 internet_checksum(ByteSpan(frame).subspan(kEthernetSize, kIpv4Size)));
    }
    if (random() % 50 == 0)  // a sum of zero is not one of all ones
      std::fill_n(frame.begin() + kEthernetSize, kIpv4Size, std::byte{0});
    frame.resize(frame.size() - (random() % 4 == 0 ? random() % 50 : 0) + random() % 2 * 6);
    const auto by_layers = read_by_layers(frame);
    const auto plain = read_plain_probe(frame);
    if (plain) {
      ++read;
      ASSERT_TRUE(by_layers) << i;
      expect_same(*plain, *by_layers);
    }
    EXPECT_EQ(decode_probe_frame(frame).has_value(), by_layers.has_value()) << i;
  }
  EXPECT_GT(read, 4'000u);
}

TEST_P(ProbeFrameTest, OnePassReadsTheGoldenFrame) { EXPECT_TRUE(read_plain_probe(golden(GetParam()))); }

TEST(ProbeSize, IsInWholeWordsAndHoldsTheHeader) {
  EXPECT_EQ(probe_size(128, false), 128u);
  EXPECT_EQ(probe_size(1503, false), 1500u);
  EXPECT_EQ(probe_size(0, false), 104u);
  EXPECT_EQ(probe_size(0, true), 124u);
}

TEST(ProbeFrame, LongerOnesKeepTheirPaddingAndReadBack) {
  for (const std::size_t size : {104, 1500, 4096, 9000}) {
    std::vector<std::byte> frame(kEthernetSize + size);
    encode_probe_frame(golden_route(false), golden_header(), golden_key(), size, frame);
    frame.resize(frame.size() + 4);  // what a link adds behind a packet does not count
    const auto packet = decode_probe_frame(frame, golden_key());
    ASSERT_TRUE(packet);
    EXPECT_TRUE(packet->intact && packet->authentic);
    EXPECT_EQ(packet->ip.bytes.size(), size);
  }
}

TEST(ProbeHeader, ATurnaroundThatDoesNotFitIsClamped) {
  std::vector<std::byte> out(kProbeHeaderSize);
  auto header = golden_header();
  header.turnaround = std::chrono::seconds(10);
  encode_probe_header(header, {}, golden_key(), out);
  EXPECT_EQ(decode_probe_header(out)->turnaround, Nanoseconds(0xFFFFFFFF));
  header.turnaround = Nanoseconds(-5);
  encode_probe_header(header, {}, golden_key(), out);
  EXPECT_EQ(decode_probe_header(out)->turnaround, Nanoseconds(0));
}

TEST(ProbeHeader, UnknownVersionsAndKindsAreRefused) {
  std::vector<std::byte> out(kProbeHeaderSize);
  encode_probe_header(golden_header(), {}, golden_key(), out);
  ASSERT_TRUE(decode_probe_header(out));
  for (const auto& [at, value] : {std::pair{0, 'w'}, {4, '\2'}, {5, '\0'}, {5, '\5'}}) {
    auto changed = out;
    changed[static_cast<std::size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_FALSE(decode_probe_header(changed));
  }
}

}  // namespace
}  // namespace weft::packet
