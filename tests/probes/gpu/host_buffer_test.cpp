#include "probes/gpu/host_buffer.hpp"

#include <gtest/gtest.h>

namespace weft::gpu {
namespace {

constexpr Bytes kSize(3'000'000);

TEST(HostBuffer, HoldsThePatternItWasFilledWith) {
  const auto buffer = HostBuffer::allocate(kSize);
  ASSERT_TRUE(buffer) << buffer.error().message;
  const packet::BufferRange range{100, 2'000'001};
  ASSERT_TRUE((*buffer)->fill(range, 7, 5));
  EXPECT_EQ((*buffer)->verify(range, 7, 5)->bytes, 0u);
  (*buffer)->memory()[100 + 77] ^= std::byte{4};
  const auto difference = (*buffer)->verify(range, 7, 5);
  EXPECT_EQ(difference->bytes, 1u);
  EXPECT_EQ(difference->first, std::vector<std::uint64_t>{77});
}

TEST(HostBuffer, OffersTheOneMemoryThatItIs) {
  const auto buffer = HostBuffer::allocate(kSize);
  const auto path = (*buffer)->path();
  EXPECT_TRUE(path == packet::MemoryPath::host || path == packet::MemoryPath::host_huge_pages)
      << to_string(path);
  EXPECT_EQ((*buffer)->paths(), std::vector{path});
  const auto reach = (*buffer)->take(path);
  ASSERT_TRUE(reach);
  EXPECT_EQ(reach->address, (*buffer)->memory().data());
  EXPECT_FALSE((*buffer)->take(packet::MemoryPath::dma_buf));
}

TEST(HostBuffer, SmallMemoryTakesNoHugePage) {
  EXPECT_EQ((*HostBuffer::allocate(Bytes(4096)))->path(), packet::MemoryPath::host);
}

TEST(HostBuffer, WhatDoesNotFitIsRefused) {
  EXPECT_FALSE(HostBuffer::allocate(Bytes(0)));
  EXPECT_FALSE(HostBuffer::allocate(Bytes(-5)));
  EXPECT_FALSE(HostBuffer::allocate(Bytes(std::int64_t{1} << 60)));
  const auto buffer = HostBuffer::allocate(Bytes(4096));
  EXPECT_TRUE((*buffer)->fill({0, 4096}, 1, 0));
  EXPECT_FALSE((*buffer)->fill({1, 4096}, 1, 0));
  EXPECT_FALSE((*buffer)->verify({~std::uint64_t{0}, 2}, 1, 0));
}

}  // namespace
}  // namespace weft::gpu
