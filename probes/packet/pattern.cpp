#include "probes/packet/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace weft::packet {
namespace {

static_assert(std::endian::native == std::endian::little, "words are copied as they stand");

constexpr std::size_t kWord = sizeof(std::uint64_t);

/// The words that cover memory from `offset` on: single bytes up to the first whole word and behind the last.
struct Cut {
  std::size_t head;
  std::size_t words;
  Cut(std::size_t size, std::uint64_t offset)
      : head(std::min<std::size_t>((kWord - offset % kWord) % kWord, size)), words((size - head) / kWord) {}
};

void note(PatternDifference& difference, std::uint64_t at) {
  ++difference.bytes;
  if (difference.first.size() < kFirstDifferences) difference.first.push_back(at);
}

void compare_bytes(std::span<const std::byte> memory, std::size_t from, std::size_t to, std::uint64_t seed,
                   std::uint64_t offset, PatternDifference& difference) {
  for (std::size_t i = from; i < to; ++i)
    if (memory[i] != std::byte{pattern_byte(seed, offset + i)}) note(difference, i);
}

}  // namespace

void fill_pattern(std::span<std::byte> memory, std::uint64_t seed, std::uint64_t offset) {
  const Cut cut(memory.size(), offset);
  const auto tail = cut.head + cut.words * kWord;
  for (std::size_t i = 0; i < cut.head; ++i) memory[i] = std::byte{pattern_byte(seed, offset + i)};
  for (std::size_t w = 0; w < cut.words; ++w) {
    const auto word = pattern_word(seed, (offset + cut.head) / kWord + w);
    std::memcpy(memory.data() + cut.head + w * kWord, &word, kWord);
  }
  for (std::size_t i = tail; i < memory.size(); ++i) memory[i] = std::byte{pattern_byte(seed, offset + i)};
}

PatternDifference verify_pattern(std::span<const std::byte> memory, std::uint64_t seed,
                                 std::uint64_t offset) {
  PatternDifference difference;
  const Cut cut(memory.size(), offset);
  const auto tail = cut.head + cut.words * kWord;
  compare_bytes(memory, 0, cut.head, seed, offset, difference);
  for (std::size_t w = 0; w < cut.words; ++w) {
    const auto at = cut.head + w * kWord;
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + at, kWord);
    if (word != pattern_word(seed, (offset + at) / kWord))
      compare_bytes(memory, at, at + kWord, seed, offset, difference);
  }
  compare_bytes(memory, tail, memory.size(), seed, offset, difference);
  return difference;
}

}  // namespace weft::packet
