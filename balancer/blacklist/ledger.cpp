#include "balancer/blacklist/ledger.hpp"

#include <algorithm>
#include <array>

namespace weft::blacklist {
namespace {

constexpr std::array<std::string_view, 4> kStates{"proposed", "active", "probation", "released"};
/// Of a gap that only the wall clock measured.
constexpr Seconds kMaxByWallClock = std::chrono::minutes(10);
/// Of one that is forgotten the wall clock counts once more.
constexpr std::size_t kMaxBoots = 32;

template <class AnyLedger>
auto* entry_in(AnyLedger& ledger, EntryId id) {
  const auto found = std::ranges::lower_bound(ledger.entries, id, {}, &Entry::id);
  return found != ledger.entries.end() && found->id == id ? &*found : nullptr;
}

}  // namespace

std::string_view to_string(EntryState state) { return kStates[static_cast<std::size_t>(state)]; }

std::optional<EntryState> parse_entry_state(std::string_view text) {
  const auto found = std::ranges::find(kStates, text);
  if (found == kStates.end()) return std::nullopt;
  return static_cast<EntryState>(found - kStates.begin());
}

void count_time(Ledger& ledger, const Now& now) {
  if (ledger.boots.empty() && ledger.last)  // a ledger of a version that knew one machine
    ledger.boots.push_back({ledger.last->boot, ledger.last->uptime, ledger.time});
  const auto known =
      now.boot.empty() ? ledger.boots.end() : std::ranges::find(ledger.boots, now.boot, &BootStep::boot);
  if (known != ledger.boots.end()) {
    ledger.time = std::max(ledger.time, known->time + std::max(now.uptime - known->uptime, Seconds(0)));
    ledger.boots.erase(known);
  } else if (ledger.last) {
    ledger.time += std::clamp(now.wall - ledger.last->wall, Seconds(0), kMaxByWallClock);
  }
  ledger.last = now;
  if (ledger.boots.size() >= kMaxBoots) ledger.boots.erase(ledger.boots.begin());
  ledger.boots.push_back({now.boot, now.uptime, ledger.time});
}

std::optional<UtcTime> set_back(Ledger& ledger, UtcTime newest, UtcTime now) {
  auto ahead = ledger.told_until;
  for (Entry& entry : ledger.entries) {
    ahead = std::max({ahead, entry.told_until, entry.put_back.value_or(UtcTime{})});
    if (entry.told_until > newest) entry.told_until = now;
    if (entry.put_back > newest) entry.put_back = now;
    if (entry.last_seen > newest) entry.last_seen = now;
    if (entry.first_sure && entry.first_sure->until > newest) entry.first_sure.reset();
  }
  std::erase_if(ledger.taken, [&](UtcTime run) { return run > newest; });
  if (ahead <= newest) return std::nullopt;
  ledger.told_until = std::min(ledger.told_until, now);
  return ahead;
}

const Entry* find(const Ledger& ledger, EntryId id) { return entry_in(ledger, id); }
Entry* find(Ledger& ledger, EntryId id) { return entry_in(ledger, id); }

}  // namespace weft::blacklist
