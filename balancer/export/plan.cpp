#include "balancer/export/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "topology/files/json_text.hpp"

namespace weft::exports {
namespace {

using blacklist::Entry;
using blacklist::Mark;

constexpr std::string_view kSchema = "weft.changes/1";
constexpr std::array<std::string_view, 4> kSeen{"stands", "is forgotten", "is looked for again",
                                                "is found again"};

struct Marked {
  const Entry* entry;
  const Mark* mark;
};

/// An object of the target, as the ledger has it and wants it.
struct Object {
  std::vector<Marked> marks;
  std::vector<const Demand*> demands;  // by entry, ascending
  bool wanted_by(EntryId entry) const {
    return std::ranges::any_of(demands, [&](const Demand* demand) { return demand->entry == entry; });
  }
};

/// What stands at the target, beside what the ledger knows and demands of it.
class TargetView {
 public:
  TargetView(const Target& target, const blacklist::Ledger& ledger, const Fabric& fabric,
             const Translation& translation, std::span<const Standing> standings)
      : target_(target), ledger_(ledger), fabric_(fabric), read_(standings) {
    for (const Standing& standing : standings) standings_.emplace(standing.object, &standing);
    for (const Entry& entry : ledger.entries)
      for (const Mark& mark : entry.marks)
        if (mark.target == target.name()) objects_[mark.object].marks.push_back({&entry, &mark});
    for (const Demand& demand : translation.demands) objects_[demand.object].demands.push_back(&demand);
  }

  const auto& objects() const { return objects_; }
  /// As they were read.
  std::span<const Standing> read() const { return read_; }
  const auto& standings() const { return standings_; }
  /// Null: it is not there.
  const Standing* standing_at(const std::string& object) const {
    const auto at = standings_.find(object);
    return at == standings_.end() ? nullptr : at->second;
  }
  /// What the ledger forgot, and is of an entry of it.
  void add_object(const std::string& object) { objects_[object]; }

  /// A mark of another fabric's blacklist is somebody else's.
  Whose whose(const Standing& standing) const {
    if (standing.whose != Whose::weft || !standing.mark) return standing.whose;
    return entry_of(ledger_.fabric, *standing.mark) ? Whose::weft : Whose::others;
  }
  bool is_orphan(const Standing& standing) const {
    return standing.mark && whose(standing) == Whose::weft && !objects_.contains(standing.object);
  }
  bool stands(const std::string& object) const {
    const Standing* there = standing_at(object);
    return there && (whose(*there) == Whose::weft || !there->is_known);
  }
  /// The entry that a mark names, where it has to do with its object: what was said of it in between, the
  /// mark is ours. Of a ledger that was lost, or put back from a backup, an id may be another entry's by now:
  /// the mark's own words must name the same subject.
  const Entry* named_by(const Standing& standing) const {
    const auto id = standing.mark ? entry_of(ledger_.fabric, *standing.mark) : std::nullopt;
    const Entry* entry = id ? find(ledger_, *id) : nullptr;
    if (!entry || standing.text.find(entry->subject.name) == std::string::npos) return nullptr;
    const auto about = blacklist::parse_subject(fabric_, target_.subject_of(standing.object));
    const auto subject = find_subject(fabric_, entry->subject);
    if (!about || !subject) return nullptr;
    const auto its = blacklist::channels_of(fabric_, *subject);
    const auto there = blacklist::channels_of(fabric_, *about);
    return std::ranges::find_first_of(its, there) != its.end() ? entry : nullptr;
  }
  /// Whether the fabric file, as it is now, lacks the subject of a mark, whatever it was when the ledger was
  /// last changed; once its entry is released a mark comes off also where the file has its subject no more.
  bool lacks_subject(const Object& its) const {
    return std::ranges::any_of(its.marks, [this](const Marked& m) {
      return m.entry->state != blacklist::EntryState::released && !find_subject(fabric_, m.entry->subject);
    });
  }
  /// What an object takes out of use. One that is no name of the fabric is a rail of a host, as the subject
  /// of its entry says.
  std::vector<blacklist::Effect> effects_of(const std::string& name, const Object& its) const {
    if (!its.demands.empty()) return {its.demands.front()->effect};
    std::vector<blacklist::Effect> effects;
    const auto add = [&](const blacklist::Subject& subject) {
      effects.push_back(effect_of(fabric_, subject, blacklist::NicAction::rail));
    };
    if (const auto subject = blacklist::parse_subject(fabric_, target_.subject_of(name)))
      add(*subject);
    else
      for (const auto& [entry, mark] : its.marks)
        if (const auto found = find_subject(fabric_, entry->subject)) add(*found);
    return effects;
  }
  /// The mark of the ledger that stands there; absent: it is none of those.
  std::optional<Marked> known_mark(const Standing& standing, const Object& its) const {
    const auto known = std::ranges::find_if(its.marks, [&](const Marked& m) {
      return m.mark->set == standing.text || is_mark_of(standing, *m.entry);
    });
    return known == its.marks.end() ? std::nullopt : std::optional(*known);
  }
  bool is_mark_of(const Standing& standing, const Entry& entry) const {
    return standing.mark && *standing.mark == mark_id(ledger_.fabric, entry.id);
  }

