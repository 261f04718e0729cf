#include "collectors/bus/bus_key.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "topology/base/check.hpp"

namespace weft::bus {
namespace {

// What nats-io/nkeys says: the first five bits are the letter that the text begins with; a seed's prefix
// takes two bytes, of which the second half is that of the key it is of.
constexpr std::uint8_t kSeedPrefix = 18 << 3;  // 'S'
constexpr std::uint8_t kUserPrefix = 20 << 3;  // 'U'
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::size_t kSeedBytes = 2 + crypto_sign_SEEDBYTES + 2;  // prefix, seed, checksum

using Bytes8 = std::vector<std::uint8_t>;

/// CRC-16/XMODEM: polynomial 0x1021, from 0.
std::uint16_t checksum(const Bytes8& bytes) {
  std::uint16_t sum = 0;
  for (const std::uint8_t byte : bytes) {
    sum = static_cast<std::uint16_t>(sum ^ (byte << 8));
    for (int bit = 0; bit < 8; ++bit)
      sum = static_cast<std::uint16_t>((sum & 0x8000) != 0 ? (sum << 1) ^ 0x1021 : sum << 1);
  }
  return sum;
}

/// RFC 4648, without padding.
std::string base32(const Bytes8& bytes) {
  std::string text;
  std::uint32_t held = 0;
  int bits = 0;
  for (const std::uint8_t byte : bytes) {
    held = (held << 8 | byte) & 0xffff;
    for (bits += 8; bits >= 5; bits -= 5) text += kLetters[held >> (bits - 5) & 31];
  }
  if (bits > 0) text += kLetters[held << (5 - bits) & 31];
  return text;
}

std::optional<Bytes8> read_base32(std::string_view text) {
  Bytes8 bytes;
  std::uint32_t held = 0;
  int bits = 0;
  for (const char letter : text) {
    const auto value = kLetters.find(letter);
    if (value == std::string_view::npos) return std::nullopt;
    held = (held << 5 | static_cast<std::uint32_t>(value)) & 0xffff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::uint8_t>(held >> bits));
  }
  return bytes;
}

std::string with_checksum(Bytes8 bytes) {
  const std::uint16_t sum = checksum(bytes);
  bytes.push_back(static_cast<std::uint8_t>(sum & 0xff));  // the low byte first
  bytes.push_back(static_cast<std::uint8_t>(sum >> 8));
  return base32(bytes);
}

struct KeyPair {
  std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> open;
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret;
  ~KeyPair() { sodium_memzero(secret.data(), secret.size()); }
};

Result<KeyPair> key_pair_of(std::string_view seed) {
  WEFT_CHECK(sodium_init() >= 0);
  const auto bytes = read_base32(seed);
  const auto bad = [](const char* why) {
    return fail(ErrorKind::invalid_input, "the key is no seed of a user's nkey (SU...): {}", why);
  };
  if (!bytes || bytes->size() != kSeedBytes) return bad("58 characters of A-Z and 2-7 are one");
  if (with_checksum({bytes->begin(), bytes->end() - 2}) != seed) return bad("its checksum is wrong");
  if ((*bytes)[0] != (kSeedPrefix | kUserPrefix >> 5) || (*bytes)[1] != (kUserPrefix & 31) << 3)
    return bad("it is of something else");
  KeyPair pair;
  crypto_sign_seed_keypair(pair.open.data(), pair.secret.data(), bytes->data() + 2);
  return pair;
}

}  // namespace

std::string make_user_seed() {
  WEFT_CHECK(sodium_init() >= 0);
  Bytes8 bytes{kSeedPrefix | kUserPrefix >> 5, (kUserPrefix & 31) << 3};
  bytes.resize(2 + crypto_sign_SEEDBYTES);
  randombytes_buf(bytes.data() + 2, crypto_sign_SEEDBYTES);
  return with_checksum(std::move(bytes));
}

Result<std::string> public_key_of(std::string_view seed) {
  WEFT_TRY(const auto pair, key_pair_of(seed));
  Bytes8 bytes{kUserPrefix};
  bytes.insert(bytes.end(), pair.open.begin(), pair.open.end());
  return with_checksum(std::move(bytes));
}

Result<Signature> sign_with(std::string_view seed, std::string_view text) {
  WEFT_TRY(const auto pair, key_pair_of(seed));
  Signature signature;
  static_assert(std::tuple_size_v<Signature> == crypto_sign_BYTES);
  crypto_sign_detached(signature.data(), nullptr, reinterpret_cast<const unsigned char*>(text.data()),
                       text.size(), pair.secret.data());
  return signature;
}

}  // namespace weft::bus
