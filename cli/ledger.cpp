// `weft blacklist update | list | add | release | approve | hold | resume | history`: the ledger of a fabric.
#include <algorithm>

#include "balancer/blacklist/incident_evidence.hpp"
#include "balancer/blacklist/ledger_json.hpp"
#include "cli/blacklist.hpp"
#include "cli/exit_status.hpp"
#include "cli/ledger_options.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/file_text.hpp"
#include "topology/files/incident_json.hpp"
#include "topology/files/json_fields.hpp"
#include "topology/files/time_span.hpp"

namespace weft::cli {
namespace {

using blacklist::Entry;
using blacklist::EntryState;
using store::Database;

constexpr Bytes kMaxDiagnosisBytes = Bytes(1'000'000'000);
constexpr std::size_t kMaxEvents = 1000;

Result<std::vector<blacklist::Evidence>> read_evidence(const po::variables_map& values,
                                                       const Fabric& fabric) {
  std::vector<blacklist::Evidence> evidence;
  if (!values.count("diagnosis")) return evidence;
  for (const std::string& path : values["diagnosis"].as<std::vector<std::string>>()) {
    const std::string name = path == "-" ? "stdin" : path;
    const auto text = files::read_text_file(path == "-" ? "/dev/stdin" : path, kMaxDiagnosisBytes);
    if (!text) return pass_on(text, name);
    WEFT_TRY(const auto document, files::parse_diagnosis(*text, name));
    auto read = blacklist::evidence_of(fabric, document);
    if (!read) return pass_on(read, name);
    for (const std::string& words : read->advice)
      print_stderr("weft: {}: no entry says this, look yourself: {}\n", name, words);
    evidence.push_back(std::move(read->evidence));
  }
  return evidence;
}

/// Of what a watcher told lately: events, of which a last line that has no end yet is not whole.
Result<void> read_events(const std::string& path, const Fabric& fabric, blacklist::Seconds oldest,
                         std::vector<blacklist::Evidence>& into) {
  const std::string name = path == "-" ? "stdin" : path;
  auto text = files::read_text_file(path == "-" ? "/dev/stdin" : path, kMaxDiagnosisBytes);
  if (!text) return pass_on(text, name);
  text->resize(text->rfind('\n') + 1);
  WEFT_TRY(const auto reports, files::read_lines<files::EventReport>(*text, name, files::parse_event));
  std::vector<IncidentEvent> events;
  std::size_t unknown = 0;
  for (const files::EventReport& report : reports) {
    auto event = files::event_of(fabric, report);
    if (!event && event.error().kind != ErrorKind::not_found) return pass_on(event, name);
    if (event) events.push_back(std::move(*event));
    unknown += event ? 0 : 1;
  }
  if (unknown > 0) print_stderr("weft: {}: {} events are of places that the fabric has not\n", name, unknown);
  auto read = blacklist::evidence_of(fabric, events, now_of_machine().wall - oldest);
  for (const std::string& words : read.advice)
    print_stderr("weft: {}: no entry says this, look yourself: {}\n", name, outside_text(words));
  std::ranges::move(read.evidence, std::back_inserter(into));
  return {};
}

/// One step with this, and what came of it.
Result<void> step_with(const po::variables_map& values, OpenedLedger& opened,
                       const std::vector<blacklist::Evidence>& evidence,
                       const std::vector<blacklist::Command>& commands) {
  WEFT_TRY(const auto before, opened.keeper().read());
  WEFT_TRY(const auto policy, read_policy(values, before));
  WEFT_TRY(const auto mutes, read_mutes(values, opened.fabric));
  const auto now = now_of_machine();
  WEFT_TRY(const auto stepped, opened.keeper().change(now.wall, [&](blacklist::Ledger ledger) {
    return Result<blacklist::Stepped>(
        step(std::move(ledger), opened.fabric, policy, evidence, commands, mutes, now));
  }));
  print_events(stepped.events);
  write_metrics(values, stepped.ledger);
  // Whoever runs it by cron has to hear that a run counted for nothing.
  const auto refused = std::ranges::find_if(stepped.events, [](const blacklist::LedgerEvent& event) {
    return event.kind == blacklist::EventKind::refused && !event.entry;
  });
  if (refused != stepped.events.end()) return fail(ErrorKind::invalid_input, "not taken: {}", refused->text);
  return {};
}

Result<void> update(const po::variables_map& values) {
  WEFT_TRY(auto opened, open_ledger(values, Database::Access::write));
  WEFT_TRY(auto evidence, read_evidence(values, opened.fabric));
  if (values.count("events"))
    for (const std::string& path : values["events"].as<std::vector<std::string>>())
      WEFT_TRY_VOID(read_events(path, opened.fabric, blacklist::Policy().oldest, evidence));
  return step_with(values, opened, evidence, {});
}

Result<void> add(const po::variables_map& values) {
  WEFT_TRY(const auto reason, need_text(values, "reason", "who reads the list wants to know"));
  WEFT_TRY(const auto span, read_option(values, "for", files::parse_span));
  if (!span) return fail(ErrorKind::usage, "--for TIME is missing, as in --for 4h: an entry ends by itself");
  if (*span > blacklist::kMaxTime) return fail(ErrorKind::usage, "--for: 366 days at most");
  const auto name = text_option(values, "subject");
  if (!name) return fail(ErrorKind::usage, "of what? a link, NIC, host or switch, as in: add leaf1--spine2");
  WEFT_TRY(auto opened, open_ledger(values, Database::Access::write));
  WEFT_TRY(const auto subject, blacklist::parse_subject(opened.fabric, *name));
  WEFT_TRY_VOID(
      step_with(values, opened, {},
                {blacklist::Add{subject, std::chrono::ceil<blacklist::Seconds>(*span), reason, who_asks()}}));
  WEFT_TRY(const auto ledger, opened.keeper().read());
  const auto added = blacklist::name_of(opened.fabric, subject);
  // Whoever asked goes on to pull the cable: jobs may still be sent over it.
  for (const Entry& entry : ledger.entries)
    if (entry.subject == added && entry.held_back && entry.state != EntryState::released)
      return fail(ErrorKind::conflict, "{} is not kept out of use: {}", *name, *entry.held_back);
  return {};
}

/// A command that names an entry.
template <class Make>
Result<void> command_on_entry(const po::variables_map& values, Make make) {
  WEFT_TRY(const auto id, read_id(values));
  WEFT_TRY(auto opened, open_ledger(values, Database::Access::write));
  WEFT_TRY(const auto ledger, opened.keeper().read());
  const Entry* entry = find(ledger, id);
  if (!entry || entry->state == EntryState::released)
    return fail(ErrorKind::usage, "{} is {}: weft blacklist list shows what there is", id.value(),
                entry ? "released already" : "no entry");
  return step_with(values, opened, {}, {make(id)});
}

Result<void> release(const po::variables_map& values) {
  return command_on_entry(values, [](auto id) { return blacklist::Release{id, who_asks()}; });
}
Result<void> approve(const po::variables_map& values) {
  return command_on_entry(values, [](auto id) { return blacklist::Approve{id, who_asks()}; });
}
Result<void> hold(const po::variables_map& values) {
  WEFT_TRY(const auto reason, need_text(values, "reason", "who reads the list wants to know"));
  return command_on_entry(values, [&](auto id) { return blacklist::Hold{id, reason, who_asks()}; });
}
Result<void> resume(const po::variables_map& values) {
  WEFT_TRY(auto opened, open_ledger(values, Database::Access::write));
  return step_with(values, opened, {}, {blacklist::Resume{who_asks()}});
}

std::string why(const Entry& entry) {
  if (entry.held_back) return "held back: " + *entry.held_back;
  if (entry.held) return "held: approve it to apply it again";
  if (!entry.is_known) return "the fabric file has it no more";
  if (!entry.reason.empty()) return entry.reason;
  return entry.evidence.empty() ? "" : entry.evidence.front();
}

Result<void> list(const po::variables_map& values) {
  WEFT_TRY(const bool json, wants_json(values));
  std::optional<EntryState> only;
  if (const auto word = text_option(values, "state")) {
    only = blacklist::parse_entry_state(*word);
    if (!only)
      return fail(ErrorKind::usage, "--state {}: expected proposed, active, probation or released", *word);
  }
  WEFT_TRY(auto opened, open_ledger(values, Database::Access::read));
  WEFT_TRY(const auto ledger, opened.keeper().read());
  TextTable table({{"ID"}, {"SUBJECT"}, {"STATE"}, {"CAUSE"}, {"CONFIDENCE"}, {"WHY"}});
  for (const Entry& entry : ledger.entries) {
    if (only ? entry.state != *only : entry.state == EntryState::released) continue;
    if (json)
      fmt::print("{}\n", entry_line(ledger.fabric, entry));
    else
      table.add({std::to_string(entry.id.value()), entry.subject.name, std::string(to_string(entry.state)),
                 entry.by_hand ? "" : std::string(weft::to_string(entry.cause)),
                 entry.by_hand ? "" : fmt::format("{:.3f}", entry.confidence), why(entry)});
  }
  if (ledger.breaker) print_stderr("weft: nothing new is applied: {}\n", *ledger.breaker);
  if (!json) fmt::print("{}", table.text(terminal_columns()));
  return {};
}

Result<void> history(const po::variables_map& values) {
  std::optional<blacklist::EntryId> id;
  if (values.count("id")) {
    WEFT_TRY(id, read_id(values));
  }
  WEFT_TRY(auto opened, open_ledger(values, Database::Access::read));
  WEFT_TRY_VOID(opened.keeper().read().map([](auto&&) {}));  // what others changed meanwhile
  WEFT_TRY(const auto lines, opened.store->history(id, kMaxEvents));
  TextTable table({{"TIME"}, {"ID"}, {"EVENT"}, {"WHO"}, {"WHAT"}});
  for (const auto& [at, event] : lines)
    table.add({weft::to_string(at), event.entry ? std::to_string(event.entry->value()) : "",
               std::string(to_string(event.kind)), event.author, event.text});
  fmt::print("{}", table.text(terminal_columns()));
  return {};
}

OptionParser entry_options(const char* word, const char* summary, const char* example) {
  OptionParser parser(fmt::format("weft blacklist {} ID --ledger FILE --fabric FILE", word), summary,
                      example);
  parser.options().add_options()("id", po::value<std::string>()->value_name("ID"),
                                 "the entry's number, as list shows it");
  add_ledger_options(parser);
  add_policy_options(parser);
  parser.positional("id", 1);
  return parser;
}

}  // namespace

OptionParser blacklist_update_options() {
  OptionParser parser(
      "weft blacklist update [DIAGNOSIS.json...] --ledger FILE --fabric FILE",
      "Takes what runs found into the blacklist, and what time has brought: faults become "
      "entries, clean runs\nrelease them, caps hold back what would take too much out of use. "
      "Reads documents that sweep, simulate\nand diagnose write with -o json, and events of weft watch. "
      "Prints what "
      "changed; changes no scheduler and no fabric.",
      "  weft blacklist update diagnosis.json --ledger bl.db --fabric fabric.yaml\n");
  parser.options().add_options()("diagnosis", po::value<std::vector<std::string>>()->value_name("FILE"),
                                 "documents of runs, in any order; - is stdin")(
      "events", po::value<std::vector<std::string>>()->value_name("FILE"),
      "events of weft watch (its --events, or -o json)");
  add_ledger_options(parser);
  add_policy_options(parser);
  add_metrics_option(parser);
  parser.positional("diagnosis", -1);
  return parser;
}

OptionParser blacklist_list_options() {
  OptionParser parser(
      "weft blacklist list --ledger FILE --fabric FILE [--state S]",
      "Lists the entries that are not released. As JSON: an entry a line, which "
      "weft balance --avoid reads.",
      "  weft blacklist list --ledger bl.db --fabric fabric.yaml --state active -o json > avoid.jsonl\n");
  add_ledger_options(parser);
  parser.options().add_options()(
      "state", po::value<std::string>()->value_name("proposed|active|probation|released"), "these alone");
  add_output_option(parser.options(Group::output));
  return parser;
}

OptionParser blacklist_add_options() {
  OptionParser parser(
      "weft blacklist add SUBJECT --for TIME --reason TEXT --ledger FILE --fabric FILE",
      "Puts a link, NIC, host or switch on the blacklist for a time, as for planned work. Caps "
      "hold for it too.",
      "  weft blacklist add leaf2 --for 4h --reason 'line card' --ledger bl.db --fabric fabric.yaml\n");
  parser.options().add_options()("subject", po::value<std::string>()->value_name("SUBJECT"),
                                 "leaf1--spine2, leaf1->spine2, host1/p2, host1 or leaf1")(
      "for", po::value<std::string>()->value_name("TIME"), "how long, as 30m, 2h, 3d")(
      "reason", po::value<std::string>()->value_name("TEXT"), "why, for who reads the list");
  add_ledger_options(parser);
  add_policy_options(parser);
  parser.positional("subject", 1);
  return parser;
}

OptionParser blacklist_release_options() {
  return entry_options("release", "Takes an entry off the blacklist.",
                       "  weft blacklist release 3 --ledger bl.db --fabric fabric.yaml\n");
}
OptionParser blacklist_approve_options() {
  return entry_options("approve", "Lets an entry become active that waits for it, or that was held.",
                       "  weft blacklist approve 2 --ledger bl.db --fabric fabric.yaml\n");
}
OptionParser blacklist_hold_options() {
  auto parser =
      entry_options("hold", "Takes an entry out of force until it is approved again.",
                    "  weft blacklist hold 1 --reason 'under repair' --ledger bl.db --fabric fabric.yaml\n");
  parser.options().add_options()("reason", po::value<std::string>()->value_name("TEXT"),
                                 "why, for who reads the list");
  return parser;
}
OptionParser blacklist_resume_options() {
  OptionParser parser(
      "weft blacklist resume --ledger FILE --fabric FILE",
      "Ends the breaker, which trips when more faults come at once than the caps let through. "
      "What the newest run\nsays is applied then, as far as the caps go; the rest has to be "
      "seen again.",
      "  weft blacklist resume --ledger bl.db --fabric fabric.yaml\n");
  add_ledger_options(parser);
  add_policy_options(parser);
  return parser;
}
OptionParser blacklist_history_options() {
  OptionParser parser("weft blacklist history [ID] --ledger FILE --fabric FILE",
                      "What happened to the blacklist, or to one entry: when, what, by whom.",
                      "  weft blacklist history --ledger bl.db --fabric fabric.yaml\n");
  parser.options().add_options()("id", po::value<std::string>()->value_name("ID"), "of this entry alone");
  add_ledger_options(parser);
  parser.positional("id", 1);
  return parser;
}

int blacklist_update_command(const Arguments& a) {
  return run_command(blacklist_update_options(), a, update);
}
int blacklist_list_command(const Arguments& a) { return run_command(blacklist_list_options(), a, list); }
int blacklist_add_command(const Arguments& a) { return run_command(blacklist_add_options(), a, add); }
int blacklist_release_command(const Arguments& a) {
  return run_command(blacklist_release_options(), a, release);
}
int blacklist_approve_command(const Arguments& a) {
  return run_command(blacklist_approve_options(), a, approve);
}
int blacklist_hold_command(const Arguments& a) { return run_command(blacklist_hold_options(), a, hold); }
int blacklist_resume_command(const Arguments& a) {
  return run_command(blacklist_resume_options(), a, resume);
}
int blacklist_history_command(const Arguments& a) {
  return run_command(blacklist_history_options(), a, history);
}

}  // namespace weft::cli
