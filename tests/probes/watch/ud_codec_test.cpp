#include "probes/watch/ud_codec.hpp"

#include <gtest/gtest.h>

#include <random>

#include "probes/packet/roce.hpp"
#include "probes/packet/ud_frame.hpp"
#include "tests/support/draws.hpp"
#include "tests/support/hex.hpp"

namespace weft::watch {
namespace {

using namespace std::chrono_literals;
using UdBytes = std::vector<std::byte>;

// Made by tests/data/wire/golden_probe.py from the page that describes the format, without this code.
const auto kGoldenPayload = fakes::from_hex(
    "574546540101c35211223344556677880000000900000011000000030102030400000000075bcd1500000000247a52702f276534"
    "00000000000000000000ffff0a00000100000000000000000000ffff0a000002c3510000");
const datapath::LocalNic kNearNic{.mac = {}, .address = *IpAddress::parse("10.0.0.1")};

packet::RunKey counting_key() {
  packet::RunKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  return key;
}

CarriedProbe ud_probe() {
  return {.header = {.kind = packet::ProbeKind::probe,
                     .back_label = UdpPort(50002),
                     .run = RunId(0x1122334455667788),
                     .batch = BatchId(9),
                     .nic = PortId(17),
                     .spec = 3,
                     .sequence = 0x01020304,
                     .sent_at = 123456789ns},
          .from = kNearNic.address,
          .to = *IpAddress::parse("10.0.0.2"),
          .label = PathLabel(50001),
          .frame_size = packet::kUdHeader + 88};
}

UdBytes ud_frame_of(const CarriedProbe& probe, const packet::RunKey& key = counting_key()) {
  UdBytes frame(probe.frame_size);
  EXPECT_EQ(ud_codec().write(kNearNic, probe, key, frame), probe.frame_size);
  return frame;
}
std::optional<CarriedProbe> read_ud(ByteSpan frame, const packet::RunKey& key = counting_key()) {
  return ud_codec().read(frame, [&](const CarriedProbe&) { return &key; });
}
bool alike(const CarriedProbe& a, const CarriedProbe& b) {
  return a.header == b.header && a.from == b.from && a.to == b.to && a.label == b.label &&
         a.frame_size == b.frame_size;
}

TEST(UdCodec, WritesAndReadsTheGoldenPayloadAndSaysWhereItGoes) {
  const auto frame = ud_frame_of(ud_probe());
  EXPECT_TRUE(std::ranges::equal(ByteSpan(frame).subspan(packet::kUdHeader), kGoldenPayload));
  const auto target = packet::target_of(frame);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->to, ud_probe().to);
  EXPECT_EQ(target->label, PathLabel(50001));
  const auto probe = read_ud(frame);
  ASSERT_TRUE(probe);
  EXPECT_TRUE(alike(*probe, ud_probe()));
}

TEST(UdCodec, WhatIsWrittenIsReadOfBothFamiliesWhateverStandsBeforeThePayload) {
  std::mt19937_64 random(5);
  for (int i = 0; i < draws(1000); ++i) {
    CarriedProbe probe = ud_probe();
    probe.header.kind = random() % 2 == 1 ? packet::ProbeKind::echo : packet::ProbeKind::probe;
    probe.header.sequence = static_cast<std::uint32_t>(random());
    probe.header.turnaround = Nanoseconds(static_cast<std::uint32_t>(random()));
    probe.label = PathLabel(static_cast<std::uint16_t>(random()));
    if (random() % 2 == 1) {
      probe.from = *IpAddress::parse("fd00::1");
      probe.to = *IpAddress::parse("fd00:0:0:7::2");
    }
    packet::RunKey key;
    for (auto& byte : key) byte = static_cast<std::byte>(random());
    UdBytes frame = ud_frame_of(probe, key);
    for (std::size_t at = 0; at < packet::kUdHeader; ++at) frame[at] = static_cast<std::byte>(random());
    const auto again = read_ud(frame, key);
    ASSERT_TRUE(again);
    EXPECT_TRUE(alike(*again, probe));
    EXPECT_FALSE(read_ud(frame)) << "made with another key";
  }
}

TEST(UdCodec, RefusesAnyCutAnyChangedBitOfWhatItCoversAndWhatIsLargerThanItSends) {
  const UdBytes frame = ud_frame_of(ud_probe());
  for (std::size_t size = 0; size < frame.size(); ++size) EXPECT_FALSE(read_ud(ByteSpan(frame).first(size)));
  for (std::size_t at = packet::kUdHeader; at < packet::kUdHeader + 86; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      UdBytes changed = frame;
      changed[at] ^= static_cast<std::byte>(1 << bit);
      EXPECT_FALSE(read_ud(changed)) << at << " bit " << bit;
    }
  UdBytes huge = frame;
  huge.resize(packet::kUdHeader + packet::kMaxUdPayload + 4);
  EXPECT_FALSE(read_ud(huge));
}

TEST(UdCodec, AProbeIsAnIpPacketOfTheSizeThatIsWantedWhereItHasRoom) {
  const auto payload = [](std::int64_t wanted) {
    return ud_codec().frame_size(Bytes(wanted), kNearNic) - packet::kUdHeader;
  };
  const auto headers =
      static_cast<std::size_t>(packet::roce_headers(false) + packet::kDatagramHeader);  // with the ICRC
  EXPECT_EQ(payload(256) + headers, 256u);
  EXPECT_EQ(payload(128), 88u) << "addresses and label must fit";
  EXPECT_EQ(payload(9000), packet::kMaxUdPayload);
}

TEST(UdFrame, AShortOneGoesNowhereAndAMappedAddressIsTheIpv4One) {
  UdBytes frame(packet::kUdHeader);
  packet::put_ud_target({*IpAddress::parse("10.1.2.3"), PathLabel(7)}, frame);
  EXPECT_EQ(packet::target_of(frame)->to, *IpAddress::parse("10.1.2.3"));
  EXPECT_FALSE(packet::target_of(ByteSpan(frame).first(packet::kUdHeader - 1)));
}

}  // namespace
}  // namespace weft::watch
