// Any text as a kernel log: offences are few, counted, and may be shown.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "topology/base/outside_text.hpp"
#include "topology/host/kernel_log.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto offences = weft::host::offences_in({reinterpret_cast<const char*>(data), size});
  if (offences.size() > 128) std::abort();
  for (const auto& offence : offences)
    if (offence.count == 0 || !weft::is_harmless(offence.last)) std::abort();
  return 0;
}
