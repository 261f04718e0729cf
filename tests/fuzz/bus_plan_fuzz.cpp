// A plan of a bus of any bytes is read or refused, what is read comes back, and the configuration made of it
// has no line that the plan wrote itself.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "collectors/bus/bus_plan.hpp"
#include "topology/base/check.hpp"
#include "topology/base/outside_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto plan = weft::bus::parse_bus_plan(text, "bus.json");
  if (!plan) {
    WEFT_CHECK(weft::is_harmless(plan.error().message));
    return 0;
  }
  WEFT_CHECK(weft::bus::parse_bus_plan(weft::bus::bus_plan_text(*plan), "bus.json") == *plan);
  const auto config = weft::bus::server_config_of(*plan, "/var/lib/weft-bus/pod1");
  // Quotation marks of the plan's own would end a name: there are only pairs of ours.
  if (config) WEFT_CHECK(std::ranges::count(*config, '"') % 2 == 0);
  return 0;
}
