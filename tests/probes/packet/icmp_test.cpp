#include "probes/packet/icmp.hpp"

#include <gtest/gtest.h>

#include "probes/packet/ethernet.hpp"
#include "probes/packet/udp.hpp"
#include "tests/support/hex.hpp"

namespace weft::packet {
namespace {

using fakes::from_hex;

// Captured from a Linux 6.18 router that answered UDP from port 50000 to 4791 over a hop whose MTU is 1500.
const auto kTimeExceededV4 = from_hex(
    "86abf458e70b8e8325b28979080045c0005060840000400103550a0901010a0901020b00d47500000000450000340000"
    "4000011162a40a0901020a090202c35012b700201747776566747765667477656674776566747765667477656674");
const auto kUnreachableV4 = from_hex(
    "86abf458e70b8e8325b28979080045c00050897000003f01da670a0902020a0901020303dc7200000000450000340000"
    "400008115ba40a0901020a090202c35012b700201747776566747765667477656674776566747765667477656674");
const auto kTimeExceededV6 = from_hex(
    "86abf458e70b8e8325b2897986dd60066c4100503a40fd090001000000000000000000000001fd090001000000000000"
    "0000000000020300b971000000006001da1e00201101fd090001000000000000000000000002fd090002000000000000"
    "000000000002c35012b70020fa4b776566747765667477656674776566747765667477656674");
// Its "fragmentation needed" to a packet of 1628 bytes: the quote goes on with the payload, "weft" over and
// over.
std::vector<std::byte> too_big_v4() {
  auto frame = from_hex(
      "86abf458e70b8e8325b28979080045c0024060850000400101640a0901010a090102030454be000005dc4500065c0000"
      "40000911547c0a0901020a090202c35012b706481d6f");
  for (int i = 0; i < 130; ++i)
    for (const char c : {'w', 'e', 'f', 't'}) frame.push_back(static_cast<std::byte>(c));
  return frame;
}

IpPacket packet_in(ByteSpan frame) {
  const auto packet = decode_ip(frame.subspan(kEthernetSize), IpInput::quoted);
  EXPECT_TRUE(packet);
  return *packet;
}

TEST(Icmp, ACapturedTimeExceededNamesTheProbeItQuotes) {
  for (const auto* frame : {&kTimeExceededV4, &kTimeExceededV6}) {
    ASSERT_TRUE(decode_ip(ByteSpan(*frame).subspan(kEthernetSize)));
    const auto error = decode_icmp(packet_in(*frame));
    ASSERT_TRUE(error) << error.error().message;
    EXPECT_EQ(error->kind, IcmpKind::time_exceeded);
    EXPECT_EQ(error->code, 0);
    EXPECT_FALSE(error->mtu);
    const auto quoted = decode_ip(error->quoted, IpInput::quoted);
    ASSERT_TRUE(quoted);
    EXPECT_EQ(quoted->hop_limit, 1);
    const auto udp = decode_udp(quoted->payload);
    ASSERT_TRUE(udp);
    EXPECT_EQ(udp->source, UdpPort(50000));
    EXPECT_EQ(udp->destination, kRocePort);
  }
}

TEST(Icmp, ACapturedUnreachableIsToldFromTooBig) {
  const auto error = decode_icmp(packet_in(kUnreachableV4));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, IcmpKind::unreachable);
  EXPECT_EQ(error->code, 3);  // port
}

TEST(Icmp, ACapturedFragmentationNeededCarriesTheMtuOfTheNextHop) {
  const auto frame = too_big_v4();
  const auto error = decode_icmp(packet_in(frame));
  ASSERT_TRUE(error) << error.error().message;
  EXPECT_EQ(error->kind, IcmpKind::too_big);
  EXPECT_EQ(error->mtu, 1500u);
}

TEST(Icmp, ErrorsAreWrittenBackByteForByte) {
  for (const auto* frame : {&kTimeExceededV4, &kUnreachableV4, &kTimeExceededV6}) {
    const auto packet = packet_in(*frame);
    std::vector<std::byte> out(packet.payload.size());
    EXPECT_EQ(encode_icmp(*decode_icmp(packet), packet.source, packet.destination, out), out.size());
    EXPECT_TRUE(std::equal(out.begin(), out.end(), packet.payload.begin()));
  }
}

TEST(Icmp, TooBigOfEitherFamilyRoundTrips) {
  const auto v4 = IpAddress::parse("10.0.0.1");
  const auto v6 = IpAddress::parse("fd00::1");
  for (const auto& from : {*v4, *v6}) {
    const auto quoted = from_hex("4500");
    std::vector<std::byte> out(kIcmpErrorSize + quoted.size());
    encode_icmp({.kind = IcmpKind::too_big, .mtu = 1500, .quoted = quoted}, from, from, out);
    const IpPacket packet{.source = from,
                          .destination = from,
                          .protocol = from.is_v6() ? kProtocolIcmpv6 : kProtocolIcmp,
                          .payload = out};
    const auto error = decode_icmp(packet);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind, IcmpKind::too_big);
    EXPECT_EQ(error->mtu, 1500u);
  }
}

TEST(Icmp, WhatIsNoErrorOfAPathOrIsDamagedIsRefused) {
  for (const auto* frame : {&kTimeExceededV4, &kTimeExceededV6}) {
    const auto size = frame->size();
    const std::size_t icmp = kEthernetSize + packet_in(*frame).header_size;
    for (std::size_t at = icmp; at < size; ++at) {  // any one damaged byte
      auto damaged = *frame;
      damaged[at] ^= std::byte{0x10};
      EXPECT_FALSE(decode_icmp(packet_in(damaged))) << "byte " << at;
    }
    auto packet = packet_in(*frame);
    packet.payload = packet.payload.first(7);
    EXPECT_FALSE(decode_icmp(packet));
    packet.protocol = kProtocolUdp;
    EXPECT_FALSE(decode_icmp(packet));
  }
}

}  // namespace
}  // namespace weft::packet
