#include "balancer/blacklist/ledger.hpp"

#include <algorithm>
#include <array>

namespace weft::blacklist {
namespace {

constexpr std::array<std::string_view, 4> kStates{"proposed", "active", "probation", "released"};
/// Of a gap that only the wall clock measured.
constexpr Seconds kMaxByWallClock = std::chrono::minutes(10);
constexpr std::size_t kMaxLines = 20;  // of evidence: whoever reads a reason wants its first lines

/// No character of UTF-8 is cut.
std::string first_bytes(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) --most;
  return text.substr(0, most);
}

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

std::vector<std::string> kept_lines(std::vector<std::string> lines) {
  if (lines.size() > kMaxLines) lines.resize(kMaxLines);
  for (std::string& line : lines) line = first_bytes(line, kMaxText);
  return lines;
}

Seconds passed(const std::optional<Now>& before, const Now& now) {
  if (!before) return Seconds(0);
  if (before->boot == now.boot && !now.boot.empty()) return std::max(now.uptime - before->uptime, Seconds(0));
  return std::clamp(now.wall - before->wall, Seconds(0), kMaxByWallClock);
}

const Entry* find(const Ledger& ledger, EntryId id) { return entry_in(ledger, id); }
Entry* find(Ledger& ledger, EntryId id) { return entry_in(ledger, id); }

}  // namespace weft::blacklist
