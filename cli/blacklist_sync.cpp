// `weft blacklist sync | undo | check | adopt`: a ledger and what stands at a target.
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>

#include "balancer/export/slurm_target.hpp"
#include "cli/blacklist.hpp"
#include "cli/blacklist_apply.hpp"
#include "cli/exit_status.hpp"
#include "cli/ledger_options.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "cli/time_span.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::cli {
namespace {

using blacklist::Entry;
using blacklist::EntryId;
using blacklist::Ledger;
using blacklist::Mark;
using exports::Act;
using exports::Change;
using exports::Plan;
using exports::Standing;
using exports::Translation;
using store::Database;

constexpr auto kLongestCall = std::chrono::minutes(10);

/// One writer: until the descriptor is closed.
Result<os::FileDescriptor> claim_targets(const std::string& ledger) {
  const auto path = ledger + ".sync";
  os::FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return fail(ErrorKind::permission, "{}: {}", path, std::generic_category().message(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorKind::conflict, "{}: another weft is applying this blacklist: wait for its end", path);
  return file;
}

struct Site {
  OpenedLedger opened;
  blacklist::Policy policy;
  exports::SlurmTarget target;
  os::FileDescriptor claim;  // none where nothing is applied
};

Result<Site> open_site(const po::variables_map& values, bool apply) {
  const auto to = text_option(values, "to");
  if (!to) return fail(ErrorKind::usage, "to what? expected --to slurm");
  if (*to != "slurm")
    return fail(ErrorKind::not_supported, "--to {}: slurm is what can be changed so far", *to);
  WEFT_TRY(const auto limit, read_option(values, "call-limit", parse_span));
  if (limit && (*limit < std::chrono::seconds(1) || *limit > kLongestCall))
    return fail(ErrorKind::usage, "--call-limit: expected 1s to 10m");
  WEFT_TRY(const auto policy, read_policy(values));
  exports::SlurmCalls calls;
  if (limit) calls.limit = *limit;
  WEFT_TRY(auto opened, open_ledger(values, apply ? Database::Access::write : Database::Access::read));
  os::FileDescriptor claim;
  if (apply) {
    WEFT_TRY(claim, claim_targets(values["ledger"].as<std::string>()));
  }
  return Site{std::move(opened), policy, exports::SlurmTarget(calls), std::move(claim)};
}

struct Look {
  Ledger ledger;
  Translation translation;
  std::vector<Standing> standings;
  Plan plan;
};

Translation translated(const Site& site, const Ledger& ledger) {
  return exports::translate_for_slurm(ledger, site.opened.fabric,
                                      {.nic_action = site.policy.nic_action, .caps = site.policy.caps});
}

void plan_anew(const Site& site, Look& look, Ledger ledger) {
  look.ledger = std::move(ledger);
  look.translation = translated(site, look.ledger);
  look.plan = plan_changes(site.target, look.ledger, site.opened.fabric, look.translation, look.standings,
                           site.policy.caps);
}

Result<Look> look_at(Site& site, Ledger ledger) {
  Look look;
  const auto translation = translated(site, ledger);
  const auto objects = objects_to_read(site.target.name(), ledger, site.opened.fabric, translation);
  WEFT_TRY(look.standings, site.target.read(objects));
  plan_anew(site, look, std::move(ledger));
  return look;
}

/// A step with these commands; `keep` it in the ledger, or only see what it would be.
Result<blacklist::Stepped> stepped_with(Site& site, const std::vector<blacklist::Command>& commands,
                                        bool keep) {
  const auto now = now_of_machine();
  const auto work = [&](Ledger ledger) {
    return Result<blacklist::Stepped>(
        step(std::move(ledger), site.opened.fabric, site.policy, {}, commands, Mutes(), now));
  };
  if (keep) return site.opened.store.change(now.wall, work);
  WEFT_TRY(auto ledger, site.opened.store.read());
  return work(std::move(ledger));
}

void say(const Plan& plan, const Translation& translation) {
  for (const std::string& words : plan.left_alone) print_stderr("weft: {}\n", outside_text(words));
  for (const std::string& object : plan.orphans)
    print_stderr("weft: {}: a mark of weft's that this ledger does not know: weft blacklist adopt {}\n",
                 object, object);
  for (const std::string& words : translation.advice) print_stderr("weft: {}\n", words);
}

/// Entries of which somebody took a mark off go to hold, and their other marks come off.
Result<void> respect(Site& site, Look& look) {
  if (look.plan.undone.empty()) return {};
  std::vector<blacklist::Command> commands;
  for (const auto& [entry, object] : look.plan.undone)
    commands.push_back(blacklist::Hold{
        entry,
        fmt::format("somebody put {} back at {}: approve it to apply it again", object, site.target.name()),
        std::string(site.target.name())});
  WEFT_TRY(const auto stepped, stepped_with(site, commands, true));
  print_events(stepped.events);
  plan_anew(site, look, stepped.ledger);
  return {};
}

Result<int> applied(Site& site, Look& look) {
  if (!look.plan.changes.empty()) WEFT_TRY_VOID(site.target.check_rights());
  WEFT_TRY_VOID(respect(site, look));
  WEFT_TRY(const auto settled, settle_marks(site.opened.store, site.target.name(), look.plan.settled));
  print_events(settled);
  say(look.plan, look.translation);
  if (look.plan.changes.empty()) return kExitHealthy;
  WEFT_TRY(const auto done, apply_changes(site.opened.store, site.target, look.plan.changes));
  print_events(done.events);
  return done.refused == 0 ? kExitHealthy : kExitDegraded;
}

Result<int> shown(const po::variables_map& values, const Site& site, const Look& look) {
  WEFT_TRY(const bool json, wants_json(values));
  if (json)
    fmt::print("{}\n",
               changes_json(look.ledger, site.target.name(), look.plan, look.translation, stamp_now()));
  else
    fmt::print("{}", diff_of(look.plan));
  say(look.plan, look.translation);
  if (look.plan.would_change()) print_stderr("weft: nothing was changed: --apply does it\n");
  return look.plan.would_change() ? kExitDegraded : kExitHealthy;
}

Result<int> sync(const po::variables_map& values) {
  const bool apply = values.count("apply") != 0;
  if (apply && values["output"].as<std::string>() != "table")
    return fail(ErrorKind::usage, "-o goes with a dry run: --apply prints what it did");
  WEFT_TRY(auto site, open_site(values, apply));
  WEFT_TRY(auto ledger, site.opened.store.read());
  WEFT_TRY(auto look, look_at(site, std::move(ledger)));
  return apply ? applied(site, look) : shown(values, site, look);
}

/// Leaves of the plan what has to do with the objects that an entry has marks on.
void keep_only(Plan& plan, const Entry& entry, std::string_view target) {
  const auto is_its = [&](const std::string& object) {
    return std::ranges::any_of(
        entry.marks, [&](const Mark& mark) { return mark.target == target && mark.object == object; });
  };
  std::erase_if(plan.changes, [&](const Change& change) { return !is_its(change.object); });
  std::erase_if(plan.settled, [&](const Plan::Settled& one) { return one.entry != entry.id; });
  plan.undone.clear();
  plan.left_alone.clear();
  plan.orphans.clear();
}

Result<int> undo(const po::variables_map& values) {
  const bool apply = values.count("apply") != 0;
  WEFT_TRY(const auto id, read_id(values));
  WEFT_TRY(auto site, open_site(values, apply));
  WEFT_TRY(const auto before, site.opened.store.read());
  const Entry* entry = find(before, id);
  if (!entry) return fail(ErrorKind::usage, "{} is no entry: weft blacklist list shows them", id.value());
  std::vector<blacklist::Command> commands;
  if (entry->state != blacklist::EntryState::released)
    commands.push_back(blacklist::Hold{id, "undone: approve it to apply it again", who_asks()});
  if (apply) WEFT_TRY_VOID(site.target.check_rights());
  WEFT_TRY(const auto stepped, stepped_with(site, commands, apply));
  WEFT_TRY(auto look, look_at(site, stepped.ledger));
  keep_only(look.plan, *entry, site.target.name());
  look.translation.advice.clear();
  if (!apply) return shown(values, site, look);
  print_events(stepped.events);
  return applied(site, look);
}

std::string what_stands(const Look& look, const std::string& object) {
  const auto at = std::ranges::find(look.standings, object, &Standing::object);
  return at != look.standings.end() ? outside_text(at->text) : "absent";
}

Result<int> check(const po::variables_map& values) {
  WEFT_TRY(auto site, open_site(values, false));
  WEFT_TRY(auto ledger, site.opened.store.read());
  WEFT_TRY(const auto look, look_at(site, std::move(ledger)));
  TextTable table({{"OBJECT"}, {"ENTRY"}, {"LEDGER"}, {"THERE"}});
  for (const Entry& entry : look.ledger.entries)
    for (const Mark& mark : entry.marks)
      if (mark.target == site.target.name())
        table.add({mark.object, std::to_string(entry.id.value()),
                   mark.read_back ? mark.set : "not known: " + mark.set, what_stands(look, mark.object)});
  for (const std::string& object : look.plan.orphans) table.add({object, "", "", what_stands(look, object)});
  fmt::print("{}", table.text(terminal_columns()));
  say(look.plan, look.translation);
  if (!look.plan.would_change() && look.plan.orphans.empty()) return kExitHealthy;
  fmt::print("{}", diff_of(look.plan));
  return kExitDegraded;
}

/// The ledger with marks for these objects, each of an entry that wants it out of use: one is added where
/// there is none.
Result<blacklist::Stepped> adopted_into(const Site& site, const Look& look, Ledger ledger,
                                        const std::vector<std::string>& objects, blacklist::Seconds length) {
  const auto wants = [](const Translation& translation, const std::string& object) {
    const auto at = std::ranges::find(translation.demands, object, &exports::Demand::object);
    return at != translation.demands.end() ? std::optional(at->entry) : std::nullopt;
  };
  const auto before = translated(site, ledger);
  std::vector<blacklist::Command> commands;
  for (const std::string& object : objects)
    if (!wants(before, object)) {
      WEFT_TRY(const auto host, site.opened.fabric.find_node(object));
      commands.push_back(blacklist::Add{host, length, "adopted: " + what_stands(look, object), who_asks()});
    }
  const auto now = now_of_machine();
  auto stepped = step(std::move(ledger), site.opened.fabric, site.policy, {}, commands, Mutes(), now);
  const auto after = translated(site, stepped.ledger);
  for (const std::string& object : objects) {
    const auto id = wants(after, object);
    if (!id)
      return fail(ErrorKind::conflict,
                  "{}: a cap or the breaker holds its entry back (weft blacklist list): nothing was adopted",
                  object);
    const auto entry = std::ranges::find(stepped.ledger.entries, *id, &Entry::id);
    entry->marks.push_back({std::string(site.target.name()), object, "in service", what_stands(look, object),
                            now.wall, now.wall});
  }
  return stepped;
}

Result<int> adopt(const po::variables_map& values) {
  const bool apply = values.count("apply") != 0;
  if (!values.count("object"))
    return fail(ErrorKind::usage, "which? weft blacklist check names what can be adopted");
  const auto objects = values["object"].as<std::vector<std::string>>();
  WEFT_TRY(const auto span, read_option(values, "for", parse_span));
  if (span && *span > blacklist::kLongestTime) return fail(ErrorKind::usage, "--for: 366 days at most");
  const auto length = std::chrono::ceil<blacklist::Seconds>(span.value_or(std::chrono::hours(24)));
  WEFT_TRY(auto site, open_site(values, apply));
  WEFT_TRY(auto ledger, site.opened.store.read());
  WEFT_TRY(auto look, look_at(site, std::move(ledger)));
  for (const std::string& object : objects)
    if (std::ranges::find(look.plan.orphans, object) == look.plan.orphans.end())
      return fail(ErrorKind::usage,
                  "{}: no mark of this blacklist stands there that the ledger does not know", object);
  if (apply) WEFT_TRY_VOID(site.target.check_rights());
  const auto work = [&](Ledger read) { return adopted_into(site, look, std::move(read), objects, length); };
  if (apply) {
    WEFT_TRY(const auto stepped, site.opened.store.change(stamp_now().generated_at, work));
    print_events(stepped.events);
    plan_anew(site, look, stepped.ledger);
    return applied(site, look);
  }
  WEFT_TRY(auto read, site.opened.store.read());
  WEFT_TRY(const auto stepped, work(std::move(read)));
  print_events(stepped.events);
  plan_anew(site, look, stepped.ledger);
  return shown(values, site, look);
}

/// Runs a command whose status tells more than whether it worked.
int run_with_status(const OptionParser& parser, const Arguments& arguments,
                    Result<int> (*work)(const po::variables_map&)) {
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto status = work(*values);
  return status ? *status : report(status.error());
}

void add_target_options(OptionParser& parser) {
  parser.options().add_options()("to", po::value<std::string>()->value_name("slurm"), "the target")(
      "call-limit", po::value<std::string>()->value_name("TIME"),
      "each call of scontrol is ended after so long (10s)");
  add_ledger_options(parser);
  add_policy_options(parser);
}

void add_apply_option(OptionParser& parser) {
  parser.options().add_options()("apply", "do it; without, only what would change is printed");
  parser.command_line_only({"apply"});
}

}  // namespace

OptionParser blacklist_sync_options() {
  OptionParser parser(
      "weft blacklist sync --to slurm --ledger FILE --fabric FILE [--apply]",
      "Makes a scheduler keep work away from what is active on the blacklist, and from nothing "
      "else of weft's.\nWithout --apply it prints what it would change; the exit status is 1 if "
      "anything would. What others\nset there is left alone.",
      "  weft blacklist sync --to slurm --ledger bl.db --fabric fabric.yaml\n");
  add_target_options(parser);
  add_apply_option(parser);
  add_output_option(parser.options(Group::output));
  return parser;
}

OptionParser blacklist_undo_options() {
  OptionParser parser("weft blacklist undo ID --to slurm --ledger FILE --fabric FILE [--apply]",
                      "Takes the marks of an entry off a target, and holds the entry until it is approved.",
                      "  weft blacklist undo 1 --to slurm --ledger bl.db --fabric fabric.yaml\n");
  parser.options().add_options()("id", po::value<std::string>()->value_name("ID"),
                                 "the entry's number, as list shows it");
  parser.positional("id", 1);
  add_target_options(parser);
  add_apply_option(parser);
  add_output_option(parser.options(Group::output));
  return parser;
}

OptionParser blacklist_check_options() {
  OptionParser parser(
      "weft blacklist check --to slurm --ledger FILE --fabric FILE",
      "Compares what stands at a target with the ledger; the exit status is 1 where they differ.",
      "  weft blacklist check --to slurm --ledger bl.db --fabric fabric.yaml\n");
  add_target_options(parser);
  return parser;
}

OptionParser blacklist_adopt_options() {
  OptionParser parser(
      "weft blacklist adopt OBJECT... --to slurm --ledger FILE --fabric FILE [--apply]",
      "Takes marks into the ledger that weft set and this ledger does not know, as after the loss "
      "of a ledger: for\nan entry that wants the object out of use, or for a new one that ends by itself.",
      "  weft blacklist adopt host1 --for 4h --to slurm --ledger bl.db --fabric fabric.yaml\n");
  parser.options().add_options()("object", po::value<std::vector<std::string>>()->value_name("OBJECT"),
                                 "as check names it")("for", po::value<std::string>()->value_name("TIME"),
                                                      "how long a new entry holds (24h)");
  parser.positional("object", -1);
  add_target_options(parser);
  add_apply_option(parser);
  add_output_option(parser.options(Group::output));
  return parser;
}

int blacklist_sync_command(const Arguments& a) { return run_with_status(blacklist_sync_options(), a, sync); }
int blacklist_undo_command(const Arguments& a) { return run_with_status(blacklist_undo_options(), a, undo); }
int blacklist_adopt_command(const Arguments& a) {
  return run_with_status(blacklist_adopt_options(), a, adopt);
}
int blacklist_check_command(const Arguments& a) {
  return run_with_status(blacklist_check_options(), a, check);
}

}  // namespace weft::cli
