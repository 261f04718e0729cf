// What happens to a ledger, as its history keeps it and people read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "balancer/blacklist/ledger.hpp"

namespace weft::blacklist {

enum class EventKind : std::uint8_t {
  proposed,
  held_back,
  activated,
  probation,
  relapsed,
  released,
  expired,
  held,
  approved,
  breaker,
  resumed,
  refused,      // a command or evidence that changes nothing, and why
  passed_over,  // of a run, what newer ones had told
  clock_set,    // back: runs from now on count again
  // At a target, told by whoever applies:
  applied,      // a mark stands there
  taken_off,    // it stands there no more
  not_applied,  // and why
};
std::string_view to_string(EventKind kind);
std::optional<EventKind> parse_event_kind(std::string_view text);

struct LedgerEvent {
  EventKind kind = EventKind::proposed;
  std::optional<EntryId> entry{};
  std::string text{};    // what a person reads
  std::string author{};  // weft, or who gave the command
  friend bool operator==(const LedgerEvent&, const LedgerEvent&) = default;
};

}  // namespace weft::blacklist
