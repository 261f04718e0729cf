#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "probes/packet/bth.hpp"
#include "probes/packet/ethernet.hpp"
#include "probes/packet/icrc.hpp"
#include "probes/packet/ip_packet.hpp"
#include "probes/packet/ipv4.hpp"
#include "probes/packet/udp.hpp"
#include "tests/support/hex.hpp"

namespace weft::packet {
namespace {

using fakes::from_hex;

// A congestion notification captured on a ConnectX-4 Lx, published with Scapy's RoCE tests
// (test/contrib/roce.uts).
const auto kCaptured = from_hex(
    "e41d2dab2bc2 7cfe90643b32 0800"
    "45c2003c718c400040119161 0a001101 0a001201"
    "0000 12b7 0028 0000"
    "8100ffff 40000118 00000000"
    "00000000 00000000 00000000 00000000"
    "82fd002a");
constexpr std::size_t kUdpAt = kEthernetSize + kIpv4Size;

IpAddress ip(const char* text) { return *IpAddress::parse(text); }

TEST(Headers, ACapturedRoceFrameReadsFieldByField) {
  const auto ethernet = decode_ethernet(kCaptured);
  ASSERT_TRUE(ethernet);
  EXPECT_EQ(to_string(ethernet->header.source), "7c:fe:90:64:3b:32");
  EXPECT_EQ(to_string(ethernet->header.destination), "e4:1d:2d:ab:2b:c2");
  EXPECT_EQ(ethernet->header.type, kEtherTypeIpv4);
  const auto ipv4 = decode_ipv4(ByteSpan(kCaptured).subspan(ethernet->size));
  ASSERT_TRUE(ipv4) << ipv4.error().message;
  EXPECT_EQ(ipv4->header, (Ipv4Header{.traffic_class = 0xC2,
                                      .total_length = 60,
                                      .identification = 0x718C,
                                      .dont_fragment = true,
                                      .ttl = 64,
                                      .protocol = kProtocolUdp,
                                      .source = ip("10.0.17.1"),
                                      .destination = ip("10.0.18.1")}));
  const auto udp = decode_udp(ByteSpan(kCaptured).subspan(kUdpAt));
  ASSERT_TRUE(udp);
  EXPECT_EQ(*udp, (UdpHeader{.source = UdpPort(0), .destination = kRocePort, .length = 40}));
  const auto bth = decode_bth(ByteSpan(kCaptured).subspan(kUdpAt + kUdpSize));
  ASSERT_TRUE(bth);
  EXPECT_EQ(*bth,
            (Bth{.opcode = 0x81, .partition = kDefaultPartition, .becn = true, .destination = QpNum(0x118)}));
}

TEST(Headers, ACapturedFrameIsWrittenBackByteForByte) {
  std::vector<std::byte> out(kCaptured.size());
  const auto bytes = MutableByteSpan(out);
  encode_ethernet(decode_ethernet(kCaptured)->header, bytes);
  encode_ipv4(decode_ipv4(ByteSpan(kCaptured).subspan(kEthernetSize))->header, bytes.subspan(kEthernetSize));
  encode_udp(*decode_udp(ByteSpan(kCaptured).subspan(kUdpAt)), bytes.subspan(kUdpAt));
  encode_bth(*decode_bth(ByteSpan(kCaptured).subspan(kUdpAt + kUdpSize)), bytes.subspan(kUdpAt + kUdpSize));
  const auto packet = bytes.subspan(kEthernetSize);
  store_icrc(packet, compute_icrc(packet.first(packet.size() - kIcrcSize), kIpv4Size));
  EXPECT_EQ(out, kCaptured);
}

TEST(Headers, TheIcrcIgnoresWhatRoutersChangeAndNothingElse) {
  const auto packet = ByteSpan(kCaptured).subspan(kEthernetSize, 56);
  const auto right = load_icrc(ByteSpan(kCaptured));
  ASSERT_EQ(compute_icrc(packet, kIpv4Size), right);
  // Type of service, TTL, header checksum (IPv4); UDP checksum; FECN, BECN and reserved bits (BTH).
  const std::vector<std::size_t> changeable = {1, 8, 10, 11, 26, 27, 32};
  for (std::size_t at = 0; at < packet.size(); ++at) {
    std::vector<std::byte> changed(packet.begin(), packet.end());
    changed[at] ^= std::byte{0x01};
    const bool masked = std::find(changeable.begin(), changeable.end(), at) != changeable.end();
    EXPECT_EQ(compute_icrc(changed, kIpv4Size) == right, masked) << "byte " << at;
  }
}

TEST(Headers, AVlanTagIsSkippedAndWrittenBack) {
  const auto tagged = from_hex("020000000002 020000000001 8100 2064 86dd 60");
  const auto ethernet = decode_ethernet(tagged);
  ASSERT_TRUE(ethernet);
  EXPECT_EQ(ethernet->size, 18u);
  EXPECT_EQ(ethernet->header.vlan, 0x2064);
  EXPECT_EQ(ethernet->header.type, kEtherTypeIpv6);
  std::vector<std::byte> out(18);
  EXPECT_EQ(encode_ethernet(ethernet->header, out), 18u);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), tagged.begin()));
  EXPECT_FALSE(decode_ethernet(ByteSpan(tagged).first(17)));
  EXPECT_FALSE(decode_ethernet(ByteSpan(tagged).first(13)));
}

