#include "balancer/blacklist/ledger_json.hpp"

#include "topology/base/json_limits.hpp"
#include "topology/files/json_fields.hpp"
#include "topology/files/json_text.hpp"

namespace weft::blacklist {
namespace {

using files::as_text;
using files::DocumentTree;
using files::JsonView;
using files::need_member;
using files::read_member;

constexpr std::string_view kEntrySchema = "weft.blacklist/2";
constexpr std::string_view kLedgerSchema = "weft.ledger/1";
/// An entry's evidence is some lines, its marks some hundred at most (a leaf's hosts at each target).
constexpr JsonLimits kLimits{.bytes = 1'000'000, .depth = 8, .values = 50'000};

const auto as_kind = files::as_word(&parse_subject_kind, "channel, link, nic, host or switch");
const auto as_nic_action = files::as_word(&parse_nic_action, "host or rail");
const auto as_state = files::as_word(&parse_entry_state, "proposed, active, probation or released");
const auto as_cause =
    files::as_word(&parse_cause, "loss, rate, congestion, delay, down, mtu, corruption or counter");
const auto as_verdict = files::as_word(&parse_verdict, "healthy, unknown, congested, degraded or failed");

Result<Seconds> as_seconds(const JsonView& view) {
  WEFT_TRY(const auto count, view.count<std::uint32_t>());
  return Seconds(count);
}
Result<std::uint32_t> as_small_count(const JsonView& view) { return view.count<std::uint32_t>(); }
Result<EntryId> as_id(const JsonView& view) {
  WEFT_TRY(const auto number, view.count<std::uint64_t>());
  if (number == 0) return view.error("entries count from 1");
  return EntryId(number);
}

DocumentTree tree_of(const Mark& mark) {
  DocumentTree tree;
  tree["target"] = mark.target, tree["object"] = mark.object;
  tree["before"] = mark.before, tree["set"] = mark.set, tree["at"] = weft::to_string(mark.at);
  if (mark.read_back) tree["read_back"] = weft::to_string(*mark.read_back);
  return tree;
}
Result<Mark> as_mark(const JsonView& view) {
  Mark mark;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "target", mark.target, as_text); },
                        [&] { return need_member(view, "object", mark.object, as_text); },
                        [&] { return need_member(view, "before", mark.before, as_text); },
                        [&] { return need_member(view, "set", mark.set, as_text); },
                        [&] { return need_member(view, "at", mark.at, files::as_time); },
                        [&] { return read_member(view, "read_back", mark.read_back, files::as_time); }));
  return mark;
}
Result<std::vector<Mark>> as_marks(const JsonView& view) { return files::read_array<Mark>(view, as_mark); }

DocumentTree tree_of(const Sighting& sighting) {
  DocumentTree tree;
  tree["run"] = sighting.run;
  tree["from"] = weft::to_string(sighting.from), tree["until"] = weft::to_string(sighting.until);
  return tree;
}
Result<Sighting> as_sighting(const JsonView& view) {
  Sighting sighting;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "run", sighting.run, as_text); },
                        [&] { return need_member(view, "from", sighting.from, files::as_time); },
                        [&] { return need_member(view, "until", sighting.until, files::as_time); }));
  return sighting;
}

Result<void> read_subject(const JsonView& root, SubjectName& subject) {
  WEFT_TRY(const auto view, root.need("subject"));
  WEFT_TRY_VOID(need_member(view, "kind", subject.kind, as_kind));
  return need_member(view, "name", subject.name, as_text);
}

/// What a person asks of an entry.
Result<void> read_story(const JsonView& root, Entry& entry) {
  return in_turn([&] { return need_member(root, "id", entry.id, as_id); },
                 [&] { return read_subject(root, entry.subject); },
                 [&] { return need_member(root, "state", entry.state, as_state); },
                 [&] { return need_member(root, "cause", entry.cause, as_cause); },
                 [&] { return need_member(root, "verdict", entry.verdict, as_verdict); },
                 [&] { return need_member(root, "confidence", entry.confidence, files::as_share); },
                 [&] { return read_member(root, "size", entry.size, files::as_number); },
                 [&] { return need_member(root, "evidence", entry.evidence, files::read_texts); },
                 [&] { return need_member(root, "author", entry.author, as_text); },
                 [&] { return need_member(root, "reason", entry.reason, as_text); },
                 [&] { return need_member(root, "offences", entry.offences, as_small_count); },
                 [&] { return read_member(root, "held_back", entry.held_back, as_text); },
                 [&] { return need_member(root, "first_seen", entry.first_seen, files::as_time); },
                 [&] { return need_member(root, "last_seen", entry.last_seen, files::as_time); },
                 [&] { return need_member(root, "marks", entry.marks, as_marks); });
}