 private:
  const Target& target_;
  const blacklist::Ledger& ledger_;
  const Fabric& fabric_;
  std::span<const Standing> read_;
  std::unordered_map<std::string, const Standing*> standings_;
  std::map<std::string, Object> objects_;
};

Change change_of(const Target& target, Act act, const Standing& standing, const std::string& set,
                 EntryId entry) {
  Change made{.act = act,
              .target = std::string(target.name()),
              .object = standing.object,
              .before = standing.text,
              .set = set,
              .entry = entry};
  Change back = reversed(made);
  if (act == Act::pass && !standing.in_effect) back.act = Act::take;  // it is set once more
  made.undo = target.by_hand(back);
  return made;
}

/// Goes through all objects, and says what becomes of each.
class Planner {
 public:
  Planner(const Target& target, TargetView view, blacklist::Capacity capacity, UtcTime now)
      : target_(target), view_(std::move(view)), now_(now), capacity_(std::move(capacity)) {}

  Plan run() && {
    count_taken();
    std::vector<std::pair<EntryId, const std::string*>> order;  // those whose entries are older come first
    for (const auto& [object, its] : view_.objects())
      order.emplace_back(its.demands.empty() ? EntryId(0) : its.demands.front()->entry, &object);
    std::ranges::stable_sort(order, {}, [](const auto& one) { return one.first; });
    for (const auto& [first, object] : order) look_at(*object, view_.objects().at(*object));
    for (const auto& [object, standing] : view_.standings())
      if (view_.is_orphan(*standing)) plan_.orphans.push_back(object);
    std::ranges::sort(plan_.orphans);
    if (waits_) hold_puts();
    return std::move(plan_);
  }

 private:
  /// What stands is out of use until it is off, whatever else is put.
  void count_taken() {
    for (const Standing& standing : view_.read())
      if (view_.whose(standing) == Whose::others) take_out(standing.object, {});
    for (const auto& [object, its] : view_.objects())
      if (view_.stands(object)) take_out(object, its);
    for (const auto& [object, standing] : view_.standings()) {
      if (!view_.is_orphan(*standing)) continue;
      take_out(object, {});  // a mark of ours that the ledger lost does what it did
      if (view_.named_by(*standing)) view_.add_object(object);
    }
  }
  void take_out(const std::string& name, const Object& its) {
    for (const blacklist::Effect& effect : view_.effects_of(name, its)) capacity_.take_out(effect);
  }
  void leave(const std::string& object, std::string_view why) {
    plan_.left_alone.push_back(fmt::format("{}: {}", object, why));
  }

  void look_at(const std::string& object, const Object& its) {
    if (view_.lacks_subject(its)) return;
    const Standing* there = view_.standing_at(object);
    if (!there) forget(object, its, nullptr, "it is not there any more");
    if (!there && its.demands.empty()) return;
    if (!there) return leave(object, fmt::format("{} does not have it", target_.name()));
    if (!there->is_known) return leave(object, fmt::format("left as it is: {}", there->text));
    for (const auto& [entry, mark] : its.marks)
      if (const auto where = target_.left_behind(object, mark->set))
        return leave(object, fmt::format("left as it is: {}", *where));
    switch (view_.whose(*there)) {
      case Whose::nobody:
        return free(*there, its);
      case Whose::weft:
        return marked(*there, its);
      case Whose::others:
        forget(object, its, nullptr, fmt::format("somebody else's now: {}", there->text));
        if (!its.demands.empty()) leave(object, fmt::format("left alone: {}", there->text));
        return;
    }
  }