TEST(Headers, TheInternetChecksumIsThatOfRfc1071) {
  // RFC 1071, section 3: these words sum to ddf2.
  EXPECT_EQ(internet_checksum(from_hex("0001 f203 f4f5 f6f7")), static_cast<std::uint16_t>(~0xddf2));
  EXPECT_EQ(internet_checksum(from_hex("01")), static_cast<std::uint16_t>(~0x0100));
  EXPECT_EQ(internet_checksum({}), 0xFFFF);
}

TEST(Headers, Ipv4WithOptionsIsReadPastThem) {
  auto packet = from_hex("46000020 00010000 4011 0000 0a000001 0a000002 01010100 deadbeef 00000000");
  store_be16(packet, 10, internet_checksum(ByteSpan(packet).first(24)));
  const auto whole = decode_ip(packet);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->header_size, 24u);
  EXPECT_EQ(whole->payload.size(), 8u);
  EXPECT_EQ(load_be32(whole->payload, 0), 0xDEADBEEF);
}

TEST(Headers, WrongIpv4IsRefused) {
  const auto good = ByteSpan(kCaptured).subspan(kEthernetSize);
  const auto refused = [&](std::size_t at, std::uint8_t value) {
    std::vector<std::byte> packet(good.begin(), good.end());
    store_u8(packet, at, value);
    store_be16(packet, 10, 0);
    store_be16(packet, 10, internet_checksum(ByteSpan(packet).first(kIpv4Size)));
    return !decode_ip(packet);
  };
  EXPECT_TRUE(refused(0, 0x55));  // version
  EXPECT_TRUE(refused(0, 0x44));  // header below 20 bytes
  EXPECT_TRUE(refused(3, 19));    // length below its header
  EXPECT_TRUE(refused(3, 61));    // length beyond the packet
  EXPECT_TRUE(refused(6, 0x20));  // more fragments
  EXPECT_TRUE(refused(7, 0x01));  // a later fragment
  EXPECT_FALSE(refused(8, 1));
  std::vector<std::byte> damaged(good.begin(), good.end());
  store_u8(damaged, 8, 63);
  EXPECT_FALSE(decode_ip(damaged));
  EXPECT_TRUE(decode_ip(damaged, IpInput::quoted));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(decode_ip(good.first(size))) << size;
}

// A UDP packet of six bytes to fd00::2, hop limit 5, traffic class 0x68, flow label 0x12345.
const auto kIpv6 = from_hex(
    "66812345 000e 11 05"
    "fd000000000000000000000000000001 fd000000000000000000000000000002"
    "c351 12b7 000e 0000 776566740a0b");

TEST(Headers, Ipv6ReadsAndIsWrittenBack) {
  const auto ipv6 = decode_ipv6(kIpv6);
  ASSERT_TRUE(ipv6) << ipv6.error().message;
  EXPECT_EQ(ipv6->header, (Ipv6Header{.traffic_class = 0x68,
                                      .flow_label = 0x12345,
                                      .payload_length = 14,
                                      .protocol = kProtocolUdp,
                                      .hop_limit = 5,
                                      .source = ip("fd00::1"),
                                      .destination = ip("fd00::2")}));
  std::vector<std::byte> out(kIpv6Size);
  encode_ipv6(ipv6->header, out);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), kIpv6.begin()));
  for (std::size_t size = 0; size < kIpv6.size(); ++size)
    EXPECT_FALSE(decode_ip(ByteSpan(kIpv6).first(size)));
}

