// SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), a keyed hash of short
// messages, taken in words of 8 bytes with the low byte first. A state may be kept and gone on from: what
// several messages begin with is hashed once. Pure.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "probes/packet/run_secrets.hpp"
#include "topology/base/bytes.hpp"

namespace weft::packet {

class SipHash {
 public:
  explicit SipHash(const RunKey& key) {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, key.data(), sizeof low);
    std::memcpy(&high, key.data() + sizeof low, sizeof high);
    // "somepseudorandomlygeneratedbytes", as the paper has it.
    v0_ = low ^ 0x736F6D6570736575;
    v1_ = high ^ 0x646F72616E646F6D;
    v2_ = low ^ 0x6C7967656E657261;
    v3_ = high ^ 0x7465646279746573;
  }

  void add(std::uint64_t word) {
    v3_ ^= word;
    round();
    round();
    v0_ ^= word;
  }

  /// The hash. `last` is the bytes behind the whole words, and in its highest byte how many bytes the message
  /// has, modulo 256.
  std::uint64_t end(std::uint64_t last) {
    add(last);
    v2_ ^= 0xFF;
    round(), round(), round(), round();
    return v0_ ^ v1_ ^ v2_ ^ v3_;
  }

 private:
  void round() {
    v0_ += v1_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v0_ = std::rotl(v0_, 32);
    v2_ += v3_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ += v3_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v2_ += v1_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_, v1_, v2_, v3_;
};

/// Of any message.
inline std::uint64_t siphash(ByteSpan message, const RunKey& key) {
  static_assert(std::endian::native == std::endian::little);
  SipHash hash(key);
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  std::uint64_t word = 0;
  std::size_t at = 0;
  for (; at + kWord <= message.size(); at += kWord) {
    std::memcpy(&word, message.data() + at, kWord);
    hash.add(word);
  }
  word = std::uint64_t{message.size()} << 56;
  for (std::size_t i = at; i < message.size(); ++i)
    word |= std::to_integer<std::uint64_t>(message[i]) << 8 * (i - at);
  return hash.end(word);
}

}  // namespace weft::packet
