// Whatever the bytes: an error, or an event (a list of mutes) that is written and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "topology/files/incident_json.hpp"
#include "topology/model/clos.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft;
  static const Fabric fabric = make_clos({.leaves = 2, .spines = 2, .hosts_per_leaf = 1}).value();
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  if (const auto event = files::parse_event(text, "fuzz")) {
    const auto written = files::event_line(*event);
    const auto again = files::parse_event(written, "written");
    if (!again || files::event_line(*again) != written) std::abort();
    if (const auto here = files::event_of(fabric, *event); here && here->incident.id != event->incident.id)
      std::abort();
  }
  if (const auto mutes = files::parse_mutes(fabric, text, "fuzz")) {
    const auto again = files::parse_mutes(fabric, files::mutes_text(fabric, mutes->mutes), "written");
    if (!again || again->mutes != mutes->mutes) std::abort();
  }
  return 0;
}
