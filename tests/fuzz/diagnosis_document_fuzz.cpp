// Whatever the bytes: an error, or a diagnosis that is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "topology/files/diagnosis_document.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document = weft::files::parse_diagnosis({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!document) return 0;
  const auto written = weft::files::diagnosis_json(*document);
  const auto again = weft::files::parse_diagnosis(written, "written");
  if (!again || weft::files::diagnosis_json(*again) != written) std::abort();
  return 0;
}
