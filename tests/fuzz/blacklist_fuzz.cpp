// Whatever the bytes: an error, or entries that are written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/export/jsonl.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto entries = weft::blacklist::parse_blacklist({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!entries) return 0;
  const auto written = weft::exports::blacklist_jsonl(*entries);
  const auto again = weft::blacklist::parse_blacklist(written, "written");
  if (!again || weft::exports::blacklist_jsonl(*again) != written) std::abort();
  return 0;
}
