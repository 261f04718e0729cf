#include "balancer/blacklist/ledger_change.hpp"

#include <algorithm>

#include "balancer/blacklist/ledger_json.hpp"
#include "topology/base/json_limits.hpp"
#include "topology/files/json_fields.hpp"
#include "topology/files/json_text.hpp"

namespace weft::blacklist {
namespace {

using files::DocumentTree;
using files::JsonView;
using files::need_member;
using files::read_member;

constexpr std::string_view kChangeSchema = "weft.ledger_change/1";
constexpr JsonLimits kChangeLimits{.bytes = 1'000'000, .depth = 8, .values = 50'000};

/// As weft makes it; of anything else two might look alike.
Result<std::string> as_random_id(const JsonView& view) {
  WEFT_TRY(auto text, files::as_text(view));
  if (text.size() < 8 || text.size() > 64 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
    return view.error("expected 8 to 64 hexadecimal digits");
  return text;
}

Result<EntryId> as_entry_id(const JsonView& view) {
  WEFT_TRY(const auto number, files::as_count(view));
  return EntryId(number);
}
Result<std::vector<EntryId>> as_entry_ids(const JsonView& view) {
  return files::read_array<EntryId>(view, as_entry_id);
}

Result<LedgerEvent> as_event(const JsonView& view) {
  LedgerEvent event;
  WEFT_TRY_VOID(in_turn(
      [&] {
        return need_member(view, "kind", event.kind,
                           files::as_word(&parse_event_kind, "an event of a ledger"));
      },
      [&] { return read_member(view, "entry", event.entry, as_entry_id); },
      [&] { return need_member(view, "text", event.text, files::as_text); },
      [&] { return need_member(view, "author", event.author, files::as_text); }));
  return event;
}
Result<std::vector<LedgerEvent>> as_events(const JsonView& view) {
  return files::read_array<LedgerEvent>(view, as_event);
}

DocumentTree tree_of(const LedgerEvent& event) {
  DocumentTree tree;
  tree["kind"] = to_string(event.kind);
  if (event.entry) tree["entry"] = event.entry->value();
  tree["text"] = event.text, tree["author"] = event.author;
  return tree;
}

std::string head_of(const LedgerChange& change) {
  DocumentTree tree;
  tree["schema"] = kChangeSchema;
  tree["chain"] = change.place.chain, tree["id"] = change.place.change;
  tree["number"] = change.place.number, tree["previous"] = change.previous;
  tree["at"] = weft::to_string(change.at);
  tree["whole"] = change.whole;
  tree["removed"] = DocumentTree::array();
  for (const EntryId id : change.removed) tree["removed"].push_back(id.value());
  tree["events"] = DocumentTree::array();
  for (const LedgerEvent& event : change.events) tree["events"].push_back(tree_of(event));
  return files::document_line(tree);
}

Result<void> read_head(std::string_view line, std::string_view what, LedgerChange& change) {
  if (const auto fits = check_json_limits(line, kChangeLimits); !fits) return pass_on(fits, what);
  WEFT_TRY(const auto json, files::parse_json(line, what));
  const JsonView root(json, what);
  WEFT_TRY_VOID(check_schema(root, kChangeSchema));
  return in_turn([&] { return need_member(root, "chain", change.place.chain, as_random_id); },
                 [&] { return need_member(root, "id", change.place.change, as_random_id); },
                 [&] { return need_member(root, "number", change.place.number, files::as_count); },
                 [&] { return need_member(root, "previous", change.previous, files::as_text); },
                 [&] { return need_member(root, "at", change.at, files::as_time); },
                 [&] { return need_member(root, "whole", change.whole, files::as_boolean); },
                 [&] { return need_member(root, "removed", change.removed, as_entry_ids); },
                 [&] { return need_member(root, "events", change.events, as_events); });
}

/// The next line, which `text` loses.
std::string_view take_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

LedgerChange change_between(const Ledger& before, const Ledger& after, bool whole) {
  LedgerChange change{.whole = whole, .ledger = after};
  if (whole) return change;
  std::erase_if(change.ledger.entries, [&](const Entry& entry) {
    const Entry* was = find(before, entry.id);
    return was && *was == entry;
  });
  for (const Entry& entry : before.entries)
    if (!find(after, entry.id)) change.removed.push_back(entry.id);
  return change;
}

Ledger with_change(const Ledger& before, const LedgerChange& change) {
  Ledger after = change.ledger;
  if (change.whole) return after;
  for (const Entry& entry : before.entries)
    if (!find(change.ledger, entry.id) && std::ranges::find(change.removed, entry.id) == change.removed.end())
      after.entries.push_back(entry);
  std::ranges::sort(after.entries, {}, &Entry::id);
  return after;
}

std::string change_text(const LedgerChange& change) {
  auto text = head_of(change) + '\n' + ledger_line(change.ledger) + '\n';
  for (const Entry& entry : change.ledger.entries) text += entry_line(change.ledger.fabric, entry) + '\n';
  return text;
}

Result<LedgerChange> parse_change(std::string_view text, std::string_view what) {
  LedgerChange change;
  WEFT_TRY_VOID(read_head(take_line(text), what, change));
  WEFT_TRY(change.ledger, parse_ledger_line(take_line(text), what));
  WEFT_TRY(auto entries, parse_entry_lines(text, what));
  for (LedgerEntry& read : entries) {
    if (!change.ledger.entries.empty() && read.entry.id <= change.ledger.entries.back().id)
      return fail(ErrorKind::invalid_input, "{}: its entries do not ascend by their numbers", what);
    if (read.entry.id.value() > change.ledger.last_id || read.fabric != change.ledger.fabric)
      return fail(ErrorKind::invalid_input, "{}: entry {} is none of this ledger", what,
                  read.entry.id.value());
    change.ledger.entries.push_back(std::move(read.entry));
  }
  return change;
}

}  // namespace weft::blacklist
