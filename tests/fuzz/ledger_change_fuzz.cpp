// Whatever the bytes: an error, or a change of a ledger that is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/blacklist/ledger_change.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::blacklist;
  const auto read = parse_change({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!read) return 0;
  const auto again = parse_change(change_text(*read), "written");
  if (!again || *again != *read) std::abort();
  static_cast<void>(with_change(read->ledger, *again));
  return 0;
}