/// kIpv6 with extension headers of 8 bytes each before its UDP.
std::vector<std::byte> with_extensions(const std::vector<std::uint8_t>& kinds, std::uint16_t fragment = 0) {
  std::vector<std::byte> packet(kIpv6.begin(), kIpv6.begin() + kIpv6Size);
  store_be16(packet, 4, static_cast<std::uint16_t>(14 + 8 * kinds.size()));
  store_u8(packet, 6, kinds.empty() ? 17 : kinds.front());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    std::vector<std::byte> extension(8);
    store_u8(extension, 0, i + 1 < kinds.size() ? kinds[i + 1] : 17);
    if (kinds[i] == 44) store_be16(extension, 2, fragment);
    packet.insert(packet.end(), extension.begin(), extension.end());
  }
  packet.insert(packet.end(), kIpv6.begin() + kIpv6Size, kIpv6.end());
  return packet;
}

TEST(Headers, Ipv6ExtensionHeadersAreSkippedUpToALimit) {
  const auto some = decode_ip(with_extensions({0, 60, 43}));
  ASSERT_TRUE(some) << some.error().message;
  EXPECT_EQ(some->header_size, kIpv6Size + 24);
  EXPECT_EQ(some->protocol, kProtocolUdp);
  EXPECT_EQ(some->payload.size(), 14u);
  EXPECT_TRUE(decode_ip(with_extensions({0, 60, 60, 60, 60, 60, 60})));
  EXPECT_FALSE(decode_ip(with_extensions({0, 60, 60, 60, 60, 60, 60, 60, 60})));
}

TEST(Headers, AnIpv6FragmentIsRefusedAndAWholePacketInOneIsNot) {
  EXPECT_TRUE(decode_ip(with_extensions({44}, 0)));
  EXPECT_FALSE(decode_ip(with_extensions({44}, 1)));  // more fragments
  EXPECT_FALSE(decode_ip(with_extensions({44}, 8)));  // a later one
  auto endless = with_extensions({60});
  store_u8(endless, kIpv6Size + 1, 255);  // an extension longer than the packet
  EXPECT_FALSE(decode_ip(endless));
}

TEST(Headers, TransportHeadersOfAnyValueRoundTrip) {
  std::mt19937 random(1);
  const auto bit = [&] { return random() % 2 == 0; };
  for (int i = 0; i < 200; ++i) {
    const Bth bth{.opcode = static_cast<std::uint8_t>(random()),
                  .solicited = bit(),
                  .migrated = bit(),
                  .pad_count = static_cast<std::uint8_t>(random() % 4),
                  .version = static_cast<std::uint8_t>(random() % 16),
                  .partition = PartitionKey(static_cast<std::uint16_t>(random())),
                  .fecn = bit(),
                  .becn = bit(),
                  .destination = QpNum(random() % (1 << 24)),
                  .ack_request = bit(),
                  .sequence = PacketSequence(random() % (1 << 24))};
    std::vector<std::byte> out(kBthSize);
    encode_bth(bth, out);
    EXPECT_EQ(decode_bth(out), bth);
    const Deth deth{.queue_key = QueueKey(static_cast<std::uint32_t>(random())),
                    .source = QpNum(random() % (1 << 24))};
    encode_deth(deth, out);
    EXPECT_EQ(decode_deth(out), deth);
    const UdpHeader udp{.source = UdpPort(static_cast<std::uint16_t>(random())),
                        .destination = UdpPort(static_cast<std::uint16_t>(random())),
                        .length = static_cast<std::uint16_t>(8 + random() % 60000),
                        .checksum = static_cast<std::uint16_t>(random())};
    encode_udp(udp, out);
    EXPECT_EQ(decode_udp(out), udp);
  }
}

TEST(Headers, ADethStandsAsTheSpecificationDrawsIt) {
  const auto golden = from_hex("57454654 00 fffffe");
  EXPECT_EQ(decode_deth(golden), (Deth{.queue_key = QueueKey(0x57454654), .source = QpNum(0xFFFFFE)}));
  EXPECT_FALSE(decode_deth(ByteSpan(golden).first(7)));
  EXPECT_FALSE(decode_bth(ByteSpan(kCaptured).last(11)));
  EXPECT_FALSE(decode_udp(ByteSpan(golden).first(7)));
  EXPECT_FALSE(decode_udp(from_hex("c351 12b7 0007 0000")));
}

}  // namespace
}  // namespace weft::packet
