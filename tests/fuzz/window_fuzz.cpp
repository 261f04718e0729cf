// Windows of standing agents: whatever decodes must encode to the same bytes.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "probes/watch/window.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto window = weft::watch::decode_window(bytes);
  if (!window) return 0;
  const auto again = weft::watch::encode_window(*window);
  if (!std::equal(again.begin(), again.end(), bytes.begin(), bytes.end())) std::abort();
  for (const auto& nic : window->nics)
    for (const auto& lost : nic.lost)
      if (lost.offset >= nic.count) std::abort();
  return 0;
}
