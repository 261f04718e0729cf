// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): a counter
// through a finaliser. Hashes and seeded random numbers that are the same everywhere.
#pragma once

#include <cstdint>
#include <limits>

namespace weft {

/// A bijection that changes about half the bits for any one changed: the finaliser.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

/// What the counter grows by: 2^64 over the golden ratio, odd.
inline constexpr std::uint64_t kSplitMixStep = 0x9E3779B97F4A7C15ull;

/// Meets uniform_random_bit_generator.
class SplitMix64 {
 public:
  using result_type = std::uint64_t;
  explicit SplitMix64(std::uint64_t state) : state_(state) {}
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() { return mix_bits(state_ += kSplitMixStep); }

 private:
  std::uint64_t state_;
};

}  // namespace weft
