#include "collectors/store/shared_ledger.hpp"

namespace weft::store {
namespace {

using blacklist::Ledger;
using blacklist::LedgerChange;
using blacklist::Stepped;

constexpr std::size_t kAtOnce = 100;
constexpr int kTries = 5;  // others may change it meanwhile
/// After so many changes all of the ledger is told once more, if it fits: a new copy needs no older ones,
/// which the log discards in the end.
constexpr std::uint64_t kBetweenWholes = 500;
constexpr std::size_t kMaxBytes = 950'000;  // the bus takes a message of 1 MB
constexpr std::uint64_t kLogOfLedger = 0;

bool is_empty(const Ledger& ledger) { return ledger.last_id == 0 && !ledger.last; }

}  // namespace

Result<void> SharedLedger::follow(const watch::StoredEvent& stored) {
  const auto what = fmt::format("change {} of the shared blacklist", stored.sequence);
  WEFT_TRY(const auto change, blacklist::parse_change(stored.text, what));
  WEFT_TRY(const auto at, copy_.position());
  WEFT_TRY(const auto mine, copy_.read());
  if (change.ledger.fabric != mine.fabric)
    return fail(ErrorKind::conflict, "{}: it is of the fabric '{}', not of '{}'", what, change.ledger.fabric,
                mine.fabric);
  if (at.sequence == 0 && !is_empty(mine))
    return fail(ErrorKind::conflict,
                "{}: it is no copy of the blacklist that the bus has: name a file that is not there yet",
                copy_.path().string());
  if (change.behind != at.sequence && !change.whole)
    return fail(ErrorKind::conflict,
                "{}: the bus has lost the changes between {} and {} of the shared blacklist: begin with the "
                "file of a machine that has them",
                copy_.path().string(), at.sequence, stored.sequence);
  return copy_.follow(change, stored.sequence);
}

Result<void> SharedLedger::follow() {
  for (;;) {
    WEFT_TRY(const auto at, copy_.position());
    WEFT_TRY(const auto read, log_.read_behind(at.sequence, kAtOnce));
    if (read.empty()) return {};
    for (const watch::StoredEvent& stored : read) WEFT_TRY_VOID(follow(stored));
  }
}

Result<Ledger> SharedLedger::read() {
  WEFT_TRY_VOID(follow());
  return copy_.read();
}

Result<Stepped> SharedLedger::change(UtcTime now, const std::function<Result<Stepped>(Ledger)>& step) {
  for (int tries = 0;; ++tries) {
    WEFT_TRY(const auto before, read());
    WEFT_TRY(auto stepped, step(before));
    if (may_change_) WEFT_TRY_VOID(may_change_());
    WEFT_TRY(const auto at, copy_.position());
    const auto text_of = [&](bool whole) {
      LedgerChange change = change_between(before, stepped.ledger, whole);
      change.at = now, change.behind = at.sequence, change.events = stepped.events;
      return change_text(change);
    };
    const bool is_first = at.sequence == 0;
    auto text = text_of(is_first || at.since_whole >= kBetweenWholes);
    if (text.size() > kMaxBytes && !is_first) text = text_of(false);
    if (text.size() > kMaxBytes)
      return fail(
          ErrorKind::conflict,
          "a change of {} bytes is more than the bus takes at once ({}): give fewer documents at a time",
          text.size(), kMaxBytes);
    const auto kept = log_.append(kLogOfLedger, at.sequence, text);
    if (kept) {
      // Of our own: also where the copy is a ledger that stood before, and is the first that is shared.
      WEFT_TRY(const auto change, blacklist::parse_change(text, "a change"));
      WEFT_TRY_VOID(copy_.follow(change, *kept));
      return stepped;
    }
    if (kept.error().kind != ErrorKind::conflict) return pass_on(kept);
    if (tries == kTries)
      return fail(
          ErrorKind::conflict,
          "the shared blacklist is changed by others all the time, or the bus has lost it ({}): try again",
          kept.error().message);
  }
}

}  // namespace weft::store
