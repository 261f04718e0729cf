// Whatever the bytes: an error, or cables of which a fabric is made, or an error that says why not; what is
// read may be shown as it is.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "probes/discover/found_fabric.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/files/cable_records.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto list = files::parse_cable_record(text, {"fuzz", "leaf1"});
  if (!list) return is_harmless(list.error().message) ? 0 : (std::abort(), 0);
  for (const auto& cable : list->cables)
    for (const auto* end : {&cable.a, &cable.b})
      if (!is_harmless(end->node) || !is_harmless(end->port)) std::abort();
  discover::FoundSources sources;
  sources.listed = discover::listed_cables(std::span(&*list, 1), {});
  const auto found = found_fabric(sources);
  if (found &&
      !files::parse_fabric_file(files::write_fabric_file(found->fabric, {}, found->addresses), "written"))
    std::abort();
  return 0;
}
