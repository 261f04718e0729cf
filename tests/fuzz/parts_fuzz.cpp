// Whatever comes in as parts is joined or dropped; and what is cut comes back whole.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "collectors/bus/parts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  weft::bus::PartJoiner joiner({.message = 1 << 16, .of_sender = 1 << 17, .in_all = 1 << 18});
  if (const auto joined = joiner.add("a", bytes); joined && joined->size() > bytes.size()) std::abort();
  std::optional<std::string> whole;
  for (const std::string& part : weft::bus::cut_into_parts(bytes, 3, 20)) whole = joiner.add("b", part);
  if (size <= 1 << 16 && whole != bytes) std::abort();
  return 0;
}