  /// Though the target does not show it.
  bool may_stand(const Mark& mark) const {
    const auto lag = target_.lag();
    return lag.count() > 0 && (!mark.is_open() || std::chrono::abs(now_ - mark.at) < lag);
  }
  void wait_for(const std::string& object, const Object& its) {
    waits_ = true;
    take_out(object, its);
    for (const auto& [entry, mark] : its.marks)
      if (!mark->is_open()) settle(*entry, object, Plan::Seen::missing, "it is not there as it was");
    leave(object,
          fmt::format("left as it is: its mark is not seen at {}, which is believed after {} min",
                      target_.name(), std::chrono::ceil<std::chrono::minutes>(target_.lag()).count()));
  }

  /// With ways counted that may be none.
  void hold_puts() {
    std::erase_if(plan_.changes, [this](const Change& change) {
      if (change.act != Act::put) return false;
      leave(change.object, fmt::format("held back while a mark is not seen at {}", target_.name()));
      return true;
    });
  }

  void free(const Standing& standing, const Object& its) {
    // What was only asked for is asked for anew while it is wanted: that forgets nothing.
    const auto waits = [&](const Marked& m) {
      return may_stand(*m.mark) && (m.mark->read_back || !its.wanted_by(m.entry->id));
    };
    if (std::ranges::any_of(its.marks, waits)) return wait_for(standing.object, its);
    bool is_undone = false;
    for (const auto& [entry, mark] : its.marks)
      is_undone = is_undone || (mark->read_back && standing.lasts && its.wanted_by(entry->id));
    if (is_undone) {
      for (const Demand* demand : its.demands) plan_.undone.push_back({demand->entry, standing.object});
      return;
    }
    if (its.demands.empty()) return forget(standing.object, its, nullptr, "it is off");
    const Demand& demand = *its.demands.front();
    for (const auto& [entry, mark] : its.marks)  // a put writes its intent anew
      if (!may_stand(*mark)) settle(*entry, standing.object, Plan::Seen::gone, "it is off");
    if (const auto broken = capacity_.broken_by(demand.effect))
      return leave(standing.object, fmt::format("held back, with what others took out of use: {}", *broken));
    capacity_.take_out(demand.effect);
    change(Act::put, standing, demand.set, demand.entry);
  }

  /// The mark that stands there. Absent: it is none of the ledger's.
  std::optional<Marked> mark_at(const Standing& standing, const Object& its) {
    if (const auto known = view_.known_mark(standing, its)) return known;
    const Entry* entry = view_.named_by(standing);
    if (!entry) return std::nullopt;
    settle(*entry, standing.object, Plan::Seen::found, standing.text);
    return Marked{entry, &found_.emplace_back(Mark{.target = std::string(target_.name()),
                                                   .object = standing.object,
                                                   .before = std::string(kInService),
                                                   .set = standing.text,
                                                   .at = now_,
                                                   .read_back = now_})};
  }

  void marked(const Standing& standing, const Object& its) {
    const auto ours = mark_at(standing, its);
    if (!ours && !standing.mark) {
      // Whoever did that, what is ours there may stand beneath it: it is told once nothing does.
      if (!its.demands.empty() || !its.marks.empty())
        leave(standing.object, fmt::format("it is off already, and not by weft: {}", standing.text));
      return;
    }
    if (!ours) {
      forget(standing.object, its, nullptr, fmt::format("another mark stands there: {}", standing.text));
      plan_.orphans.push_back(standing.object);
      return;
    }
    forget(standing.object, its, ours->mark, "another mark stands there");
    const Entry& entry = *ours->entry;
    if (its.demands.empty()) return change(Act::take, standing, ours->mark->before, entry.id);
    const auto still = std::ranges::find(its.demands, entry.id, &Demand::entry);
    const bool is_adopted = standing.mark && !view_.is_mark_of(standing, entry);
    if (still == its.demands.end() || is_adopted || !standing.in_effect) {
      const Demand& demand = still == its.demands.end() ? *its.demands.front() : **still;
      return change(Act::pass, standing, demand.set, demand.entry);
    }
    if (ours->mark->is_open()) settle(entry, standing.object, Plan::Seen::standing, standing.text);
  }

