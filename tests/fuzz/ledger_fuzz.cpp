// Whatever the bytes: an error, or an entry (or the rest of a ledger) that is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "balancer/blacklist/ledger_json.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::blacklist;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto read = parse_entry_line(text, "fuzz")) {
    const auto written = entry_line(read->fabric, read->entry);
    const auto again = parse_entry_line(written, "written");
    if (!again || again->entry != read->entry) std::abort();
  }
  if (const auto read = parse_ledger_line(text, "fuzz")) {
    const auto again = parse_ledger_line(ledger_line(*read), "written");
    if (!again || *again != *read) std::abort();
  }
  return 0;
}
