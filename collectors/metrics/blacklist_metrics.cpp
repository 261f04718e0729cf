#include <algorithm>
#include <array>

#include "collectors/metrics/families.hpp"
#include "collectors/metrics/metrics.hpp"

namespace weft::metrics {
namespace {

using blacklist::Entry;
using blacklist::EntryState;

double seconds(UtcTime time) { return static_cast<double>(time.time_since_epoch().count()); }

void put_entries(Families& all, const blacklist::Ledger& ledger) {
  constexpr std::array kStates{EntryState::proposed, EntryState::active, EntryState::probation};
  auto entries = all.gauge("weft_blacklist_entries", "Entries that are not released.");
  for (const EntryState state : kStates)
    entries.add(static_cast<double>(std::ranges::count(ledger.entries, state, &Entry::state)),
                {{"state", std::string(to_string(state))}});
  all.gauge("weft_blacklist_held_back_entries", "Proposed ones that a cap or the breaker holds back.")
      .add(static_cast<double>(std::ranges::count_if(ledger.entries, [](const Entry& entry) {
        return entry.state == EntryState::proposed && entry.held_back;
      })));
  all.gauge("weft_blacklist_held_entries", "Proposed ones that wait for an approval after they were held.")
      .add(static_cast<double>(std::ranges::count_if(ledger.entries, [](const Entry& entry) {
        return entry.state == EntryState::proposed && entry.held;
      })));
}

void put_target(Families& all, const blacklist::Ledger& ledger, const TargetFigures& target) {
  const Labels labels{{"target", target.target}};
  std::size_t marks = 0, not_known = 0;
  for (const Entry& entry : ledger.entries)
    for (const blacklist::Mark& mark : entry.marks) {
      if (mark.target != target.target) continue;
      ++marks, not_known += mark.is_open() ? 1 : 0;
    }
  const auto put = [&](const char* name, const char* help, double value) {
    all.gauge(name, help).add(value, labels);
  };
  put("weft_blacklist_marks", "Marks of ours at the target, by the ledger.", static_cast<double>(marks));
  put("weft_blacklist_unknown_marks", "Of these, those of which it is not known whether they stand.",
      static_cast<double>(not_known));
  put("weft_blacklist_pending_changes", "Changes that are still to be made at the target.",
      static_cast<double>(target.pending));
  put("weft_blacklist_left_alone",
      "Objects that are wanted out of use, and are of others, absent or stopped by a cap.",
      static_cast<double>(target.left_alone));
  put("weft_blacklist_orphans", "Marks of ours at the target that the ledger does not know.",
      static_cast<double>(target.orphans));
  put("weft_blacklist_sync_timestamp_seconds", "When the target was last looked at.", seconds(target.at));
}

}  // namespace

std::string metrics_text(const blacklist::Ledger& ledger, const std::optional<TargetFigures>& target) {
  Families all(ledger.fabric);
  put_entries(all, ledger);
  all.gauge("weft_blacklist_breaker", "1: nothing new is applied, until weft blacklist resume.")
      .add(ledger.breaker ? 1 : 0);
  if (ledger.told_until != UtcTime{})
    all.gauge("weft_blacklist_evidence_timestamp_seconds", "The end of the newest run that it heard of.")
        .add(seconds(ledger.told_until));
  if (target) put_target(all, ledger, *target);
  return std::move(all).text();
}

}  // namespace weft::metrics
