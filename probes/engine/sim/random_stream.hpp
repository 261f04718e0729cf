// RandomStream: random numbers of one purpose, named by a key. The same key gives the same numbers whatever
// else was drawn before, so the simulator's answers do not depend on the order of its calls.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>

#include "topology/base/splitmix.hpp"

namespace weft::sim {

/// SplitMix64 (Steele, Lea and Flood 2014): a counter through mix_bits. Meets uniform_random_bit_generator.
class RandomStream {
 public:
  using result_type = std::uint64_t;

  explicit RandomStream(std::initializer_list<std::uint64_t> key) {
    for (const auto part : key) state_ = mix_bits(state_ + kSplitMixStep) ^ part;
  }
  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() { return mix_bits(state_ += kSplitMixStep); }

  /// 0 <= x < 1.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// Mean 1.
  double exponential();
  /// Mean 0, standard deviation 1.
  double normal();
  /// How many of `trials` succeed, each with `probability`.
  std::uint64_t binomial(std::uint64_t trials, double probability);

 private:
  std::uint64_t rare(std::uint64_t trials, double probability);
  std::uint64_t common(std::uint64_t trials, double probability);

  std::uint64_t state_ = 0;
};

}  // namespace weft::sim
