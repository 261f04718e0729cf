// A credential file of any bytes is read or refused, what is read comes back, and no error quotes its key.
#include <cstdint>
#include <string_view>

#include "collectors/bus/bus_file.hpp"
#include "topology/base/check.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = weft::bus::parse_bus_file(text, "k.json");
  if (!file) {
    WEFT_CHECK(weft::is_harmless(file.error().message));
    return 0;
  }
  WEFT_CHECK(weft::bus::parse_bus_file(weft::bus::bus_file_text(*file), "k.json") == *file);
  return 0;
}
