#include "cli/blacklist_apply.hpp"

#include <algorithm>
#include <map>

#include "cli/stamp.hpp"
#include "topology/base/outside_text.hpp"

namespace weft::cli {
namespace {

using blacklist::Entry;
using blacklist::EntryId;
using blacklist::EntryState;
using blacklist::EventKind;
using blacklist::Ledger;
using blacklist::LedgerEvent;
using blacklist::Mark;
using blacklist::Stepped;
using exports::Act;
using exports::Change;
using exports::Standing;
using exports::Whose;

/// Of so many changes a killed run leaves behind what is not known.
constexpr std::size_t kBatch = 64;

Entry* entry_in(Ledger& ledger, EntryId id) {
  const auto found = std::ranges::lower_bound(ledger.entries, id, {}, &Entry::id);
  return found != ledger.entries.end() && found->id == id ? &*found : nullptr;
}

/// The mark of an entry on an object; null: there is none.
Mark* mark_in(Entry* entry, std::string_view target, std::string_view object) {
  if (!entry) return nullptr;
  const auto found = std::ranges::find_if(
      entry->marks, [&](const Mark& mark) { return mark.target == target && mark.object == object; });
  return found != entry->marks.end() ? &*found : nullptr;
}

void forget(Entry* entry, std::string_view target, std::string_view object) {
  if (entry)
    std::erase_if(entry->marks,
                  [&](const Mark& mark) { return mark.target == target && mark.object == object; });
}

/// One batch: changes of one act.
class Batch {
 public:
  Batch(store::LedgerStore& store, exports::Target& target, std::span<const Change> changes)
      : store_(store), target_(target), changes_(changes.begin(), changes.end()) {
    for (const Change& change : changes_) objects_.push_back(change.object);
  }

  Result<void> run(Applied& applied) {
    WEFT_TRY_VOID(change_ledger([&](Ledger& ledger) {
      std::erase_if(changes_, [&](const Change& change) { return !intend(ledger, change); });
    }));
    // As near before the change as can be: a target has no compare-and-set.
    WEFT_TRY_VOID(read(before_));
    std::vector<Change> ready;
    for (const Change& change : changes_)
      if (is_as_planned(change)) ready.push_back(change);
    if (!ready.empty()) said_ = target_.apply(ready);
    WEFT_TRY_VOID(read(after_));
    WEFT_TRY_VOID(change_ledger([&](Ledger& ledger) {
      for (const Change& change : changes_) close(ledger, change);
    }));
    applied.refused += refused_;
    applied.events.insert(applied.events.end(), events_.begin(), events_.end());
    return {};
  }

 private:
  using Standings = std::map<std::string, Standing>;

  template <class Work>
  Result<void> change_ledger(Work work) {
    const auto done = store_.change(stamp_now().generated_at, [&](Ledger ledger) -> Result<Stepped> {
      const std::size_t told = events_.size();
      fabric_ = ledger.fabric;
      work(ledger);
      return Stepped{std::move(ledger), {events_.begin() + static_cast<std::ptrdiff_t>(told), events_.end()}};
    });
    return done ? Result<void>() : pass_on(done);
  }

  Result<void> read(Standings& into) {
    auto standings = target_.read(objects_);
    if (!standings) return pass_on(standings, "what stands there now is not known, the next sync finds out");
    into.clear();
    for (Standing& standing : *standings) into.emplace(standing.object, std::move(standing));
    return {};
  }
  const Standing* at(const Standings& all, const Change& change) const {
    const auto found = all.find(change.object);
    return found != all.end() ? &found->second : nullptr;
  }

  /// False: the ledger changed since the plan was made, and does not want it any more.
  bool intend(Ledger& ledger, const Change& change) {
    Entry* entry = entry_in(ledger, change.entry);
    if (!entry) return false;
    if (change.act == Act::take) {
      Mark* mark = mark_in(entry, change.target, change.object);
      if (mark) mark->read_back.reset();
      return mark != nullptr;
    }
    if (entry->state != EntryState::active) return false;
    std::string before = change.before;
    if (change.act == Act::pass)
      for (Entry& other : ledger.entries)
        if (Mark* mark = mark_in(&other, change.target, change.object)) {
          mark->read_back.reset();
          before = mark->before;
        }
    forget(entry, change.target, change.object);
    entry->marks.push_back({change.target, change.object, before, change.set, stamp_now().generated_at});
    return true;
  }

