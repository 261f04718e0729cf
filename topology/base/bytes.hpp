// Reading and writing network byte order over std::span<std::byte>. No casts, no overlays: codecs are built
// of these. The caller has checked the size; an offset past the end is a broken precondition.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "topology/base/check.hpp"

#include "topology/base/result.hpp"

namespace weft {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

namespace detail {

/// A whole word of 2, 4 or 8 bytes is one load or store and a swap; three bytes go one by one.
template <class Word>
constexpr Word swapped_to_network(Word word) {
  static_assert(std::endian::native == std::endian::little);
  if constexpr (sizeof(Word) == 2) return __builtin_bswap16(word);
  if constexpr (sizeof(Word) == 4) return __builtin_bswap32(word);
  if constexpr (sizeof(Word) == 8) return __builtin_bswap64(word);
}

template <class Word>
Word load_be(ByteSpan bytes, std::size_t offset) {
  WEFT_CHECK(offset + sizeof(Word) <= bytes.size());
  Word word;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return swapped_to_network(word);
}

template <class Word>
void store_be(MutableByteSpan bytes, std::size_t offset, Word value) {
  WEFT_CHECK(offset + sizeof(Word) <= bytes.size());
  const Word word = swapped_to_network(value);
  std::memcpy(bytes.data() + offset, &word, sizeof word);
}

}  // namespace detail

inline std::uint8_t load_u8(ByteSpan b, std::size_t at) {
  WEFT_CHECK(at < b.size());
  return std::to_integer<std::uint8_t>(b[at]);
}
inline std::uint16_t load_be16(ByteSpan b, std::size_t at) { return detail::load_be<std::uint16_t>(b, at); }
inline std::uint32_t load_be24(ByteSpan b, std::size_t at) {
  return static_cast<std::uint32_t>(load_be16(b, at) << 8 | load_u8(b, at + 2));
}
inline std::uint32_t load_be32(ByteSpan b, std::size_t at) { return detail::load_be<std::uint32_t>(b, at); }
inline std::uint64_t load_be64(ByteSpan b, std::size_t at) { return detail::load_be<std::uint64_t>(b, at); }

inline void store_u8(MutableByteSpan b, std::size_t at, std::uint8_t v) {
  WEFT_CHECK(at < b.size());
  b[at] = std::byte{v};
}
inline void store_be16(MutableByteSpan b, std::size_t at, std::uint16_t v) { detail::store_be(b, at, v); }
inline void store_be24(MutableByteSpan b, std::size_t at, std::uint32_t v) {
  WEFT_CHECK(at + 3 <= b.size());
  store_be16(b, at, static_cast<std::uint16_t>(v >> 8));
  store_u8(b, at + 2, static_cast<std::uint8_t>(v));
}
inline void store_be32(MutableByteSpan b, std::size_t at, std::uint32_t v) { detail::store_be(b, at, v); }
inline void store_be64(MutableByteSpan b, std::size_t at, std::uint64_t v) { detail::store_be(b, at, v); }

/// Decoded<T>: what a decoder read and how many bytes of the input it took; the next header starts there.
template <class T>
struct Decoded {
  T header;
  std::size_t size = 0;
};

/// An error unless `bytes` holds at least `needed` bytes of a `what`.
inline Result<void> need_bytes(ByteSpan bytes, std::size_t needed, const char* what) {
  if (bytes.size() >= needed) return {};
  return fail(ErrorKind::invalid_input, "truncated {}: {} bytes of at least {}", what, bytes.size(), needed);
}

}  // namespace weft
