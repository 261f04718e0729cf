// What each thread of a grid does to fill GPU memory with the pattern and to verify it. Ordinary functions,
// compiled for the device by nvcc (cuda_module.cu) and for the host by any compiler, so that the arithmetic
// of shares, tails and counts is tested without a GPU. Standard library only.
//
// Made for the memory's pace: 16 bytes a load or store, neighbouring threads at neighbouring addresses, and
// four loads in flight a thread before the first is looked at.
#pragma once

#include "probes/packet/pattern_word.hpp"

namespace weft::gpu {

/// What one access of a thread moves.
struct alignas(16) Vector {
  std::uint64_t low;
  std::uint64_t high;
};

/// Memory and the part of the pattern that belongs there. `memory` is aligned to 16 bytes and `offset` is a
/// multiple of 16; `bytes` may be anything.
struct Stretch {
  std::byte* memory = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// Which thread of how many.
struct Place {
  std::uint64_t block = 0;
  std::uint64_t blocks = 1;
  std::uint32_t thread = 0;
  std::uint32_t threads = 1;  // of a block
};

inline constexpr unsigned kInFlight = 4;

/// What one thread found; `first` is an offset in the memory.
struct Mismatch {
  std::uint64_t bytes = 0;
  std::uint64_t first = ~std::uint64_t{0};
};

WEFT_ON_BOTH inline Vector expected_vector(const Stretch& stretch, std::uint64_t index) {
  const std::uint64_t word = stretch.offset / 8 + index * 2;
  return {packet::pattern_word(stretch.seed, word), packet::pattern_word(stretch.seed, word + 1)};
}

WEFT_ON_BOTH inline void note_word(Mismatch& found, std::uint64_t difference, std::uint64_t at) {
  if (difference == 0) return;
  found.bytes += packet::differing_bytes(difference);
  const auto first = at + packet::first_differing_byte(difference);
  if (first < found.first) found.first = first;
}

WEFT_ON_BOTH inline void compare(Mismatch& found, const Stretch& stretch, std::uint64_t index, Vector read) {
  const Vector expected = expected_vector(stretch, index);
  if (((read.low ^ expected.low) | (read.high ^ expected.high)) == 0) return;
  note_word(found, read.low ^ expected.low, index * 16);
  note_word(found, read.high ^ expected.high, index * 16 + 8);
}

/// The bytes behind the last whole vector, fewer than 16: one a thread of the first block.
WEFT_ON_BOTH inline bool has_tail_byte(const Stretch& stretch, const Place& place) {
  return place.block == 0 && place.thread < stretch.bytes % 16;
}

/// Calls `visit(first index, step, count)` for each tile of this thread: `count` vectors (kInFlight, fewer in
/// the last tile), `step` apart. A block takes tiles of kInFlight * threads vectors, blocks in turn.
template <class Visit>
WEFT_ON_BOTH void for_each_tile(const Stretch& stretch, const Place& place, Visit visit) {
  const std::uint64_t vectors = stretch.bytes / 16;
  const std::uint64_t tile = std::uint64_t{place.threads} * kInFlight;
  for (std::uint64_t start = place.block * tile; start < vectors; start += place.blocks * tile) {
    const std::uint64_t first = start + place.thread;
    unsigned count = 0;
    while (count < kInFlight && first + count * std::uint64_t{place.threads} < vectors) ++count;
    visit(first, std::uint64_t{place.threads}, count);
  }
}

/// `store(Vector*, Vector)` writes one vector.
template <class Store>
WEFT_ON_BOTH void fill_share(const Stretch& stretch, const Place& place, Store store) {
  auto* out = reinterpret_cast<Vector*>(stretch.memory);
  for_each_tile(stretch, place, [&](std::uint64_t first, std::uint64_t step, unsigned count) {
    for (unsigned k = 0; k < count; ++k)
      store(out + first + k * step, expected_vector(stretch, first + k * step));
  });
  if (!has_tail_byte(stretch, place)) return;
  const auto at = stretch.bytes / 16 * 16 + place.thread;
  stretch.memory[at] = std::byte{packet::pattern_byte(stretch.seed, stretch.offset + at)};
}

/// `load(const Vector*)` reads one vector.
template <class Load>
WEFT_ON_BOTH Mismatch verify_share(const Stretch& stretch, const Place& place, Load load) {
  Mismatch found;
  const auto* in = reinterpret_cast<const Vector*>(stretch.memory);
  for_each_tile(stretch, place, [&](std::uint64_t first, std::uint64_t step, unsigned count) {
    Vector read[kInFlight] = {};
    if (count == kInFlight) {
      for (unsigned k = 0; k < kInFlight; ++k) read[k] = load(in + first + k * step);
      for (unsigned k = 0; k < kInFlight; ++k) compare(found, stretch, first + k * step, read[k]);
    } else {
      for (unsigned k = 0; k < count; ++k)
        compare(found, stretch, first + k * step, load(in + first + k * step));
    }
  });
  if (!has_tail_byte(stretch, place)) return found;
  const auto at = stretch.bytes / 16 * 16 + place.thread;
  const auto expected = packet::pattern_byte(stretch.seed, stretch.offset + at);
  note_word(found, std::uint64_t{static_cast<std::uint8_t>(stretch.memory[at])} ^ expected, at);
  return found;
}

}  // namespace weft::gpu