/// What the policy remembers.
Result<void> read_memory(const JsonView& root, Entry& entry) {
  WEFT_TRY(const auto view, root.need("policy"));
  return in_turn([&] { return need_member(view, "by_hand", entry.by_hand, files::as_boolean); },
                 [&] { return need_member(view, "approved", entry.approved, files::as_boolean); },
                 [&] { return read_member(view, "needs_approval", entry.needs_approval, files::as_boolean); },
                 [&] { return need_member(view, "supported", entry.supported, files::as_boolean); },
                 [&] { return need_member(view, "relapsed", entry.relapsed, files::as_boolean); },
                 [&] { return need_member(view, "known", entry.is_known, files::as_boolean); },
                 [&] { return need_member(view, "held", entry.held, files::as_boolean); },
                 [&] { return read_member(view, "first_sure", entry.first_sure, as_sighting); },
                 [&] { return need_member(view, "told_until", entry.told_until, files::as_time); },
                 [&] { return read_member(view, "put_back", entry.put_back, files::as_time); },
                 [&] { return read_member(view, "ends_s", entry.ends, as_seconds); },
                 [&] { return need_member(view, "since_s", entry.since, as_seconds); },
                 [&] { return read_member(view, "clean_at_s", entry.clean_at, as_seconds); },
                 [&] { return need_member(view, "clean_s", entry.clean, as_seconds); });
}

DocumentTree memory_of(const Entry& entry) {
  DocumentTree tree;
  tree["by_hand"] = entry.by_hand, tree["approved"] = entry.approved;
  tree["needs_approval"] = entry.needs_approval;
  tree["supported"] = entry.supported, tree["relapsed"] = entry.relapsed;
  tree["known"] = entry.is_known, tree["held"] = entry.held;
  if (entry.first_sure) tree["first_sure"] = tree_of(*entry.first_sure);
  tree["told_until"] = weft::to_string(entry.told_until);
  if (entry.put_back) tree["put_back"] = weft::to_string(*entry.put_back);
  if (entry.ends) tree["ends_s"] = entry.ends->count();
  tree["since_s"] = entry.since.count();
  if (entry.clean_at) tree["clean_at_s"] = entry.clean_at->count();
  tree["clean_s"] = entry.clean.count();
  return tree;
}

Result<Now> as_now(const JsonView& view) {
  Now now;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "wall", now.wall, files::as_time); },
                        [&] { return need_member(view, "uptime_s", now.uptime, as_seconds); },
                        [&] { return need_member(view, "boot", now.boot, as_text); }));
  return now;
}

DocumentTree tree_of(const BootStep& step) {
  DocumentTree tree;
  tree["boot"] = step.boot, tree["uptime_s"] = step.uptime.count(), tree["time_s"] = step.time.count();
  return tree;
}
Result<BootStep> as_boot_step(const JsonView& view) {
  BootStep step;
  WEFT_TRY_VOID(in_turn([&] { return need_member(view, "boot", step.boot, as_text); },
                        [&] { return need_member(view, "uptime_s", step.uptime, as_seconds); },
                        [&] { return need_member(view, "time_s", step.time, as_seconds); }));
  return step;
}
Result<std::vector<BootStep>> as_boot_steps(const JsonView& view) {
  return files::read_array<BootStep>(view, as_boot_step);
}

Result<std::vector<UtcTime>> as_runs(const JsonView& view) {
  return files::read_array<UtcTime>(view, files::as_time);
}
Result<std::vector<Seconds>> as_times(const JsonView& view) {
  return files::read_array<Seconds>(view, as_seconds);
}

/// One line of this schema; `read(root)` takes its members.
template <class Read>
Result<void> read_document(std::string_view line, std::string_view what, std::string_view schema, Read read) {
  if (const auto fits = check_json_limits(line, kLimits); !fits) return pass_on(fits, what);
  WEFT_TRY(const auto json, files::parse_json(line, what));
  const JsonView root(json, what);
  WEFT_TRY_VOID(check_schema(root, schema));
  return read(root);
}

}  // namespace

