#include "topology/findings/repair.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weft {
namespace {

constexpr std::array<std::string_view, kRepairCauses> kNames{
    "dirty_connector", "damaged_fibre", "weak_transmitter", "bad_module", "shared_component"};

}  // namespace

std::string_view to_string(RepairCause cause) { return kNames[static_cast<std::size_t>(cause)]; }

std::optional<RepairCause> parse_repair_cause(std::string_view text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<RepairCause>(found - kNames.begin());
}

std::string repair_text(RepairCause cause, std::string_view port) {
  switch (cause) {
    case RepairCause::dirty_connector:
      return fmt::format("clean the connector at {}", port);
    case RepairCause::damaged_fibre:
      return "replace the cable or its fibre";
    case RepairCause::weak_transmitter:
    case RepairCause::bad_module:
      return fmt::format("replace the module at {}", port);
    case RepairCause::shared_component:
      return fmt::format("look at what {} shares with the ports beside it (module, breakout, line card)",
                         port);
  }
  return "";
}

}  // namespace weft
