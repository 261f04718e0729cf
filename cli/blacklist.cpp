#include "cli/blacklist.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "balancer/blacklist/from_diagnosis.hpp"
#include "balancer/export/jsonl.hpp"
#include "cli/blacklist_target.hpp"
#include "cli/exit_status.hpp"
#include "cli/options.hpp"
#include "cli/words.hpp"
#include "topology/files/fabric_file.hpp"
#include "topology/files/file_text.hpp"

namespace weft::cli {
namespace {

constexpr Bytes kMaxDiagnosisBytes = Bytes(1'000'000'000);

constexpr std::array<Command, 16> kWords{{
    {"update", "add what runs found to the blacklist of a fabric", blacklist_update_command,
     blacklist_update_options},
    {"list", "show its entries, and why each is there", blacklist_list_command, blacklist_list_options},
    {"add", "keep work away from a link, NIC, host or switch for a time", blacklist_add_command,
     blacklist_add_options},
    {"release", "remove an entry", blacklist_release_command, blacklist_release_options},
    {"approve", "let an entry that waits for approval become active", blacklist_approve_command,
     blacklist_approve_options},
    {"hold", "take an entry out of force until it is approved", blacklist_hold_command,
     blacklist_hold_options},
    {"resume", "let new entries become active again after the breaker", blacklist_resume_command,
     blacklist_resume_options},
    {"sync", "make a scheduler keep work away from what is on it", blacklist_sync_command,
     blacklist_sync_options},
    {"undo", "take the marks of an entry off a scheduler", blacklist_undo_command, blacklist_undo_options},
    {"check", "compare the marks at a scheduler with the ledger", blacklist_check_command,
     blacklist_check_options},
    {"adopt", "add marks to the ledger that it does not know", blacklist_adopt_command,
     blacklist_adopt_options},
    {"env", "what a job sets to leave out the NICs that are on it", blacklist_env_command,
     blacklist_env_options},
    {"share", "make it the one that machines share over a bus", blacklist_share_command,
     blacklist_share_options},
    {"unshare", "make a copy of a shared one this machine's own", blacklist_unshare_command,
     blacklist_unshare_options},
    {"history", "what happened to it, when and by whom", blacklist_history_command,
     blacklist_history_options},
    {"export", "the faults of one diagnosis as entries, for other programs", blacklist_export_command,
     blacklist_export_options},
}};

Result<void> check_target(const po::variables_map& values) {
  const auto target = text_option(values, "to");
  if (!target) return fail(ErrorKind::usage, "no target is named: expected --to jsonl");
  if (std::ranges::find(kNamedTargets, *target) != kNamedTargets.end())
    return fail(ErrorKind::not_supported, "--to {}: weft blacklist sync does that, from a ledger", *target);
  if (*target == "nccl")
    return fail(ErrorKind::not_supported, "--to nccl: weft blacklist env does that, from a ledger");
  if (*target != "jsonl") return fail(ErrorKind::usage, "--to {}: expected jsonl", *target);
  if (values.count("apply"))
    return fail(ErrorKind::usage, "--apply: jsonl goes to stdout, there is nothing to apply it to");
  return {};
}

Result<blacklist::BlacklistOptions> read_blacklist_options(const po::variables_map& values) {
  WEFT_TRY(const auto lifetime, read_option(values, "expires", parse_duration));
  blacklist::BlacklistOptions options;
  if (lifetime) options.lifetime = std::chrono::floor<std::chrono::seconds>(*lifetime);
  if (options.lifetime <= std::chrono::seconds(0))
    return fail(ErrorKind::usage, "--expires: expected at least 1s, as in 24h");
  return options;
}

Result<files::DiagnosisDocument> read_diagnosis(const po::variables_map& values) {
  const auto path = values["diagnosis"].as<std::string>();
  const auto text = files::read_text_file(path == "-" ? "/dev/stdin" : path, kMaxDiagnosisBytes);
  if (!text) return pass_on(text, "diagnosis");
  auto document = files::parse_diagnosis(*text, path == "-" ? "stdin" : path);
  const auto fabric_path = text_option(values, "fabric");
  if (!document || !fabric_path) return document;
  WEFT_TRY(const auto file, load_fabric_file(*fabric_path));
  if (const auto done = blacklist::complete_ends(*document, file.fabric); !done)
    return pass_on(done, *fabric_path);
  return document;
}

struct Export {
  std::string lines;
  std::vector<std::string> left_out;
};

Result<Export> export_blacklist(const po::variables_map& values) {
  WEFT_TRY_VOID(check_target(values));
  WEFT_TRY(const auto options, read_blacklist_options(values));
  WEFT_TRY(const auto document, read_diagnosis(values));
  const auto entries = blacklist_of(document, options);
  if (!entries) return pass_on(entries, "--fabric");
  return Export{exports::blacklist_jsonl(*entries), blacklist::left_out_of_blacklist(document)};
}

}  // namespace

OptionParser blacklist_export_options() {
  OptionParser parser(
      "weft blacklist export --to jsonl [DIAGNOSIS.json]",
      "Prints the links that a diagnosis found degraded or failed, one JSON line each. Reads "
      "the document that\n"
      "sweep, simulate and diagnose write with -o json, from a file or from stdin. Faults "
      "that are no one link (a\nwhole switch, a set, a host) are named on stderr, and the exit "
      "status is then 1.",
      "  weft sweep --lab=demo -o json | weft blacklist export --to jsonl > blacklist.jsonl\n"
      "  weft blacklist export --to jsonl --expires 168h diagnosis.json\n");
  parser.options().add_options()("to", po::value<std::string>()->value_name("jsonl"), "for whom")(
      "diagnosis", po::value<std::string>()->value_name("FILE")->default_value("-"),
      "the diagnosis document; - is stdin")("fabric", po::value<std::string>()->value_name("FABRIC.yaml"),
                                            "for documents that do not say what their links join")(
      "expires", po::value<std::string>()->value_name("TIME"),
      "how long an entry holds after the diagnosis (24h)");
  parser.options(Group::unlisted).add_options()("apply", "for targets that change a scheduler or a fabric");
  parser.positional("diagnosis", 1);
  return parser;
}

int blacklist_export_command(const Arguments& arguments) {
  auto parser = blacklist_export_options();
  const auto values = parser.parse(arguments);
  if (!values) return report(values.error());
  if (OptionParser::help_was_asked(*values)) return kExitHealthy;
  const auto made = export_blacklist(*values);
  if (!made) return report(made.error());
  fmt::print("{}", made->lines);
  for (const std::string& fault : made->left_out)
    print_stderr("weft: not in the blacklist, whose entries are links: {}\n", fault);
  return made->left_out.empty() ? kExitHealthy : kExitDegraded;
}

const WordGroup& blacklist_words() {
  static const WordGroup words{
      "blacklist", "which links to keep work away from", kWords,
      "  weft sweep --lab=demo -o json | weft blacklist export --to jsonl > blacklist.jsonl\n"};
  return words;
}

int blacklist_command(const Arguments& arguments) { return run_word(blacklist_words(), arguments); }

}  // namespace weft::cli
