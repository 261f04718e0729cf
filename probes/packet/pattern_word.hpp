// The words of the pattern of a test transfer (pattern.hpp), for the host and for CUDA kernels alike: what
// nvcc compiles for the device must be plain C++17. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define WEFT_ON_BOTH __host__ __device__
#else
#define WEFT_ON_BOTH
#endif

namespace weft::packet {

/// Word `index` of the pattern (8 bytes, low byte first, at offset 8 * index). A counter times the golden
/// ratio, then one round of multiply and xor-shift (as in SplitMix64, Steele et al. 2014): two
/// multiplications a word leave a GPU's arithmetic far below its memory's pace, and neighbours share no
/// bytes.
WEFT_ON_BOTH constexpr std::uint64_t pattern_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t word = (index + 1) * 0x9E3779B97F4A7C15U + seed;
  word = (word ^ word >> 32) * 0xBF58476D1CE4E5B9U;
  return word ^ word >> 29;
}

WEFT_ON_BOTH constexpr std::uint8_t pattern_byte(std::uint64_t seed, std::uint64_t offset) {
  return static_cast<std::uint8_t>(pattern_word(seed, offset / 8) >> offset % 8 * 8);
}

/// How many of the eight bytes of `difference` are not zero.
WEFT_ON_BOTH constexpr unsigned differing_bytes(std::uint64_t difference) {
  difference |= difference >> 4 & 0x0F0F0F0F0F0F0F0FU;
  difference |= difference >> 2 & 0x0303030303030303U;
  difference |= difference >> 1;
  return static_cast<unsigned>((difference & 0x0101010101010101U) * 0x0101010101010101U >> 56);
}

/// The index of the lowest byte that is not zero; `difference` is not zero.
WEFT_ON_BOTH constexpr unsigned first_differing_byte(std::uint64_t difference) {
  unsigned byte = 0;
  while ((difference >> byte * 8 & 0xFF) == 0) ++byte;
  return byte;
}

}  // namespace weft::packet
