// Decoded<T>: what a decoder read and how many bytes of the input it took; the next header starts there.
#pragma once

#include <cstddef>

#include "topology/base/bytes.hpp"
#include "topology/base/result.hpp"

namespace weft {

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
