// Whatever the bytes: an error, or a fabric that is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "topology/files/fabric_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = weft::files::parse_fabric_file(text, "fuzz");
  if (!file || file->fabric.link_count() > 1000 || file->fabric.node_count() > 1000) return 0;
  const auto written = weft::files::write_fabric_file(file->fabric, file->lab, file->addresses);
  const auto again = weft::files::parse_fabric_file(written, "written");
  if (!again || weft::files::write_fabric_file(again->fabric, again->lab, again->addresses) != written)
    std::abort();
  return 0;
}
