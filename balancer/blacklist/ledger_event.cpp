#include "balancer/blacklist/ledger_event.hpp"

#include <algorithm>
#include <array>

namespace weft::blacklist {
namespace {

constexpr auto kEvents = std::to_array<std::string_view>(
    {"proposed", "held back", "activated", "probation", "relapsed", "released", "expired", "held", "approved",
     "breaker", "resumed", "refused", "passed over", "clock set", "applied", "taken off", "not applied"});

}  // namespace

std::string_view to_string(EventKind kind) { return kEvents[static_cast<std::size_t>(kind)]; }

std::optional<EventKind> parse_event_kind(std::string_view text) {
  const auto found = std::ranges::find(kEvents, text);
  if (found == kEvents.end()) return std::nullopt;
  return static_cast<EventKind>(found - kEvents.begin());
}

}  // namespace weft::blacklist
