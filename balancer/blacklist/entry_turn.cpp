#include "balancer/blacklist/entry_turn.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/base/readable.hpp"

namespace weft::blacklist {

std::optional<Turn> turn_of(const Policy& policy, const Entry& entry, Seconds time, Ends ends) {
  const bool is_over = entry.ends && time >= *entry.ends;
  if (is_over && entry.state == EntryState::active)
    return Turn{EntryState::probation, EventKind::expired, "its time is over", true};
  if (is_over && entry.state == EntryState::proposed)
    return Turn{EntryState::released, EventKind::expired, "its time was over before it was applied"};
  if (ends == Ends::by_time || entry.ends || entry.clean < needed_clean(policy, entry)) return std::nullopt;
  if (entry.state == EntryState::active)
    return Turn{EntryState::probation, EventKind::probation,
                fmt::format("clean for {}", readable(entry.clean))};
  return Turn{EntryState::released, EventKind::released,
              entry.state == EntryState::probation ? "clean on probation" : "not confirmed"};
}

bool may_be_tried(const Policy& policy, const Entry& entry, Seconds time) {
  return entry.state == EntryState::active && time - entry.since >= needed_clean(policy, entry);
}

Seconds needed_clean(const Policy& policy, const Entry& entry) {
  Seconds needed = policy.clean;
  for (std::uint32_t i = 1; i < entry.offences && needed < policy.longest_clean; ++i) needed *= 2;
  return std::min(needed, policy.longest_clean);
}

}  // namespace weft::blacklist
