// Whatever the bytes: an error, or a path map that is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "topology/files/path_map_json.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const weft::Fabric fabric = *weft::make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1});
  const auto write = [&](const weft::files::PathMapDocument& document) {
    return weft::files::path_map_json(fabric, document.map, {}, nullptr,
                                      document.fields ? &*document.fields : nullptr);
  };
  const auto read =
      weft::files::parse_path_map_document(fabric, {reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!read) return 0;
  const auto written = write(*read);
  const auto again = weft::files::parse_path_map_document(fabric, written, "written");
  if (!again || write(*again) != written) std::abort();
  return 0;
}
