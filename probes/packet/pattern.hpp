// The pattern of a test transfer: a function of a seed and an offset, so that either end can write or check
// any part of it without the other. Fills and verifies memory of the host; CUDA kernels do the same with the
// same words (probes/gpu/kernels.hpp). Pure; needs only the standard library, so that a GPU machine with
// nothing but a compiler builds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "probes/packet/pattern_word.hpp"

namespace weft::packet {

/// How memory differs from the pattern it should hold.
struct PatternDifference {
  std::uint64_t bytes = 0;           // that differ
  std::vector<std::uint64_t> first;  // the lowest offsets of these in the memory, at most kFirstDifferences
  friend bool operator==(const PatternDifference&, const PatternDifference&) = default;
};
inline constexpr std::size_t kFirstDifferences = 8;

/// Writes the pattern from `offset` on; `memory` may stand anywhere and have any size.
void fill_pattern(std::span<std::byte> memory, std::uint64_t seed, std::uint64_t offset);
/// Compares `memory` with the pattern from `offset` on.
PatternDifference verify_pattern(std::span<const std::byte> memory, std::uint64_t seed, std::uint64_t offset);

}  // namespace weft::packet
