// Reading and writing network byte order over std::span<std::byte>. No casts, no overlays: codecs are built
// of these. The caller has checked the size; an offset past the end is a broken precondition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "topology/base/check.hpp"

#include "topology/base/result.hpp"

namespace weft {

using ByteSpan = std::span<const std::byte>;
using MutableByteSpan = std::span<std::byte>;

namespace detail {

template <std::size_t N>
std::uint64_t load_be(ByteSpan bytes, std::size_t offset) {
  WEFT_CHECK(offset + N <= bytes.size());
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < N; ++i) value = value << 8 | std::to_integer<std::uint64_t>(bytes[offset + i]);
  return value;
}

template <std::size_t N>
void store_be(MutableByteSpan bytes, std::size_t offset, std::uint64_t value) {
  WEFT_CHECK(offset + N <= bytes.size());
  for (std::size_t i = 0; i < N; ++i) bytes[offset + i] = static_cast<std::byte>(value >> (8 * (N - 1 - i)));
}

}  // namespace detail

inline std::uint8_t load_u8(ByteSpan b, std::size_t at) {
  return static_cast<std::uint8_t>(detail::load_be<1>(b, at));
}
inline std::uint16_t load_be16(ByteSpan b, std::size_t at) {
  return static_cast<std::uint16_t>(detail::load_be<2>(b, at));
}
inline std::uint32_t load_be24(ByteSpan b, std::size_t at) {
  return static_cast<std::uint32_t>(detail::load_be<3>(b, at));
}
inline std::uint32_t load_be32(ByteSpan b, std::size_t at) {
  return static_cast<std::uint32_t>(detail::load_be<4>(b, at));
}
inline std::uint64_t load_be64(ByteSpan b, std::size_t at) { return detail::load_be<8>(b, at); }

inline void store_u8(MutableByteSpan b, std::size_t at, std::uint8_t v) { detail::store_be<1>(b, at, v); }
inline void store_be16(MutableByteSpan b, std::size_t at, std::uint16_t v) { detail::store_be<2>(b, at, v); }
inline void store_be24(MutableByteSpan b, std::size_t at, std::uint32_t v) { detail::store_be<3>(b, at, v); }
inline void store_be32(MutableByteSpan b, std::size_t at, std::uint32_t v) { detail::store_be<4>(b, at, v); }
inline void store_be64(MutableByteSpan b, std::size_t at, std::uint64_t v) { detail::store_be<8>(b, at, v); }

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
