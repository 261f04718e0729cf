#include "probes/packet/pattern.hpp"

#include <gtest/gtest.h>

#include <set>

namespace weft::packet {
namespace {

TEST(Pattern, IsTheSameWhateverPartOfItIsWritten) {
  std::vector<std::byte> whole(1000);
  fill_pattern(whole, 17, 4096);
  for (const std::size_t from : {0u, 1u, 7u, 8u, 13u})
    for (const std::size_t size : {0u, 1u, 6u, 8u, 9u, 100u}) {
      std::vector<std::byte> part(size);
      fill_pattern(part, 17, 4096 + from);
      EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(from)))
          << size << " bytes from " << from;
    }
}

TEST(Pattern, IsFixedByItsDefinition) {
  // Worked out by hand from the formula of pattern_word, with arithmetic of arbitrary size.
  EXPECT_EQ(pattern_word(0, 0), 0xAA1EDC39F66D14A9U);
  EXPECT_EQ(pattern_word(1, 5), 0x0293C13BB60128F2U);
  EXPECT_EQ(pattern_byte(1, 5 * 8 + 2), 0x0293C13BB60128F2U >> 16 & 0xFF);
}

TEST(Pattern, NeighbouringWordsAndSeedsShareNothing) {
  std::set<std::uint64_t> words;
  for (std::uint64_t seed = 0; seed < 32; ++seed)
    for (std::uint64_t index = 0; index < 4096; ++index) words.insert(pattern_word(seed, index));
  EXPECT_EQ(words.size(), 32u * 4096);
}

TEST(Pattern, ShiftedOrSwappedMemoryDiffers) {
  std::vector<std::byte> memory(4096);
  fill_pattern(memory, 2, 8);  // what belongs one word further on
  EXPECT_GT(verify_pattern(memory, 2, 0).bytes, 4000u);
}

TEST(Pattern, DifferingBytesAreCountedAndTheFirstAreListed) {
  std::vector<std::byte> memory(10'001);
  fill_pattern(memory, 9, 3);
  EXPECT_EQ(verify_pattern(memory, 9, 3), PatternDifference{});
  std::vector<std::uint64_t> flips;
  for (std::uint64_t at = 0; at < 10'001; at += 1000) {
    memory[at] ^= std::byte{0x80};
    flips.push_back(at);
  }
  const auto difference = verify_pattern(memory, 9, 3);
  EXPECT_EQ(difference.bytes, 11u);
  flips.resize(kFirstDifferences);
  EXPECT_EQ(difference.first, flips);
}

TEST(Pattern, BytesOfAWordAreCountedAndPlaced) {
  EXPECT_EQ(differing_bytes(0), 0u);
  for (unsigned byte = 0; byte < 8; ++byte)
    for (unsigned bit = 0; bit < 8; ++bit) {
      const auto one = std::uint64_t{1} << (byte * 8 + bit);
      EXPECT_EQ(differing_bytes(one), 1u);
      EXPECT_EQ(first_differing_byte(one), byte);
    }
  EXPECT_EQ(differing_bytes(0xFF00'0001'8000'1000U), 4u);
  EXPECT_EQ(differing_bytes(~std::uint64_t{0}), 8u);
}

}  // namespace
}  // namespace weft::packet
