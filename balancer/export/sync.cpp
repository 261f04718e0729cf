#include "balancer/export/sync.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "topology/base/outside_text.hpp"

namespace weft::exports {
namespace {

using blacklist::Entry;
using blacklist::EntryState;
using blacklist::EventKind;
using blacklist::Ledger;
using blacklist::LedgerEvent;
using blacklist::Mark;
using blacklist::Stepped;

/// Of so many changes a killed run leaves behind what is not known.
constexpr std::size_t kBatch = 64;

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

/// Where a mark that came off was on a link: what runs that began before saw of it is no evidence.
void note_put_back(const Fabric& fabric, Entry* entry, std::string_view object, UtcTime now) {
  if (entry && fabric.find_link(object)) entry->put_back = now;
}

/// One batch: changes of one act.
class Batch {
 public:
  Batch(const Site& site, std::span<const Change> changes)
      : site_(site), changes_(changes.begin(), changes.end()) {
    for (const Change& change : changes_) objects_.push_back(change.object);
  }

  /// How many changes did not come to stand.
  Result<std::size_t> run() {
    const auto planned = changes_;
    WEFT_TRY_VOID(change_ledger([&](Ledger& ledger) {
      changes_ = planned, asked_before_.clear();
      std::erase_if(changes_, [&](const Change& change) { return !intend(ledger, change); });
    }));
    // As near before the change as can be: a target has no compare-and-set.
    WEFT_TRY_VOID(read(before_));
    std::vector<Change> ready;
    for (const Change& change : changes_)
      if (is_as_planned(change)) ready.push_back(change);
    if (!ready.empty() && site_.may_apply) WEFT_TRY_VOID(site_.may_apply());
    if (!ready.empty()) said_ = site_.target.apply(ready);
    WEFT_TRY_VOID(read(after_));
    WEFT_TRY_VOID(change_ledger([&](Ledger& ledger) {
      refused_ = 0;
      for (const Change& change : changes_) close(ledger, change);
    }));
    return refused_;
  }

 private:
  using Standings = std::map<std::string, Standing>;

  template <class Work>
  Result<void> change_ledger(Work work) {
    WEFT_TRY(const auto done, site_.ledger.change(now(), [&](Ledger ledger) -> Result<Stepped> {
      events_.clear();
      work(ledger);
      return Stepped{std::move(ledger), events_};
    }));
    site_.add_events(done.events);
    return {};
  }
  UtcTime now() const { return site_.clock().wall; }

