// RandomStream: random numbers of one purpose, named by a key. The same key gives the same numbers whatever
// else was drawn before, so the simulator's answers do not depend on the order of its calls.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "topology/base/splitmix.hpp"

namespace weft::sim {

class RandomStream : public SplitMix64 {
 public:
  explicit RandomStream(std::initializer_list<std::uint64_t> key) : SplitMix64(state_of(key)) {}

  /// 0 <= x < 1.
  double uniform() { return static_cast<double>((*this)() >> 11) * 0x1p-53; }
  /// Mean 1.
  double exponential();
  /// Mean 0, standard deviation 1.
  double normal();
  /// How many of `trials` succeed, each with `probability`.
  std::uint64_t binomial(std::uint64_t trials, double probability);

 private:
  static std::uint64_t state_of(std::initializer_list<std::uint64_t> key) {
    std::uint64_t state = 0;
    for (const auto part : key) state = mix_bits(state + kSplitMixStep) ^ part;
    return state;
  }
  std::uint64_t rare(std::uint64_t trials, double probability);
  std::uint64_t common(std::uint64_t trials, double probability);
};

}  // namespace weft::sim
