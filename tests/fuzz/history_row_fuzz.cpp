// Whatever the bytes: an error, or channels that are packed and unpacked the same.
#include <cstdint>
#include <cstdlib>

#include "collectors/store/history_row.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const ByteSpan bytes{reinterpret_cast<const std::byte*>(data), size};
  const auto channels = store::unpack_row(bytes);
  if (!channels) return 0;
  const auto again = store::unpack_row(store::pack_row(*channels));
  if (!again || *again != *channels) std::abort();
  return 0;
}