  Result<void> read(Standings& into) {
    auto standings = site_.target.read(objects_);
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
    Entry* entry = find(ledger, change.entry);
    if (!entry) return false;
    if (change.act == Act::take) {
      Mark* mark = mark_in(entry, change.target, change.object);
      if (mark) mark->read_back.reset(), mark->at = now();
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
    if (const Mark* mark = mark_in(entry, change.target, change.object);
        mark && shows_late() && change.act == Act::put && mark->set == change.set)
      asked_before_.insert(change.object);
    forget(entry, change.target, change.object);
    entry->marks.push_back({change.target, change.object, before, change.set, now()});
    return true;
  }

  bool is_as_planned(const Change& change) const {
    const Standing* standing = at(before_, change);
    if (!standing || !standing->is_known) return false;
    if (change.act == Act::put) return standing->whose == Whose::nobody;
    return standing->whose == Whose::weft && standing->text == change.before;
  }

  static bool is_known(const Standing* standing) { return !standing || standing->is_known; }
  /// The mark of that entry, by its id; where a target has none, by what stands there.
  bool stands(const Standing* standing, EntryId entry, const Mark* mark) const {
    if (!standing || standing->whose != Whose::weft) return false;
    if (standing->mark) return *standing->mark == mark_id(site_.fabric.name(), entry);
    return mark != nullptr && standing->text == mark->set;
  }

  void close(Ledger& ledger, const Change& change) {
    Entry* entry = find(ledger, change.entry);
    const Standing* standing = at(after_, change);
    Mark* mark = mark_in(entry, change.target, change.object);
    // What was put meanwhile where nothing of ours was tried is somebody else's, though it looks the same.
    const bool was_tried =
        change.act != Act::put || is_as_planned(change) || asked_before_.contains(change.object);
    const bool is_there = was_tried && stands(standing, change.entry, mark);
    const bool it_stands = is_there && (change.act == Act::take || standing->in_effect);
    const bool is_over = !is_there && is_known(standing) &&
                         (change.act == Act::take ? has_come_off(change) : !may_come_yet(change, was_tried));
    const bool is_done = change.act == Act::take ? !it_stands && has_come_off(change) : it_stands;
    if (is_done && change.act == Act::take) note_put_back(site_.fabric, entry, change.object, now());
    if (it_stands && mark)
      mark->read_back = now();
    else if (is_over)
      forget(entry, change.target, change.object);
    if (change.act == Act::pass)
      for (Entry& other : ledger.entries)
        if (other.id != change.entry) close_other(other, change, it_stands ? nullptr : standing);
    if (is_done)
      return add_event(change.act == Act::take ? EventKind::taken_off : EventKind::applied, change, standing);
    ++refused_;
    add_event(EventKind::not_applied, change, standing);
  }
  /// What was ended for its time may have begun something that goes on, and a port may show late that it is
  /// disabled: an intent does no harm, a mark that nobody knows of does.
  bool may_come_yet(const Change& change, bool was_tried) const {
    if (!was_tried || site_.target.may_cut_off() || asked_before_.contains(change.object)) return was_tried;
    return said_ ? shows_late() : leaves_open(said_.error());
  }
  /// What is not shown any more though nobody took it off may be there all the same.
  bool has_come_off(const Change& change) const { return !shows_late() || (said_ && is_as_planned(change)); }
  bool shows_late() const { return site_.target.lag().count() > 0; }
  /// Whose mark was to be passed on. Null: it was; of a standing without an id nothing else would tell.
  void close_other(Entry& other, const Change& change, const Standing* standing) {
    Mark* mark = mark_in(&other, change.target, change.object);
    if (mark && stands(standing, other.id, mark))
      mark->read_back = now();
    else if (mark && is_known(standing))
      forget(&other, change.target, change.object);
  }

  void add_event(EventKind kind, const Change& change, const Standing* standing) {
    std::string text = fmt::format("{} {}: {}", change.target, change.object,
                                   !standing                ? "it is not there any more"
                                   : standing->text.empty() ? "no mark stands there"
                                                            : standing->text);
    if (kind == EventKind::not_applied && !is_as_planned(change))
      text += " (changed since it was read: left alone)";
    if (kind == EventKind::not_applied && !said_) text += fmt::format(" ({})", said_.error().message);
    events_.push_back({kind, change.entry, outside_text(text), "weft"});
  }

  const Site& site_;
  std::vector<Change> changes_;
  std::vector<std::string> objects_;
  std::set<std::string> asked_before_;  // for the same, and not shown when it was planned
  Standings before_, after_;
  Result<void> said_;
  std::vector<LedgerEvent> events_;
  std::size_t refused_ = 0;
};

/// Entries of which somebody took a mark off go to hold, and their other marks come off.
Result<void> respect(const Site& site, Look& look) {
  if (look.plan.undone.empty()) return {};
  std::vector<blacklist::Command> commands;
  for (const auto& [entry, object] : look.plan.undone)
    commands.push_back(blacklist::Hold{
        entry,
        fmt::format("somebody put {} back at {}: approve it to apply it again", object, site.target.name()),
        std::string(site.target.name())});
  const auto now = site.clock();
  WEFT_TRY(const auto stepped, site.ledger.change(now.wall, [&](Ledger ledger) -> Result<Stepped> {
    return step(std::move(ledger), site.fabric, site.policy, {}, commands, Mutes(), now);
  }));
  site.add_events(stepped.events);
  plan_anew(site, look, stepped.ledger);
  return {};
}

EventKind kind_of(Plan::Seen seen) {
  return seen == Plan::Seen::standing || seen == Plan::Seen::found ? EventKind::applied
         : seen == Plan::Seen::gone                                ? EventKind::taken_off
                                                                   : EventKind::not_applied;
}

/// Writes what the target showed of marks of the ledger.
Result<void> settle(const Site& site, std::span<const Plan::Settled> settled) {
  if (settled.empty()) return {};
  const auto now = site.clock().wall;
  const auto target = site.target.name();
  WEFT_TRY(const auto stepped, site.ledger.change(now, [&](Ledger read) -> Result<Stepped> {
    std::vector<LedgerEvent> events;
    for (const auto& [id, object, seen, why] : settled) {
      Entry* entry = find(read, id);
      if (entry && seen == Plan::Seen::found && !mark_in(entry, target, object))
        entry->marks.push_back({std::string(target), object, std::string(kInService), why, now});
      Mark* mark = mark_in(entry, target, object);
      if (!mark) continue;
      events.push_back(
          {kind_of(seen), id, outside_text(fmt::format("{} {}: {}", target, object, why)), "weft"});
      if (seen == Plan::Seen::standing || seen == Plan::Seen::found)
        mark->read_back = now;
      else if (seen == Plan::Seen::missing)
        mark->at = now;
      else
        forget(entry, target, object);
      if (seen == Plan::Seen::gone && entry->state != EntryState::active)
        note_put_back(site.fabric, entry, object, now);
    }
    return Stepped{std::move(read), std::move(events)};
  }));
  site.add_events(stepped.events);
  return {};
}

Result<std::size_t> make_changes(const Site& site, std::span<const Change> changes,
                                 std::initializer_list<Act> acts) {
  std::size_t refused = 0;
  for (const Act act : acts) {
    std::vector<Change> its;
    std::ranges::copy_if(changes, std::back_inserter(its), [&](const Change& c) { return c.act == act; });
    if (site.announce && site.target.may_cut_off())
      for (const Change& change : its)
        if (!change.undo.empty()) site.announce(change);
    for (std::size_t from = 0; from < its.size(); from += kBatch) {
      WEFT_TRY(const auto of_batch,
               Batch(site, std::span(its).subspan(from, std::min(kBatch, its.size() - from))).run());
      refused += of_batch;
    }
  }
  return refused;
}

}  // namespace

Result<Look> look_at(const Site& site, Ledger ledger) {
  Look look;
  auto all_active = ledger;
  for (Entry& entry : all_active.entries) entry.state = EntryState::active;
  const auto translation = site.target.translate(all_active, site.fabric, site.policy);
  const auto objects = objects_to_read(site.target.name(), ledger, site.fabric, translation);
  WEFT_TRY(look.standings, site.target.read(objects));
  plan_anew(site, look, std::move(ledger));
  const auto doubted = objects_in_doubt(look.plan);
  if (doubted.empty()) return look;
  std::erase_if(look.standings, [&](const Standing& standing) {
    return std::ranges::binary_search(doubted, standing.object);
  });
  WEFT_TRY(const auto again, site.target.read(doubted));
  look.standings.insert(look.standings.end(), again.begin(), again.end());
  plan_anew(site, look, std::move(look.ledger));
  return look;
}

void plan_anew(const Site& site, Look& look, Ledger ledger) {
  look.ledger = std::move(ledger);
  look.translation = site.target.translate(look.ledger, site.fabric, site.policy);
  look.plan = plan_changes(site.target, look.ledger, site.fabric, look.translation, look.standings,
                           site.policy.caps, site.clock().wall);
  const auto refusals = site.target.prepare(look.plan.changes);
  look.plan.refused = static_cast<std::size_t>(
      std::ranges::count_if(refusals, [](const std::string& why) { return !why.empty(); }));
  std::vector<Change> left;
  for (std::size_t i = 0; i < refusals.size(); ++i)
    if (Change& change = look.plan.changes[i]; refusals[i].empty())
      left.push_back(std::move(change));
    else
      look.plan.left_alone.push_back(fmt::format("{}: not changed: {}", change.object, refusals[i]));
  look.plan.changes = std::move(left);
}

Result<std::size_t> apply(const Site& site, Look& look, Puts puts) {
  if (!look.plan.changes.empty()) WEFT_TRY_VOID(site.target.check_rights());
  WEFT_TRY_VOID(respect(site, look));
  WEFT_TRY_VOID(settle(site, look.plan.settled));
  WEFT_TRY(const auto not_taken, make_changes(site, look.plan.changes, {Act::take}));
  // What came off makes room for what a cap held back; what did not, does not.
  const auto takes = [](const Change& change) { return change.act == Act::take; };
  if (puts == Puts::made && std::ranges::any_of(look.plan.changes, takes)) {
    WEFT_TRY(auto ledger, site.ledger.read());
    WEFT_TRY(look, look_at(site, std::move(ledger)));
  }
  std::size_t not_put = 0;
  if (puts == Puts::made) {
    WEFT_TRY(not_put, make_changes(site, look.plan.changes, {Act::put}));
  }
  // Last: what is set once more failed before, and may take its time again.
  WEFT_TRY(const auto not_passed, make_changes(site, look.plan.changes, {Act::pass}));
  return not_taken + not_put + not_passed + look.plan.refused;
}

}  // namespace weft::exports