  void change(Act act, const Standing& standing, const std::string& set, EntryId entry) {
    plan_.changes.push_back(change_of(target_, act, standing, set, entry));
  }
  void settle(const Entry& entry, const std::string& object, Plan::Seen seen, std::string text) {
    plan_.settled.push_back({entry.id, object, seen, std::move(text)});
  }
  void forget(const std::string& object, const Object& its, const Mark* but, const std::string& text) {
    for (const auto& [entry, mark] : its.marks)
      if (mark != but) settle(*entry, object, Plan::Seen::gone, text);
  }

  const Target& target_;
  TargetView view_;
  const UtcTime now_;
  blacklist::Capacity capacity_;
  bool waits_ = false;      // for what a target may show yet
  std::deque<Mark> found_;  // that the ledger forgot
  Plan plan_;
};

}  // namespace

Plan plan_changes(const Target& target, const blacklist::Ledger& ledger, const Fabric& fabric,
                  const Translation& translation, std::span<const Standing> standings,
                  const blacklist::Caps& caps, UtcTime now) {
  return Planner(target, TargetView(target, ledger, fabric, translation, standings),
                 blacklist::Capacity(fabric, caps), now)
      .run();
}

std::vector<std::string> objects_in_doubt(const Plan& plan) {
  std::vector<std::string> objects;
  for (const auto& one : plan.settled)
    if (one.seen == Plan::Seen::gone) objects.push_back(one.object);
  for (const auto& one : plan.undone) objects.push_back(one.object);
  std::ranges::sort(objects);
  const auto rest = std::ranges::unique(objects);
  objects.erase(rest.begin(), rest.end());
  return objects;
}

std::vector<std::string> objects_to_read(std::string_view target, const blacklist::Ledger& ledger,
                                         const Fabric& fabric, const Translation& translation) {
  std::vector<std::string> objects;
  std::unordered_set<std::string> seen;
  const auto add = [&](const std::string& object) {
    if (seen.insert(object).second) objects.push_back(object);
  };
  for (const NodeId host : fabric.hosts()) add(fabric.name_of(host));
  for (const Demand& demand : translation.demands) add(demand.object);
  for (const Entry& entry : ledger.entries)
    for (const Mark& mark : entry.marks)
      if (mark.target == target) add(mark.object);
  return objects;
}

std::string diff_of(const Plan& plan) {
  std::string text;
  for (const Change& change : plan.changes)
    text += fmt::format("{} {} (entry {})\n- {}\n+ {}\n  undo: {}\n", to_string(change.act), change.object,
                        change.entry.value(), change.before, change.set, change.undo);
  for (const auto& [entry, object, seen, why] : plan.settled)
    text += fmt::format("ledger: the mark of entry {} on {} {}: {}\n", entry.value(), object,
                        kSeen[static_cast<std::size_t>(seen)], why);
  for (const auto& [entry, object] : plan.undone)
    text += fmt::format("ledger: entry {} goes to hold: somebody put {} back\n", entry.value(), object);
  return text;
}

std::string changes_json(const blacklist::Ledger& ledger, std::string_view target, const Plan& plan,
                         const Translation& translation, const files::DocumentStamp& stamp) {
  using files::DocumentTree;
  DocumentTree tree = files::stamped_tree(kSchema, stamp);
  tree["fabric"] = ledger.fabric;
  tree["target"] = target;
  auto& changes = tree["changes"] = DocumentTree::array();
  for (const Change& change : plan.changes) {
    DocumentTree one;
    one["id"] = id_of(change);
    one["act"] = to_string(change.act);
    one["object"] = change.object, one["entry"] = change.entry.value();
    one["before"] = change.before, one["set"] = change.set, one["undo"] = change.undo;
    changes.push_back(std::move(one));
  }
  auto& settled = tree["settled"] = DocumentTree::array();
  for (const auto& [entry, object, seen, why] : plan.settled) {
    if (seen == Plan::Seen::missing) continue;  // left_alone has it
    DocumentTree one;
    one["entry"] = entry.value(), one["object"] = object;
    one["stands"] = seen == Plan::Seen::standing || seen == Plan::Seen::found, one["why"] = why;
    settled.push_back(std::move(one));
  }
  auto& undone = tree["undone"] = DocumentTree::array();
  for (const auto& [entry, object] : plan.undone) {
    DocumentTree one;
    one["entry"] = entry.value(), one["object"] = object;
    undone.push_back(std::move(one));
  }
  tree["left_alone"] = plan.left_alone;
  tree["orphans"] = plan.orphans;
  tree["advice"] = translation.advice;
  return files::document_text(tree);
}

}  // namespace weft::exports
