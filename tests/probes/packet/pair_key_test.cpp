#include "probes/packet/pair_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/hex.hpp"

namespace weft::packet {
namespace {

Secret counting_secret() {
  Secret secret;
  for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::byte>(i);
  return secret;
}

IpAddress ip(const char* text) { return *IpAddress::parse(text); }

template <class Bytes>
std::vector<std::byte> bytes_of(const Bytes& array) {
  return {array.begin(), array.end()};
}

// What Python's hashlib.blake2b(input, key=..., digest_size=...) says.
TEST(PairKeyTest, IsKeyedBlake2b) {
  EXPECT_EQ(epoch_name(counting_secret(), 5), RunId(0x27dadc343d5f48d7));
  const Secret host = host_secret(counting_secret(), 5, 7);
  EXPECT_EQ(bytes_of(host),
            fakes::from_hex("af8762b61e66b61df3434f9d0c7f5726c5ab95173be1426a052a0bdd40d69fb0"));
  EXPECT_EQ(bytes_of(pair_key(host, ip("10.0.0.1"), ip("10.0.0.2"))),
            fakes::from_hex("873886f9c618b73d9d5ecd16f0a29ae3"));
  EXPECT_EQ(bytes_of(pair_key(host, ip("fd00::1"), ip("fd00::2"))),
            fakes::from_hex("049ff04e6d5f767a20b10bcf880fd5f6"));
}

TEST(PairKeyTest, AnotherWayFamilyHostOrEpochIsAnotherKey) {
  const Secret host = host_secret(counting_secret(), 5, 7);
  const auto key = pair_key(host, ip("10.0.0.1"), ip("10.0.0.2"));
  EXPECT_NE(pair_key(host, ip("10.0.0.2"), ip("10.0.0.1")), key);
  EXPECT_NE(pair_key(host, ip("a00:1::"), ip("a00:2::")), key) << "the same bytes";
  EXPECT_NE(pair_key(host_secret(counting_secret(), 5, 8), ip("10.0.0.1"), ip("10.0.0.2")), key);
  EXPECT_NE(pair_key(host_secret(counting_secret(), 6, 7), ip("10.0.0.1"), ip("10.0.0.2")), key);
}

}  // namespace
}  // namespace weft::packet
