// What time and clean evidence make of an entry, by the ledger's own time. Pure.
#pragma once

#include <optional>
#include <string>

#include "balancer/blacklist/policy.hpp"

namespace weft::blacklist {

/// How long an entry must be clean.
Seconds needed_clean(const Policy& policy, const Entry& entry);

/// Where only the time of a ledger is told, nothing but what was added for a time ends.
enum class Ends : std::uint8_t { by_time, by_evidence };

struct Turn {
  EntryState to = EntryState::released;
  EventKind kind = EventKind::released;
  std::string why;
  bool is_put_back = false;  // into use, at this moment
};

/// What becomes of a live entry at that time. Absent: it stays as it is.
std::optional<Turn> turn_of(const Policy& policy, const Entry& entry, Seconds time, Ends ends);

/// Whether an entry whose link no probe crosses may be put back on trial: it has stood for as long as it
/// would have to be clean.
bool may_be_tried(const Policy& policy, const Entry& entry, Seconds time);

}  // namespace weft::blacklist
