#include "probes/packet/authenticator.hpp"

#include <gtest/gtest.h>
#include <sodium.h>

#include <random>

namespace weft::packet {
namespace {

RunKey random_key(std::mt19937_64& random) {
  RunKey key;
  for (auto& part : key) part = static_cast<std::byte>(random());
  return key;
}

TEST(SipHash, IsThatOfThePaper) {  // its appendix A: the key 00 to 0f, the message 00 to 0e
  RunKey key;
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::byte>(i);
  std::array<std::byte, 15> message;
  for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i);
  EXPECT_EQ(siphash(message, key), 0xA129CA6149BE45E5u);
}

TEST(SipHash, IsThatOfLibsodiumForMessagesOfAnyLength) {
  std::mt19937_64 random(1);
  for (std::size_t size = 0; size < 300; ++size) {
    const auto key = random_key(random);
    std::vector<std::byte> message(size);
    for (auto& part : message) part = static_cast<std::byte>(random());
    std::uint64_t expected = 0;
    crypto_shorthash(reinterpret_cast<unsigned char*>(&expected),
                     reinterpret_cast<const unsigned char*>(message.data()), size,
                     reinterpret_cast<const unsigned char*>(key.data()));
    EXPECT_EQ(siphash(message, key), expected) << size;
  }
}

/// Few values in each field, so that streams come again and others take their place.
ProbeHeader any_header(std::mt19937_64& random) {
  return {.kind = static_cast<ProbeKind>(1 + random() % 4),
          .back_label = UdpPort(static_cast<std::uint16_t>(random() % 300)),
          .run = RunId(random() % 2),
          .batch = BatchId(random() % 2),
          .nic = PortId(random() % 4 * 0x10001),
          .spec = static_cast<std::uint32_t>(random()),
          .sequence = static_cast<std::uint32_t>(random()),
          .sent_at = Nanoseconds(static_cast<std::int64_t>(random())),
          .turnaround = Nanoseconds(static_cast<std::int64_t>(random() >> 32))};
}

TEST(Authenticator, IsTheHashOfWhatThePageOfTheWireNamesWhicheverStreamsCameBefore) {
  std::mt19937_64 random(2);
  const auto key = random_key(random);
  Authenticator authenticator(key);
  const IpAddress from(IpAddress::V4{10, 0, 0, 1}), to = *IpAddress::parse("fd00::2");
  for (int i = 0; i < 20'000; ++i) {
    const UdpPort port(static_cast<std::uint16_t>(random()));
    std::array<std::byte, kProbeHeaderSize> header{};
    store_probe_header(any_header(random), header);
    std::array<std::byte, 78> message{};
    std::memcpy(message.data(), header.data(), kAuthenticatorAt);
    std::memcpy(message.data() + 44, from.bytes().data(), 16);
    std::memcpy(message.data() + 60, to.bytes().data(), 16);
    store_be16(message, 76, port.value());
    const auto expected = siphash(message, key);
    ASSERT_EQ(authenticator.of(header, from, to, port), expected) << i;
    ASSERT_EQ(authenticator_of(header, from, to, port, key), expected) << i;
  }
}

TEST(Authenticator, OfAHeaderOfZerosIsNoneOfAnotherKey) {
  const std::array<std::byte, kProbeHeaderSize> zeros{};
  Authenticator one({std::byte{1}}), other({std::byte{2}});
  EXPECT_EQ(one.of(zeros, {}, {}, {}), authenticator_of(zeros, {}, {}, {}, {std::byte{1}}));
  EXPECT_NE(one.of(zeros, {}, {}, {}), other.of(zeros, {}, {}, {}));
}

}  // namespace
}  // namespace weft::packet
