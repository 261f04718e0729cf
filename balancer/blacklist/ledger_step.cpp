#include "balancer/blacklist/ledger_step.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "balancer/blacklist/admission.hpp"
#include "topology/base/readable.hpp"

namespace weft::blacklist {
namespace {

/// How long an entry must be clean.
Seconds needed_clean(const Policy& policy, const Entry& entry) {
  Seconds needed = policy.clean;
  for (std::uint32_t i = 1; i < entry.offences && needed < policy.longest_clean; ++i) needed *= 2;
  return std::min(needed, policy.longest_clean);
}

struct Turn {
  EntryState to = EntryState::released;
  EventKind kind = EventKind::released;
  std::string why;
  bool is_put_back = false;  // into use, at this moment
};

/// What becomes of a live entry at that time. Absent: it stays as it is.
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

}  // namespace

std::string words(const Entry& entry) {
  return fmt::format("{} {}", to_string(entry.subject.kind), entry.subject.name);
}

LedgerStep::LedgerStep(Ledger before, const Fabric& its_fabric, const Policy& its_policy, const Now& its_now)
    : ledger(std::move(before)),
      fabric(its_fabric),
      policy(its_policy),
      now(its_now),
      ahead(set_back(ledger, now.wall + kClocksApart, now.wall)),
      book(ledger, fabric, policy.nic_action) {
  count_time(ledger, now);
  ledger.nic_action = policy.nic_action;
  for (const auto& [id, why] : book.newly_lost())
    add_event(EventKind::refused, id, why + "; it stays as it is until it is released");
  if (ahead)
    add_event(
        EventKind::clock_set, std::nullopt,
        fmt::format("the ledger told of up to {}, and it is {}: a clock was ahead; runs from now on count",
                    weft::to_string(*ahead), weft::to_string(now.wall)));
}

void LedgerStep::add_event(EventKind kind, std::optional<EntryId> entry, std::string text,
                           std::string author) {
  events.push_back({kind, entry, std::move(text), std::move(author)});
}

void LedgerStep::change(Entry& entry, EntryState to, EventKind kind, std::string_view why,
                        std::string author) {
  entry.state = to;
  entry.since = ledger.time;
  entry.clean = Seconds(0), entry.clean_at.reset();
  entry.held_back.reset();
  entry.relapsed = false;
  if (to == EntryState::probation || to == EntryState::released) entry.ends.reset();
  if (to == EntryState::probation) entry.first_sure.reset();
  add_event(kind, entry.id, fmt::format("{}: {}", words(entry), why), std::move(author));
}

bool LedgerStep::is_automatic(const Entry& entry) const {
  const auto at = policy.automatic.find(entry.subject.kind);
  return at == policy.automatic.end() || at->second;
}

void LedgerStep::let_all_pass(Ends ends) {
  for (Entry& entry : ledger.entries)
    if (const auto turn =
            EntryBook::is_live(entry) ? turn_of(policy, entry, ledger.time, ends) : std::nullopt) {
      if (turn->is_put_back) entry.put_back = now.wall;
      change(entry, turn->to, turn->kind, turn->why);
    }
}

void LedgerStep::try_one() {
  Entry* longest = nullptr;
  for (Entry& entry : ledger.entries) {
    if (!EntryBook::is_live(entry) || entry.by_hand || !book.takes_probes_off(entry)) continue;
    if (entry.state == EntryState::probation) return;  // one is on trial
    if (entry.state != EntryState::active || ledger.time - entry.since < needed_clean(policy, entry))
      continue;
    if (!longest || entry.since < longest->since) longest = &entry;
  }
  if (!longest) return;
  longest->put_back = now.wall;
  change(*longest, EntryState::probation, EventKind::probation, "put back on trial: it has to be swept now");
}

/// What is out of use by us, and by faults that let nothing through.
Capacity LedgerStep::capacity_now() const {
  Capacity capacity(fabric, policy.caps);
  for (const Entry& entry : ledger.entries)
    if (EntryBook::is_live(entry) &&
        (entry.state == EntryState::active || (entry.verdict == Verdict::failed && !entry.by_hand)))
      capacity.take_out(book.effect(entry));
  return capacity;
}

/// Those that may become active, the worst first; those that are back from probation before all.
std::vector<Entry*> LedgerStep::candidates() {
  std::vector<Entry*> all;
  for (Entry& entry : ledger.entries) {
    if (!EntryBook::is_live(entry) || entry.held) continue;
    const bool is_new = entry.state == EntryState::proposed && entry.supported;
    if (!is_new && !entry.relapsed) continue;
    if (entry.relapsed || entry.approved || (is_automatic(entry) && !entry.needs_approval))
      all.push_back(&entry);
    else
      hold_back(entry, fmt::format("entries of a {} need approval", to_string(entry.subject.kind)));
  }
  std::ranges::stable_sort(all, std::ranges::greater(), [](const Entry* entry) {
    return std::tuple(entry->relapsed, entry->verdict, entry->confidence);
  });
  return all;
}

void LedgerStep::hold_back(Entry& entry, const std::string& why) {
  if (entry.held_back == why) return;
  entry.held_back = why;
  add_event(EventKind::held_back, entry.id, fmt::format("{}: {}", words(entry), why));
}

void LedgerStep::activate(bool may_trip) {
  const auto all = candidates();
  std::vector<Candidate> asked;
  for (const Entry* entry : all)
    asked.push_back({book.effect(*entry), !entry->relapsed, entry->by_hand, !entry->held_back});
  const Admission admitted =
      admit(asked, capacity_now(), ledger.drained.size(), hosts_allowed(policy.caps, fabric.hosts().size()),
            ledger.breaker, may_trip);
  if (admitted.breaker && !ledger.breaker)
    add_event(EventKind::breaker, std::nullopt,
              *admitted.breaker + ": nothing new is applied until `weft blacklist resume`");
  ledger.breaker = admitted.breaker;
  ledger.drained.insert(ledger.drained.end(), admitted.drained, ledger.time);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (admitted.held_back[i]) {
      hold_back(*all[i], *admitted.held_back[i]);
    } else if (all[i]->relapsed) {
      ++all[i]->offences;
      all[i]->by_hand = false;  // what put it there is over: evidence keeps it now
      change(*all[i], EntryState::active, EventKind::relapsed, "seen again while on probation");
    } else {
      change(*all[i], EntryState::active, EventKind::activated, "is to be kept out of use");
    }
  }
}

Stepped LedgerStep::end() && {
  std::erase_if(ledger.drained, [&](Seconds at) { return at + std::chrono::hours(1) <= ledger.time; });
  std::erase_if(ledger.entries, [&](const Entry& entry) {
    return entry.state == EntryState::released && entry.marks.empty() &&
           entry.last_seen + kOffencesCount < now.wall && entry.since + kOffencesCount < ledger.time;
  });
  return {std::move(ledger), std::move(events)};
}

}  // namespace weft::blacklist