  bool is_as_planned(const Change& change) const {
    const Standing* standing = at(before_, change);
    if (!standing) return false;
    if (change.act == Act::put) return standing->whose == Whose::nobody;
    return standing->whose == Whose::weft && standing->text == change.before;
  }

  /// The mark of that entry.
  bool stands(const Standing* standing, EntryId entry) const {
    return standing && standing->whose == Whose::weft &&
           (!standing->mark || *standing->mark == exports::mark_id(fabric_, entry));
  }

  void close(Ledger& ledger, const Change& change) {
    Entry* entry = entry_in(ledger, change.entry);
    const Standing* standing = at(after_, change);
    const bool it_stands = stands(standing, change.entry);
    const bool is_done = it_stands == (change.act != Act::take);
    if (!it_stands)
      forget(entry, change.target, change.object);
    else if (Mark* mark = mark_in(entry, change.target, change.object))
      mark->read_back = stamp_now().generated_at;
    if (change.act == Act::pass)
      for (Entry& other : ledger.entries)
        if (other.id != change.entry) close_other(other, change, standing);
    if (is_done)
      return tell(change.act == Act::take ? EventKind::taken_off : EventKind::applied, change, standing);
    ++refused_;
    tell(EventKind::not_applied, change, standing);
  }
  /// Whose mark was to be passed on.
  void close_other(Entry& other, const Change& change, const Standing* standing) {
    Mark* mark = mark_in(&other, change.target, change.object);
    if (mark && stands(standing, other.id))
      mark->read_back = stamp_now().generated_at;
    else if (mark)
      forget(&other, change.target, change.object);
  }

  void tell(EventKind kind, const Change& change, const Standing* standing) {
    std::string text = fmt::format("{} {}: {}", change.target, change.object,
                                   standing ? standing->text : "it is not there any more");
    if (kind == EventKind::not_applied && !is_as_planned(change))
      text += " (changed since it was read: left alone)";
    if (kind == EventKind::not_applied && !said_) text += fmt::format(" ({})", said_.error().message);
    events_.push_back({kind, change.entry, outside_text(text), "weft"});
  }

  store::LedgerStore& store_;
  exports::Target& target_;
  std::vector<Change> changes_;
  std::vector<std::string> objects_;
  std::string fabric_;
  Standings before_, after_;
  Result<void> said_;
  std::vector<LedgerEvent> events_;
  std::size_t refused_ = 0;
};

}  // namespace

Result<std::vector<LedgerEvent>> settle_marks(store::LedgerStore& ledger, std::string_view target,
                                              std::span<const exports::Plan::Settled> settled) {
  if (settled.empty()) return std::vector<LedgerEvent>();
  const auto now = stamp_now().generated_at;
  WEFT_TRY(const auto stepped, ledger.change(now, [&](Ledger read) -> Result<Stepped> {
    std::vector<LedgerEvent> events;
    for (const auto& [id, object, stands, why] : settled) {
      Entry* entry = entry_in(read, id);
      Mark* mark = mark_in(entry, target, object);
      if (!mark) continue;
      events.push_back({stands ? EventKind::applied : EventKind::taken_off, id,
                        outside_text(fmt::format("{} {}: {}", target, object, why)), "weft"});
      if (stands)
        mark->read_back = now;
      else
        forget(entry, target, object);
    }
    return Stepped{std::move(read), std::move(events)};
  }));
  return stepped.events;
}

Result<Applied> apply_changes(store::LedgerStore& ledger, exports::Target& target,
                              std::span<const Change> changes) {
  Applied applied;
  for (const Act act : {Act::take, Act::pass, Act::put}) {
    std::vector<Change> its;
    std::ranges::copy_if(changes, std::back_inserter(its), [&](const Change& c) { return c.act == act; });
    for (std::size_t from = 0; from < its.size(); from += kBatch)
      WEFT_TRY_VOID(Batch(ledger, target, std::span(its).subspan(from, std::min(kBatch, its.size() - from)))
                        .run(applied));
  }
  return applied;
}

}  // namespace weft::cli
