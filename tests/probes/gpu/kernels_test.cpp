#include "probes/gpu/kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "probes/packet/pattern.hpp"

namespace weft::gpu {
namespace {

struct Grid {
  std::uint64_t blocks;
  std::uint32_t threads;
};
constexpr Grid kGrids[] = {{1, 1}, {1, 32}, {3, 32}, {7, 5}, {64, 256}};

/// Memory aligned as a GPU's, with a margin behind it that no kernel may touch.
struct Memory {
  std::vector<Vector> vectors;
  std::size_t size;
  explicit Memory(std::size_t bytes) : vectors(bytes / 16 + 3), size(bytes) {
    std::memset(vectors.data(), 0x5A, vectors.size() * 16);
  }
  std::span<std::byte> bytes() { return {reinterpret_cast<std::byte*>(vectors.data()), size}; }
  Stretch stretch(std::uint64_t seed, std::uint64_t offset) { return {bytes().data(), size, seed, offset}; }
};

template <class Run>
void for_each_thread(const Grid& grid, Run run) {
  for (std::uint64_t block = 0; block < grid.blocks; ++block)
    for (std::uint32_t thread = 0; thread < grid.threads; ++thread)
      run(Place{block, grid.blocks, thread, grid.threads});
}

Mismatch verify(const Grid& grid, const Stretch& stretch) {
  Mismatch all;
  for_each_thread(grid, [&](const Place& place) {
    const Mismatch found = verify_share(stretch, place, [](const Vector* from) { return *from; });
    all.bytes += found.bytes;
    all.first = std::min(all.first, found.first);
  });
  return all;
}

TEST(Kernels, FillWhatTheHostFillsOnGridsOfAnyShape) {
  for (const std::size_t size : {1u, 15u, 16u, 17u, 255u, 4096u, 70'001u})
    for (const Grid& grid : kGrids) {
      if (grid.threads < size % 16) continue;  // the tail needs a thread a byte
      Memory memory(size);
      for_each_thread(grid, [&](const Place& place) {
        fill_share(memory.stretch(11, 1 << 12), place, [](Vector* to, Vector value) { *to = value; });
      });
      EXPECT_EQ(packet::verify_pattern(memory.bytes(), 11, 1 << 12).bytes, 0u)
          << size << " on " << grid.blocks;
      const auto* behind = memory.bytes().data() + size;
      EXPECT_TRUE(std::all_of(behind, behind + 16, [](std::byte b) { return b == std::byte{0x5A}; }));
    }
}

TEST(Kernels, StoreEveryVectorOnce) {
  Memory memory(70'016);
  std::size_t stores = 0;
  for_each_thread({7, 32}, [&](const Place& place) {
    fill_share(memory.stretch(1, 0), place, [&](Vector*, Vector) { ++stores; });
  });
  EXPECT_EQ(stores, 70'016u / 16);
}

TEST(Kernels, CountWhatTheHostCounts) {
  for (const Grid& grid : {Grid{3, 32}, Grid{64, 256}}) {
    Memory memory(70'005);
    packet::fill_pattern(memory.bytes(), 3, 64);
    EXPECT_EQ(verify(grid, memory.stretch(3, 64)).bytes, 0u);
    for (const std::size_t at : {70'004u, 69'999u, 4096u, 4097u, 513u}) memory.bytes()[at] ^= std::byte{1};
    const Mismatch found = verify(grid, memory.stretch(3, 64));
    EXPECT_EQ(found.bytes, 5u);
    EXPECT_EQ(found.first, 513u);
    const auto other_seed = verify(grid, memory.stretch(4, 64));
    EXPECT_EQ(other_seed.bytes, packet::verify_pattern(memory.bytes(), 4, 64).bytes);
  }
}

}  // namespace
}  // namespace weft::gpu
