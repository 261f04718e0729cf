#include "collectors/store/shared_ledger.hpp"

namespace weft::store {
namespace {

using blacklist::Ledger;
using blacklist::LedgerChange;
using blacklist::Stepped;

constexpr int kTries = 32;  // others may change it meanwhile: of four that never rest, each wins one in four
/// After so many changes all of the ledger is told once more, if it fits: a new copy begins there. Less than
/// the log keeps (bus::kLedgerChanges).
constexpr std::uint64_t kBetweenWholes = 500;
constexpr std::size_t kMaxBytes = 950'000;  // the bus takes a message of 1 MB

bool is_empty(const Ledger& ledger) { return ledger.last_id == 0 && !ledger.last; }

/// What to do about a copy that cannot follow.
constexpr std::string_view kMakeAnew =
    "move the file away, and the next word makes a new copy; or, where the bus lost it, make the newest file "
    "a machine's own (weft blacklist unshare) and share that anew";

tl::unexpected<Error> other_ledger(const LedgerStore& copy) {
  return fail(ErrorKind::conflict,
              "{}: the bus has another blacklist than the one that this is a copy of (its stream was made "
              "anew, or put back from a backup): {}",
              copy.path().string(), kMakeAnew);
}
tl::unexpected<Error> lost(const LedgerStore& copy) {
  return fail(ErrorKind::conflict, "{}: the bus has lost the blacklist that this is a copy of: {}",
              copy.path().string(), kMakeAnew);
}

Result<LedgerChange> parse(const watch::StoredChange& stored, const Ledger& mine) {
  const auto what = fmt::format("change {} of the shared blacklist", stored.sequence);
  WEFT_TRY(auto change, blacklist::parse_change(stored.text, what));
  if (change.ledger.fabric != mine.fabric)
    return fail(ErrorKind::conflict, "{}: it is of the fabric '{}', not of '{}'", what, change.ledger.fabric,
                mine.fabric);
  return change;
}

}  // namespace

/// What a file begins with that has no change yet: the first that it asked for itself, or the first whole
/// one.
Result<LedgerChange> SharedLedger::first_of(const SharedPlace& at, std::uint64_t& sequence) {
  WEFT_TRY(const auto mine, copy_.read());
  const auto own = [&] {
    return fail(
        ErrorKind::conflict,
        "{}: it is a blacklist of its own, and the bus has another one: name a file that is not there "
        "yet",
        copy_.path().string());
  };
  if (at.place.chain.empty() && !is_empty(mine)) return own();
  for (sequence = 0;;) {
    WEFT_TRY(const auto stored, log_.next(sequence));
    if (!stored)
      return fail(ErrorKind::conflict,
                  "the bus has no change any more that tells all of the blacklist: begin with a copy of the "
                  "file of a machine that has it");
    if (stored->sequence <= sequence)
      return fail(ErrorKind::internal, "the bus tells of change {} behind {}", stored->sequence, sequence);
    sequence = stored->sequence;
    WEFT_TRY(auto change, parse(*stored, mine));
    if (!at.place.chain.empty() && (change.place.chain != at.place.chain || change.place.number != 1))
      return own();
    if (change.whole) return change;
  }
}

/// False: the copy has all that the log has. Within a transaction.
Result<bool> SharedLedger::follow_one() {
  WEFT_TRY(const auto kept, copy_.shared());
  const auto at = kept.value_or(SharedPlace());
  WEFT_TRY(const auto last, log_.last());
  if (!last && at.sequence == 0)
    return fail(ErrorKind::not_found,
                "the bus has no blacklist of this fabric yet: weft blacklist share makes that of a file the "
                "shared one");
  if (!last || last->sequence < at.sequence) return lost(copy_);
  if (at.sequence == 0) {
    std::uint64_t sequence = 0;
    WEFT_TRY(const auto first, first_of(at, sequence));
    WEFT_TRY_VOID(copy_.take_over(first, sequence));
    return true;
  }
  WEFT_TRY(const auto mine, copy_.read());
  if (last->sequence == at.sequence) {
    WEFT_TRY(const auto same, parse(*last, mine));
    if (same.place != at.place) return other_ledger(copy_);
    return false;
  }
  WEFT_TRY(const auto next, log_.next(at.sequence));
  if (!next || next->sequence <= at.sequence) return lost(copy_);
  WEFT_TRY(const auto change, parse(*next, mine));
  if (change.place.chain != at.place.chain) return other_ledger(copy_);
  if (change.place.number > at.place.number + 1)
    return fail(
        ErrorKind::conflict,
        "{}: the bus keeps no longer what came behind change {} of the blacklist, and has from {} on: "
        "{}",
        copy_.path().string(), at.place.number, change.place.number, kMakeAnew);
  if (change.previous != at.place.change || change.place.number != at.place.number + 1)
    return other_ledger(copy_);
  WEFT_TRY_VOID(copy_.take_over(change, next->sequence));
  return true;
}

Result<void> SharedLedger::catch_up() {
  for (bool more = true; more;)
    WEFT_TRY_VOID(copy_.in_transaction([&]() -> Result<void> {
      WEFT_TRY(more, follow_one());
      return {};
    }));
  return {};
}

Result<Ledger> SharedLedger::read() {
  WEFT_TRY_VOID(catch_up());
  return copy_.read();
}

/// Appends it and takes it over, within a transaction. What others would not read is not appended. False:
/// another one came before.
Result<bool> SharedLedger::append(const LedgerChange& change, std::uint64_t last) {
  const auto text = change_text(change);
  if (text.size() > kMaxBytes)
    return fail(
        ErrorKind::invalid_input,
        "a change of {} bytes is more than the bus takes at once ({}): give fewer documents at a time",
        text.size(), kMaxBytes);
  WEFT_TRY(const auto as_others_read_it, blacklist::parse_change(text, "a change of the shared blacklist"));
  const auto sequence = log_.append(last, text);
  if (!sequence && sequence.error().kind == ErrorKind::conflict) return false;
  if (!sequence) return pass_on(sequence);
  WEFT_TRY_VOID(copy_.take_over(as_others_read_it, *sequence));
  return true;
}

Result<void> SharedLedger::share(UtcTime now) {
  // First the file says what it asks for: whether the answer comes or not, it knows its own change again.
  SharedPlace asked;
  WEFT_TRY_VOID(copy_.in_transaction([&]() -> Result<void> {
    WEFT_TRY(const auto kept, copy_.shared());
    if (kept) return asked = *kept, Result<void>();
    asked.place.chain = seams_.random_id();
    return copy_.set_shared(asked);
  }));
  const auto made = copy_.in_transaction([&]() -> Result<void> {
    WEFT_TRY(const auto last, log_.last());
    if (last) return {};
    WEFT_TRY(const auto kept, copy_.shared());
    if (!kept || kept->sequence > 0) return {};
    WEFT_TRY(auto ledger, copy_.read());
    const auto appended = append({.place = {asked.place.chain, seams_.random_id(), 1},
                                  .at = now,
                                  .whole = true,
                                  .ledger = std::move(ledger)},
                                 0);
    return appended.map([](bool) {});  // of two who share at once the other may be the first
  });
  if (!made) return pass_on(made);
  const auto followed = catch_up();
  if (followed || asked.sequence > 0 || followed.error().kind != ErrorKind::conflict) return followed;
  // Another one is there: the file is its own again.
  WEFT_TRY_VOID(copy_.set_shared(std::nullopt));
  return followed;
}

Result<Stepped> SharedLedger::change(UtcTime now, const std::function<Result<Stepped>(Ledger)>& step) {
  WEFT_TRY_VOID(catch_up());
  std::optional<Stepped> stepped;
  const auto try_once = [&]() -> Result<bool> {
    for (bool more = true; more;) {
      WEFT_TRY(more, follow_one());
    }
    WEFT_TRY(const auto at, copy_.shared());
    WEFT_TRY(const auto before, copy_.read());
    WEFT_TRY(stepped, step(before));
    if (seams_.may_change) WEFT_TRY_VOID(seams_.may_change());
    const auto change_of = [&](bool whole) {
      auto change = change_between(before, stepped->ledger, whole);
      change.place = {at->place.chain, seams_.random_id(), at->place.number + 1};
      change.previous = at->place.change;
      change.at = now, change.events = stepped->events;
      return change;
    };
    auto change = change_of(at->place.number + 1 >= at->last_whole + kBetweenWholes);
    if (change.whole && change_text(change).size() > kMaxBytes) change = change_of(false);
    return append(change, at->sequence);
  };
  const auto done = copy_.in_transaction([&]() -> Result<void> {
    for (int tries = 0; tries < kTries; ++tries) {
      WEFT_TRY(const bool is_kept, try_once());
      if (is_kept) return {};
    }
    return fail(ErrorKind::conflict, "the shared blacklist is changed by others all the time: try again");
  });
  if (!done) return pass_on(done);
  return std::move(*stepped);
}

}  // namespace weft::store