std::string entry_line(std::string_view fabric, const Entry& entry) {
  DocumentTree tree;
  tree["schema"] = kEntrySchema;
  tree["fabric"] = fabric;
  tree["id"] = entry.id.value();
  tree["subject"]["kind"] = to_string(entry.subject.kind);
  tree["subject"]["name"] = entry.subject.name;
  tree["state"] = to_string(entry.state);
  tree["cause"] = weft::to_string(entry.cause);
  tree["verdict"] = weft::to_string(entry.verdict);
  tree["confidence"] = entry.confidence;
  if (entry.size) tree["size"] = *entry.size;
  tree["evidence"] = entry.evidence;
  tree["author"] = entry.author, tree["reason"] = entry.reason;
  tree["offences"] = entry.offences;
  if (entry.held_back) tree["held_back"] = *entry.held_back;
  tree["first_seen"] = weft::to_string(entry.first_seen);
  tree["last_seen"] = weft::to_string(entry.last_seen);
  tree["marks"] = DocumentTree::array();
  for (const Mark& mark : entry.marks) tree["marks"].push_back(tree_of(mark));
  tree["policy"] = memory_of(entry);
  return files::document_line(tree);
}

Result<LedgerEntry> parse_entry_line(std::string_view line, std::string_view what) {
  LedgerEntry read;
  WEFT_TRY_VOID(read_document(line, what, kEntrySchema, [&](const JsonView& root) {
    return in_turn([&] { return need_member(root, "fabric", read.fabric, as_text); },
                   [&] { return read_story(root, read.entry); },
                   [&] { return read_memory(root, read.entry); });
  }));
  return read;
}

bool are_of_ledger(std::string_view lines) {
  return lines.substr(0, lines.find('\n')).find(kEntrySchema) != std::string_view::npos;
}

Result<std::vector<LedgerEntry>> parse_entry_lines(std::string_view lines, std::string_view what) {
  return files::read_lines<LedgerEntry>(lines, what, parse_entry_line);
}

std::string ledger_line(const Ledger& ledger) {
  DocumentTree tree;
  tree["schema"] = kLedgerSchema;
  tree["fabric"] = ledger.fabric;
  tree["last_id"] = ledger.last_id;
  tree["time_s"] = ledger.time.count();
  if (ledger.last) {
    tree["last"]["wall"] = weft::to_string(ledger.last->wall);
    tree["last"]["uptime_s"] = ledger.last->uptime.count();
    tree["last"]["boot"] = ledger.last->boot;
  }
  tree["boots"] = DocumentTree::array();
  for (const BootStep& step : ledger.boots) tree["boots"].push_back(tree_of(step));
  tree["told_until"] = weft::to_string(ledger.told_until);
  tree["taken"] = DocumentTree::array();
  for (const UtcTime run : ledger.taken) tree["taken"].push_back(weft::to_string(run));
  if (ledger.nic_action) tree["nic"] = to_string(*ledger.nic_action);
  if (ledger.breaker) tree["breaker"] = *ledger.breaker;
  tree["drained_s"] = DocumentTree::array();
  for (const Seconds at : ledger.drained) tree["drained_s"].push_back(at.count());
  return files::document_line(tree);
}

Result<Ledger> parse_ledger_line(std::string_view line, std::string_view what) {
  Ledger ledger;
  WEFT_TRY_VOID(read_document(line, what, kLedgerSchema, [&](const JsonView& root) {
    return in_turn([&] { return need_member(root, "fabric", ledger.fabric, as_text); },
                   [&] { return need_member(root, "last_id", ledger.last_id, files::as_count); },
                   [&] { return need_member(root, "time_s", ledger.time, as_seconds); },
                   [&] { return read_member(root, "last", ledger.last, as_now); },
                   [&] { return read_member(root, "boots", ledger.boots, as_boot_steps); },
                   [&] { return need_member(root, "told_until", ledger.told_until, files::as_time); },
                   [&] { return read_member(root, "taken", ledger.taken, as_runs); },
                   [&] { return read_member(root, "nic", ledger.nic_action, as_nic_action); },
                   [&] { return read_member(root, "breaker", ledger.breaker, as_text); },
                   [&] { return need_member(root, "drained_s", ledger.drained, as_times); });
  }));
  return ledger;
}

}  // namespace weft::blacklist
