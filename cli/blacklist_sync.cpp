// `weft blacklist sync | undo | check | adopt`: a ledger and what stands at a target.
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <set>

#include "balancer/export/sync.hpp"
#include "cli/blacklist.hpp"
#include "cli/blacklist_target.hpp"
#include "cli/exit_status.hpp"
#include "cli/ledger_options.hpp"
#include "cli/stamp.hpp"
#include "cli/terminal.hpp"
#include "topology/base/outside_text.hpp"
#include "topology/base/text_table.hpp"
#include "topology/files/time_span.hpp"
#include "topology/os/file_descriptor.hpp"

namespace weft::cli {
namespace {

using blacklist::Entry;
using blacklist::EntryId;
using blacklist::Ledger;
using blacklist::Mark;
using exports::Act;
using exports::Change;
using exports::Look;
using exports::Plan;
using exports::Site;
using exports::Standing;
using exports::Translation;
using store::Database;

/// One writer: until the descriptor is closed.
Result<os::FileDescriptor> claim_targets(const std::string& ledger) {
  std::error_code error;
  const auto file_itself = std::filesystem::weakly_canonical(ledger, error);  // it may have several names
  const auto path = (error ? ledger : file_itself.string()) + ".sync";
  os::FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
  if (!file) return fail(ErrorKind::permission, "{}: {}", path, std::generic_category().message(errno));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(ErrorKind::conflict, "{}: another weft is applying this blacklist: wait for its end", path);
  return file;
}

void print_undo(const Change& change) {
  print_stderr("weft: to undo {} {}: {}\n", to_string(change.act), change.object, change.undo);
}

/// What the words name: a ledger with its fabric, and a target.
struct Place {
  std::unique_ptr<OpenedLedger> opened;
  blacklist::Policy policy;
  std::unique_ptr<exports::Target> target;
  os::FileDescriptor claim;  // none where nothing is applied

