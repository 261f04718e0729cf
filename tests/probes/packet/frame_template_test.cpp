#include "probes/packet/frame_template.hpp"

#include <gtest/gtest.h>
#include <libdeflate.h>

#include <algorithm>
#include <random>

namespace weft::packet {
namespace {

struct Sent {
  ProbeRoute route;
  ProbeHeader header;
  RunKey key{};
  std::size_t size = 0;
};

/// Any values in all fields; of few peers and sizes, so that frames follow others of their way.
Sent random_sent(std::mt19937_64& random, bool v6) {
  Sent sent;
  const auto address = [&](unsigned last) {
    return *IpAddress::parse((v6 ? "fd00::" : "10.0.0.") + std::to_string(last));
  };
  const auto mac = [&](unsigned last) {
    return MacAddress{{2, 0, 0, 0, 0, static_cast<std::uint8_t>(last)}};
  };
  const auto half = [&] { return static_cast<std::uint16_t>(random()); };
  const auto byte = [&] { return static_cast<std::uint8_t>(random()); };
  const auto word = [&] { return static_cast<std::uint32_t>(random()); };
  sent.route = {.from_mac = mac(1),
                .to_mac = mac(2 + random() % 2),
                .from = address(1),
                .to = address(2 + random() % 2),
                .label = UdpPort(half()),
                .hop_limit = byte(),
                .traffic_class = static_cast<std::uint8_t>(random() % 4 == 0 ? 0x68 : 0),
                .identification = half(),
                .queue_pair = QpNum(random() % 4 == 0 ? word() >> 8 : kProbeQueuePair.value()),
                .flow_label = random() % 4 == 0 ? word() >> 12 : 0};
  sent.header = {.kind = static_cast<ProbeKind>(1 + random() % 4),
                 .back_label = UdpPort(half()),
                 .run = RunId(random()),
                 .batch = BatchId(word()),
                 .nic = PortId(word()),
                 .spec = word(),
                 .sequence = word(),
                 .sent_at = Nanoseconds(static_cast<std::int64_t>(random())),
                 .turnaround = Nanoseconds(static_cast<std::int64_t>(random() >> 30))};
  for (auto& part : sent.key) part = std::byte{byte()};
  const std::size_t sizes[] = {0, 128, 228, 252, 256, 1500, 4096, 9000, random() % 65536};
  sent.size = probe_size(sizes[random() % std::size(sizes)], v6);
  return sent;
}

TEST(FrameTemplate, WritesByteForByteWhatTheEncoderWritesWhateverItWroteBefore) {
  std::mt19937_64 random(1);
  for (const bool v6 : {false, true}) {
    FrameTemplate one;
    auto sent = random_sent(random, v6);
    for (int i = 0; i < 3000; ++i) {
      const auto next = random_sent(random, v6);
      const bool same_way = random() % 4 != 0;
      if (same_way) {
        sent.route.label = next.route.label;
        sent.route.hop_limit = next.route.hop_limit;
        sent.route.identification = next.route.identification;
        sent.header = next.header;
      } else {
        sent = next;
      }
      std::vector<std::byte> expected(kEthernetSize + sent.size);
      encode_probe_frame(sent.route, sent.header, sent.key, sent.size, expected);
      Authenticator authenticator(sent.key);
      const auto frame =
          one.write(sent.route, sent.header, authenticator, first_psn(sent.header, sent.key), sent.size);
      ASSERT_TRUE(std::ranges::equal(frame, expected)) << i << ": " << sent.size << " bytes";
    }
  }
}

TEST(FrameTemplate, GoesOverFromOneFamilyToTheOther) {
  std::mt19937_64 random(2);
  FrameTemplate one;
  for (int i = 0; i < 40; ++i) {
    const auto sent = random_sent(random, i % 2 == 0);
    std::vector<std::byte> expected(kEthernetSize + sent.size);
    encode_probe_frame(sent.route, sent.header, sent.key, sent.size, expected);
    Authenticator authenticator(sent.key);
    const auto frame =
        one.write(sent.route, sent.header, authenticator, first_psn(sent.header, sent.key), sent.size);
    ASSERT_TRUE(std::ranges::equal(frame, expected)) << i;
  }
}

TEST(ZeroTail, IsTheCrcOfTheMessageWithSoManyZerosBehindIt) {
  std::mt19937_64 random(3);
  for (std::size_t zeros = 0; zeros < 70'000; zeros += 1 + zeros / 3) {
    std::vector<std::byte> message(40 + zeros);
    for (std::size_t i = 0; i < 40; ++i) message[i] = static_cast<std::byte>(random());
    const auto front = libdeflate_crc32(0, message.data(), 40);
    EXPECT_EQ(ZeroTail(zeros)(front), libdeflate_crc32(0, message.data(), message.size())) << zeros;
  }
}

}  // namespace
}  // namespace weft::packet