  Site site() {
    Site made{opened->fabric, policy, opened->keeper(), *target, now_of_machine, print_events, print_undo};
    if (opened->bus) made.may_apply = [this] { return opened->bus->may_change(); };
    return made;
  }
};

Result<Place> open_place(const po::variables_map& values, bool apply) {
  if (apply && values["output"].as<std::string>() != "table")
    return fail(ErrorKind::usage, "-o goes with a dry run: --apply prints what it did");
  WEFT_TRY(auto ledger, open_ledger(values, apply ? Database::Access::write : Database::Access::read));
  auto opened = std::make_unique<OpenedLedger>(std::move(ledger));
  WEFT_TRY(const auto kept, opened->keeper().read());
  WEFT_TRY(const auto policy, read_policy(values, kept));
  // Caps of hosts let through other things than those of rails.
  if (kept.nic_action && *kept.nic_action != policy.nic_action)
    return fail(ErrorKind::usage,
                "--nic {}: the ledger is kept by {}: weft blacklist update --nic {} changes that",
                to_string(policy.nic_action), to_string(*kept.nic_action), to_string(policy.nic_action));
  WEFT_TRY(auto target, open_target(values, opened->fabric));
  os::FileDescriptor claim;
  if (apply) {
    WEFT_TRY(claim, claim_targets(values["ledger"].as<std::string>()));
    if (opened->bus) WEFT_TRY_VOID(opened->bus->hold());
  }
  return Place{std::move(opened), policy, std::move(target), std::move(claim)};
}

/// A step with these commands; `keep` it in the ledger, or only see what it would be.
Result<blacklist::Stepped> stepped_with(const Site& site, const std::vector<blacklist::Command>& commands,
                                        bool keep) {
  const auto now = site.clock();
  const auto work = [&](Ledger ledger) {
    return Result<blacklist::Stepped>(
        step(std::move(ledger), site.fabric, site.policy, {}, commands, Mutes(), now));
  };
  if (keep) return site.ledger.change(now.wall, work);
  WEFT_TRY(auto ledger, site.ledger.read());
  return work(std::move(ledger));
}

void say(const Plan& plan, const Translation& translation) {
  for (const std::string& words : plan.left_alone) print_stderr("weft: {}\n", outside_text(words));
  for (const std::string& object : plan.orphans)
    print_stderr("weft: {}: a mark of weft's that this ledger does not know: weft blacklist adopt {}\n",
                 object, object);
  for (const std::string& words : translation.advice) print_stderr("weft: {}\n", words);
}

Result<int> applied(const Site& site, Look& look, exports::Puts puts = exports::Puts::made) {
  const auto refused = exports::apply(site, look, puts);
  say(look.plan, look.translation);
  if (!refused) return pass_on(refused);
  return *refused == 0 ? kExitHealthy : kExitDegraded;
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
  return look.plan.would_change() || look.plan.refused > 0 ? kExitDegraded : kExitHealthy;
}

/// Of what stands now, which is looked at once more.
Result<void> write_figures(const po::variables_map& values, const Site& site) {
  WEFT_TRY(auto ledger, site.ledger.read());
  WEFT_TRY(const auto look, look_at(site, std::move(ledger)));
  write_metrics(values, look.ledger,
                metrics::TargetFigures{.target = std::string(site.target.name()),
                                       .pending = look.plan.changes.size() + look.plan.undone.size(),
                                       .left_alone = look.plan.left_alone.size(),
                                       .orphans = look.plan.orphans.size(),
                                       .at = site.clock().wall});
  return {};
}

/// What was added for a time ends here too: a site may sync more often than it hears of runs.
Result<Ledger> ledger_of_now(const Site& site, bool keep) {
  const auto now = site.clock();
  const auto work = [&](Ledger ledger) {
    return Result<blacklist::Stepped>(let_time_pass(std::move(ledger), site.fabric, site.policy, now));
  };
  if (keep) {
    WEFT_TRY(auto stepped, site.ledger.change(now.wall, work));
    print_events(stepped.events);
    return std::move(stepped.ledger);
  }
  WEFT_TRY(auto ledger, site.ledger.read());
  WEFT_TRY(auto stepped, work(std::move(ledger)));
  return std::move(stepped.ledger);
}

Result<int> sync(const po::variables_map& values) {
  const bool apply = values.count("apply") != 0;
  WEFT_TRY(auto place, open_place(values, apply));
  const Site site = place.site();
  WEFT_TRY(auto ledger, ledger_of_now(site, apply));
  WEFT_TRY(auto look, look_at(site, std::move(ledger)));
  WEFT_TRY(const int status, apply ? applied(site, look) : shown(values, site, look));
  if (values.count("metrics-file")) WEFT_TRY_VOID(write_figures(values, site));
  return status;
}

/// Leaves of the plan what has to do with the objects that an entry has marks on.
void keep_only(Plan& plan, const Entry& entry, std::string_view target) {
  std::set<std::string, std::less<>> its;
  for (const Mark& mark : entry.marks)
    if (mark.target == target) its.insert(mark.object);
  for (const Plan::Settled& one : plan.settled)
    if (one.entry == entry.id) its.insert(one.object);
  const auto is_its = [&](const std::string& object) { return its.contains(object); };
  std::erase_if(plan.changes, [&](const Change& change) { return !is_its(change.object); });
  std::erase_if(plan.settled, [&](const Plan::Settled& one) { return one.entry != entry.id; });
  plan.undone.clear();
  std::erase_if(plan.left_alone,
                [&](const std::string& words) { return !is_its(words.substr(0, words.find(": "))); });
  plan.orphans.clear();
}

Result<int> undo(const po::variables_map& values) {
  const bool apply = values.count("apply") != 0;
  WEFT_TRY(const auto id, read_id(values));
  WEFT_TRY(auto place, open_place(values, apply));
  const Site site = place.site();
  WEFT_TRY(const auto before, site.ledger.read());
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
  const bool is_left = !look.plan.left_alone.empty();
  WEFT_TRY(const int status, applied(site, look, exports::Puts::none));
  return is_left ? kExitDegraded : status;
}

std::string what_stands(const Look& look, const std::string& object) {
  const auto at = std::ranges::find(look.standings, object, &Standing::object);
  return at != look.standings.end() ? outside_text(at->text) : "absent";
}

Result<int> check(const po::variables_map& values) {
  WEFT_TRY(auto place, open_place(values, false));
  const Site site = place.site();
  WEFT_TRY(auto ledger, site.ledger.read());
  WEFT_TRY(const auto look, look_at(site, std::move(ledger)));
  TextTable table({{"OBJECT"}, {"ENTRY"}, {"LEDGER"}, {"THERE"}});
  for (const Entry& entry : look.ledger.entries)
    for (const Mark& mark : entry.marks)
      if (mark.target == site.target.name())
        table.add({mark.object, std::to_string(entry.id.value()),
                   mark.is_open() ? "not known: " + mark.set : mark.set, what_stands(look, mark.object)});
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
  const auto before = site.target.translate(ledger, site.fabric, site.policy);
  std::vector<blacklist::Command> commands;
  std::set<std::string> subjects;
  for (const std::string& object : objects)
    if (!wants(before, object)) {
      // Several marks may be of one subject.
      auto about = site.target.subject_of(object);
      if (!subjects.insert(about).second) continue;
      WEFT_TRY(const auto subject, blacklist::parse_subject(site.fabric, about));
      commands.push_back(
          blacklist::Add{subject, length, "adopted: " + what_stands(look, object), who_asks()});
    }
  const auto now = now_of_machine();
  auto stepped = step(std::move(ledger), site.fabric, site.policy, {}, commands, Mutes(), now);
  const auto after = site.target.translate(stepped.ledger, site.fabric, site.policy);
  for (const std::string& object : objects) {
    const auto id = wants(after, object);
    if (!id)
      return fail(ErrorKind::conflict,
                  "{}: a cap or the breaker holds its entry back (weft blacklist list): nothing was adopted",
                  object);
    const auto entry = std::ranges::find(stepped.ledger.entries, *id, &Entry::id);
    entry->marks.push_back({std::string(site.target.name()), object, std::string(exports::kInService),
                            what_stands(look, object), now.wall, now.wall});
  }
  return stepped;
}

Result<int> adopt(const po::variables_map& values) {
  const bool apply = values.count("apply") != 0;
  if (!values.count("object"))
    return fail(ErrorKind::usage, "which? weft blacklist check names what can be adopted");
  const auto objects = values["object"].as<std::vector<std::string>>();
  WEFT_TRY(const auto span, read_option(values, "for", files::parse_span));
  if (span && *span > blacklist::kMaxTime) return fail(ErrorKind::usage, "--for: 366 days at most");
  const auto length = std::chrono::ceil<blacklist::Seconds>(span.value_or(std::chrono::hours(24)));
  WEFT_TRY(auto place, open_place(values, apply));
  const Site site = place.site();
  WEFT_TRY(auto ledger, site.ledger.read());
  WEFT_TRY(auto look, look_at(site, std::move(ledger)));
  for (const std::string& object : objects)
    if (std::ranges::find(look.plan.orphans, object) == look.plan.orphans.end())
      return fail(ErrorKind::usage,
                  "{}: no mark of this blacklist stands there that the ledger does not know", object);
  if (apply) WEFT_TRY_VOID(site.target.check_rights());
  const auto work = [&](Ledger read) { return adopted_into(site, look, std::move(read), objects, length); };
  if (apply) {
    WEFT_TRY(const auto stepped, site.ledger.change(stamp_now().generated_at, work));
    print_events(stepped.events);
    plan_anew(site, look, stepped.ledger);
    return applied(site, look);
  }
  WEFT_TRY(auto read, site.ledger.read());
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

void add_sync_options(OptionParser& parser) {
  add_target_options(parser);
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
      "weft blacklist sync --to TARGET --ledger FILE --fabric FILE [--apply]",
      "Makes a scheduler, a subnet manager or a program of the site keep work away from what is active on "
      "the blacklist, and "
      "from nothing else of weft's.\nWithout --apply it prints what it would change; the exit status is 1 if "
      "anything would. What others\nset there is left alone.",
      "  weft blacklist sync --to slurm --ledger bl.db --fabric fabric.yaml\n");
  add_sync_options(parser);
  add_apply_option(parser);
  add_metrics_option(parser);
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
  add_sync_options(parser);
  add_apply_option(parser);
  add_output_option(parser.options(Group::output));
  return parser;
}

OptionParser blacklist_check_options() {
  OptionParser parser(
      "weft blacklist check --to slurm --ledger FILE --fabric FILE",
      "Compares what stands at a target with the ledger; the exit status is 1 where they differ.",
      "  weft blacklist check --to slurm --ledger bl.db --fabric fabric.yaml\n");
  add_sync_options(parser);
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
  add_sync_options(parser);
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
